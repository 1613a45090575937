"""Read times that any client may have written, as UTC."""

from datetime import UTC, datetime, timedelta


def to_utc(time: datetime) -> datetime:
    """Return `time` in UTC. A time without an offset counts as UTC, because operators write UTC."""
    if time.tzinfo is None:
        return time.replace(tzinfo=UTC)
    try:
        return time.astimezone(UTC)
    except OverflowError:  # in the first or last hours of the calendar
        return time.replace(tzinfo=UTC)


def read_time(value: object) -> datetime | None:
    """Return the time in `value`, a string in RFC 3339; None if `value` is not a time."""
    if not isinstance(value, str):
        return None
    try:
        return to_utc(datetime.fromisoformat(value))
    except ValueError:
        return None


def format_seconds(duration: timedelta) -> str:
    """Return `duration` as messages show it: `90 s`."""
    return f"{duration.total_seconds():g} s"
