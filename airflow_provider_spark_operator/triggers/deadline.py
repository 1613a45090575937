"""The deadline that a trigger carries, as an argument that survives a restart of the triggerer."""

from datetime import UTC, datetime


def seconds_until(deadline: str | None) -> float | None:
    """The seconds left until `deadline` (ISO 8601, with its offset), 0 once it is over; None without a deadline."""
    if deadline is None:
        return None
    return max(0.0, (datetime.fromisoformat(deadline) - datetime.now(UTC)).total_seconds())
