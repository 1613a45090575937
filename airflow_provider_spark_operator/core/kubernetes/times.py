"""Times and durations in documents that any client may write."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

# A hundred years. A longer duration could overflow a timedelta, and has the same meaning: never.
LONGEST_MILLIS: Final = 100 * 365 * 24 * 3600 * 1000


def to_duration(millis: int) -> timedelta:
    """Return `millis` as a duration between 0 and a hundred years."""
    return timedelta(milliseconds=min(max(millis, 0), LONGEST_MILLIS))


def to_seconds(value: object) -> float | None:
    """Return a duration, given as a timedelta or in seconds, in seconds; None if `value` is not a duration."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


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
    """Format `duration` for messages: `90 s`."""
    return f"{duration.total_seconds():g} s"


def format_duration(duration: timedelta) -> str:
    """Return the two largest units of a duration: `5m3s`, `2d4h`; a negative duration is `0s`."""
    minutes, seconds = divmod(max(0, int(duration.total_seconds())), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = ((days, "d"), (hours, "h"), (minutes, "m"), (seconds, "s"))
    first = next((index for index, (number, _) in enumerate(parts) if number), len(parts) - 1)
    return "".join(f"{number}{unit}" for number, unit in parts[first : first + 2] if number) or "0s"


def read_first_time(event: Mapping[str, object]) -> datetime | None:
    """Return when an event happened first; None if the Event has no time."""
    return read_time(event.get("firstTimestamp") or event.get("eventTime") or event.get("lastTimestamp"))


def read_last_time(event: Mapping[str, object]) -> datetime | None:
    """Return when an event happened last; None if the Event has no time."""
    return read_time(event.get("lastTimestamp") or event.get("eventTime") or event.get("firstTimestamp"))
