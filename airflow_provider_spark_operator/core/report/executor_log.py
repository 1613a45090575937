"""When executors began and ended, according to the log of their driver, which is untrusted.

Kubernetes reports the start of an executor in Events, but not the end of one that exits by itself. With dynamic
allocation most executors end so, and Spark deletes their pods at once.
"""

import re
from dataclasses import astuple, dataclass, replace
from datetime import datetime
from typing import Final

from ..kubernetes.json_object import JsonObject
from .events import EXECUTOR_INFIX
from .pod_spans import REGISTERED

MAX_EXECUTORS: Final = 1000
_LOOKED_AT: Final = 1000
_WORD: Final = "xecutor"
_MESSAGE: Final = re.compile(
    r"Registered executor .{1,400}? with ID (?P<registered>[0-9]{1,9}),"
    r"|Executor lost: (?P<removed>[0-9]{1,9}) \(epoch"
    r"|Executor (?P<stopped>[0-9]{1,9}) on \S{1,300} killed by driver"
    r"|Lost executor (?P<lost>[0-9]{1,9}) on \S{1,300}:(?! ?The executor with id) ?(?P<why>.{0,200})"
    r"|The executor with id (?P<exited>[0-9]{1,9}) exited with exit code (?P<code>-?[0-9]{1,9})"
    r"|Asking each executor to (?P<all>shut down)"
    r"|Going to request (?P<more>[0-9]{1,6}) executors from Kubernetes"
)
# Lines that describe the container of the executor whose exit code is above them.
_REASON: Final = re.compile(r"^\s+termination reason: (\w{1,64})")
_REGULAR: Final = frozenset({"0", "143"})


@dataclass(frozen=True)
class ExecutorLife:
    """The life of one executor, as far as a log shows it.

    Attributes:
        begin: When it registered with the driver. None if the log does not show it.
        end: When the driver lost or removed it. None if the log does not show it.
        detail: How it failed. Empty if it did not fail, or if the log does not show it.
    """

    begin: datetime | None = None
    end: datetime | None = None
    detail: str = ""

    @property
    def latest(self) -> datetime | None:
        """When its container ended, in whole seconds as in a pod. None if the log does not show it."""
        # The JVM of a removed executor stops within some tenths of a second. Its pod can exist much longer.
        return self.end and self.end.replace(microsecond=0)

    def __or__(self, later: "ExecutorLife") -> "ExecutorLife":
        """Return what is known first."""
        pairs = zip(astuple(self), astuple(later), strict=True)
        return ExecutorLife(*(known or other for known, other in pairs))


class ExecutorLog:
    """Finds the executors of one driver in its log, which is read line by line.

    Attributes:
        lives: The executors by their numbers, at most 1,000.
        is_whole: Whether the log was read from its beginning to its end.
        stopped: When the driver stopped all executors at its end. None if the log does not show it.
        requested: The number of executors that the driver has requested, if the log was read from its beginning.
    """

    def __init__(self) -> None:
        self.lives: dict[str, ExecutorLife] = {}
        self.is_whole = False
        self.stopped: datetime | None = None
        self.requested = 0
        self._exited = ""

    @property
    def is_complete(self) -> bool:
        """Whether it shows all executors that have registered. Logs of warnings do not."""
        return self.is_whole and any(life.begin for life in self.lives.values())

    @property
    def has_latest(self) -> bool:
        """Whether it shows the executor that was requested last. One that was late to start never registers."""
        return self.is_whole and 0 < self.requested <= max(map(int, self.lives), default=0)

    def add(self, line: str, time: datetime | None) -> None:
        """Add the next line.

        Args:
            line: The line, without its time.
            time: The time of the line. None if it is unknown.
        """
        if self._exited and (reason := _REASON.match(line)):
            life = self.lives[self._exited]
            if life.detail.startswith("exit code") and "(" not in life.detail:  # Spark repeats the message
                self.lives[self._exited] = replace(life, detail=f"{life.detail} ({reason[1]})")
            self._exited = ""
        if _WORD not in line or time is None or (found := _MESSAGE.search(line[:_LOOKED_AT])) is None:
            return
        number = next(filter(None, found.groups()))
        if found["all"]:
            self.stopped = time
        elif found["more"]:
            self.requested += int(number)
        elif number in self.lives or len(self.lives) < MAX_EXECUTORS:
            self.lives[number] = self.lives.get(number, ExecutorLife()) | self._read(found, number, time)

    def _read(self, found: re.Match[str], number: str, time: datetime) -> ExecutorLife:
        if found["registered"]:
            return ExecutorLife(begin=time)
        detail = found["why"] or ""
        if found["code"] and found["code"] not in _REGULAR:
            self._exited, detail = number, f"exit code {found['code']}"
        return ExecutorLife(end=time, detail=detail)

    def __or__(self, later: "ExecutorLog") -> "ExecutorLog":
        """Return what two readers of the same log have found."""
        merged = ExecutorLog()
        merged.lives = {
            number: self.lives.get(number, ExecutorLife()) | later.lives.get(number, ExecutorLife())
            for number in {**self.lives, **later.lives}
        }
        merged.is_whole = self.is_whole or later.is_whole
        merged.stopped = self.stopped or later.stopped
        merged.requested = max(self.requested, later.requested)
        return merged

    def build_events(self, prefix: str, driver_end: datetime | None) -> list[JsonObject]:
        """Return what the log shows in the form of Events about pods.

        Args:
            prefix: How the names of the executors begin.
            driver_end: When the driver ended, and with it the executors that a complete log does not show to end. None
                if it is unknown.
        """
        events = []
        for number, life in self.lives.items():
            end = life.latest or ((self.stopped or driver_end) if self.is_complete and life.begin else None)
            reason = "SparkExecutorFailed" if life.detail else "SparkExecutorCompleted"
            for what, time in ((REGISTERED, life.begin), (reason, end)):
                if time is not None:
                    events.append(_build_event(f"{prefix}{EXECUTOR_INFIX}{number}", what, time, life.detail))
        return events


def _build_event(pod: str, reason: str, time: datetime, message: str) -> JsonObject:
    subject = {"kind": "Pod", "name": pod}
    return {"involvedObject": subject, "reason": reason, "message": message, "lastTimestamp": time.isoformat()}
