"""The time zones that this machine knows."""

from zoneinfo import ZoneInfo


def is_time_zone(name: str) -> bool:
    """Return whether a time zone with this name exists, for example `Europe/Paris`."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown, not a relative path, or a folder
        return False
    return True
