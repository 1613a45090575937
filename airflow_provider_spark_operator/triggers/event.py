"""What a trigger reports to its task: a stored format, so older payloads stay readable."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any

FORMAT_VERSION = 1
_TUPLES = ("log_lines", "out_of_memory")


class EventKind(StrEnum):
    """Why the trigger has stopped waiting."""

    ENDED = "ended"
    """The application has ended; `outcome` says how."""
    REACHED = "reached"
    """The application shows one of the states that were asked for."""
    DELETED = "deleted"
    """The application is gone."""
    REPLACED = "replaced"
    """Another run of the task has replaced the application; how it ended is unknown."""
    TIMED_OUT = "timed-out"
    """The task's time is over; the application still runs."""
    REFUSED = "refused"
    """What was to be submitted cannot be an application, or the connection no connection; no retry mends that."""
    UNSUBMITTED = "unsubmitted"
    """The application could not be submitted."""
    LOST = "lost"
    """The application can no longer be followed (no permission, no connection); what became of it is unknown."""


@dataclass(frozen=True)
class ApplicationEvent:
    """The end of waiting for one application.

    Attributes:
        kind: Why the wait is over.
        namespace: Of the application, as `name` and `uid`: a resumed task knows nothing else.
        state: The last state word that was seen.
        outcome: `Succeeded` or `Failed` where `kind` is ENDED.
        failure_kind: A word of `core.verdict.FailureKind` where the outcome is `Failed`.
        reason: The constant of `core.reasons`.
        sentence: What happened, for a person.
        application_id: Spark's own id of the last attempt.
        attempts: How many times the operator has started the application.
        log_lines: The driver's last lines, bounded.
        api_version: Of the resource.
        seconds_per_state: How long the application was in each state, in the order it went through them.
        retry_worthy: False where the same application would surely fail the same way again.
        had_driver: False if no driver pod ever existed.
        driver_message: What the driver's container left as its message when it ended well.
        out_of_memory: Which of `driver` and `executor` was killed for want of memory.
    """

    kind: EventKind
    namespace: str
    name: str
    uid: str
    state: str | None = None
    outcome: str | None = None
    failure_kind: str | None = None
    reason: str | None = None
    sentence: str = ""
    application_id: str | None = None
    attempts: int = 1
    log_lines: tuple[str, ...] = ()
    api_version: str = "spark.apache.org/v1"
    seconds_per_state: Mapping[str, float] = field(default_factory=dict)
    retry_worthy: bool = True
    out_of_memory: tuple[str, ...] = ()
    driver_message: str | None = None
    had_driver: bool = True

    def to_payload(self) -> dict[str, Any]:
        """JSON values, for `TriggerEvent`."""
        lists = {name: [*getattr(self, name)] for name in _TUPLES}
        return asdict(self) | {"version": FORMAT_VERSION, "kind": self.kind.value} | lists

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> "ApplicationEvent":
        """Read what this or another release has written: unknown fields are left out, missing ones are default.

        Raises:
            ValueError: There is no payload, or it lacks what every release wrote (the kind and the names).
        """
        known = {one.name for one in fields(cls)}
        values = {key: value for key, value in (payload or {}).items() if key in known}
        try:
            tuples = {name: tuple(values.get(name) or ()) for name in _TUPLES}
            return cls(**values | {"kind": EventKind(values["kind"])} | tuples)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the trigger's event cannot be read: {sorted(payload or {})}") from error
