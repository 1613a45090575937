"""The wait of a task for a cluster that has no room for its application."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any, Final

from ..kubernetes.times import format_duration

_FIRST_SECONDS: Final = 30.0
_LONGEST_SECONDS: Final = 600.0


@dataclass(frozen=True)
class CapacityWait:
    """The applications of one try that failed because the cluster had no room, and how long the try may wait.

    Attributes:
        seconds: How long the try may wait after its first such failure, in seconds.
        since: Time of the first such failure, in ISO 8601 with the offset. None before it.
        failures: Number of such failures.
    """

    seconds: float
    since: str | None = None
    failures: int = 0

    @classmethod
    def from_arguments(cls, values: Mapping[str, Any]) -> "CapacityWait":
        """Return the wait that a trigger has stored as plain values. Members of a later release are ignored."""
        return cls(**{each.name: values[each.name] for each in fields(cls) if each.name in values})

    @property
    def delay(self) -> timedelta:
        """The time from the latest failure to the next submission. It doubles with each failure, up to 10 minutes."""
        return timedelta(seconds=min(_FIRST_SECONDS * 2 ** min(self.failures - 1, 10), _LONGEST_SECONDS))

    def add_failure(self, now: datetime) -> "CapacityWait | None":
        """Return the wait after another failure. None if it has ended, so that the failure uses a retry.

        Args:
            now: The time of the failure.
        """
        since = self.since or now.isoformat()
        if now >= datetime.fromisoformat(since) + timedelta(seconds=self.seconds):
            return None
        return replace(self, since=since, failures=self.failures + 1)

    def describe(self, now: datetime) -> str:
        """Return the sentence for the task log about the next submission.

        Args:
            now: The time of the latest failure.
        """
        end = datetime.fromisoformat(self.since or now.isoformat()) + timedelta(seconds=self.seconds)
        return (
            f"the cluster has no room for the application; it is submitted again in {format_duration(self.delay)}, at "
            f"{_format_time(now + self.delay)}, without using a retry. From {_format_time(end)} on, such a failure "
            "uses a retry (capacity_wait)"
        )


def _format_time(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S %Z}"
