"""Reading times that anybody may have written; UTC throughout."""

from datetime import UTC, datetime, timedelta


def in_utc(time: datetime) -> datetime:
    """`time` in UTC; one without an offset can only be a foreign writer's, and operators write UTC."""
    if time.tzinfo is None:
        return time.replace(tzinfo=UTC)
    try:
        return time.astimezone(UTC)
    except OverflowError:  # in the first or the last hours that there are, where no hour matters
        return time.replace(tzinfo=UTC)


def read_time(value: object) -> datetime | None:
    """The time that `value` says, as a string in RFC 3339; None where it says none."""
    if not isinstance(value, str):
        return None
    try:
        return in_utc(datetime.fromisoformat(value))
    except ValueError:
        return None


def in_seconds(duration: timedelta) -> str:
    """`duration` as messages show it: `90 s`."""
    return f"{duration.total_seconds():g} s"
