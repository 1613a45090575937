"""The clock of the controller."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    """Return the present time in UTC."""
    return datetime.now(UTC)
