"""Which Events are written: settings, and the suppression of repetitions."""

import re
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from ...core.states.states import ApplicationState

_NO_TIME: Final = timedelta(0)
# A resource has few reasons at a time. Older entries only permit an Event that could have been suppressed.
_MAX_ENTRIES: Final = 10_000


@dataclass(frozen=True)
class EventSettings:
    """The settings of Events.

    Attributes:
        is_enabled: Whether Events are written.
        excluded_reasons: Regular expressions. No Event is written whose whole reason matches one of them.
        min_interval: The time in which an Event with the reason and the message of an earlier one is not written
            again. Without a positive value there is no limit.
    """

    is_enabled: bool = True
    # The status and the log show these states. Each Event costs a request, for every application.
    excluded_reasons: tuple[str, ...] = (
        ApplicationState.DRIVER_REQUESTED.value,
        ApplicationState.RESOURCE_RELEASED.value,
    )
    min_interval: timedelta = timedelta(seconds=300)

    def permits(self, reason: str) -> bool:
        """Whether Events with this reason are written."""
        return self.is_enabled and not any(re.fullmatch(each, reason) for each in self.excluded_reasons)

    def is_repeated_too_soon(self, earlier: datetime, later: datetime) -> bool:
        """Whether the same Event happened too short a time before. After the clock was set back, it did not."""
        return _NO_TIME <= later - earlier < self.min_interval


class RepetitionFilter:
    """Remembers the last message of each reason of each resource, for the minimum interval between repetitions."""

    def __init__(self) -> None:
        self._latest: OrderedDict[tuple[str, str], tuple[int, datetime]] = OrderedDict()

    def __len__(self) -> int:
        """The number of remembered messages."""
        return len(self._latest)

    def admit(self, uid: str, reason: str, message: str, time: datetime, settings: EventSettings) -> bool:
        """Remember an event, unless it repeats the latest one of its reason too soon.

        Args:
            uid: The uid of the resource.
            reason: The reason of the event.
            message: The message of the event. An event with another message than the latest one is always admitted.
            time: The time of the event.
            settings: The settings in force.

        Returns:
            Whether to write the event.
        """
        if settings.min_interval <= _NO_TIME:
            self._latest.clear()
            return True
        key, digest = (uid, reason), hash(message)
        known = self._latest.get(key)
        if known is not None and known[0] == digest and settings.is_repeated_too_soon(known[1], time):
            return False
        self._latest[key] = digest, time
        self._latest.move_to_end(key)
        if len(self._latest) > _MAX_ENTRIES:
            self._latest.popitem(last=False)
        return True
