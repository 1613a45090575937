"""The event of a trigger for its task. Airflow stores events, so events of other releases must stay readable."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any

from airflow_provider_spark_operator.core.names import DEFAULT_API_VERSION

FORMAT_VERSION = 1
_TUPLES = ("log_lines", "out_of_memory")


class EventKind(StrEnum):
    """Why the wait of a trigger ended."""

    ENDED = "ended"
    """The application has ended; `outcome` is the result."""
    REACHED = "reached"
    """The application has one of the expected states."""
    DELETED = "deleted"
    """The application was deleted."""
    REPLACED = "replaced"
    """Another run of the task replaced the application, whose outcome is unknown."""
    TIMED_OUT = "timed-out"
    """The deadline has passed; the application still runs."""
    REFUSED = "refused"
    """The application or the connection is not valid. A retry cannot help."""
    UNSUBMITTED = "unsubmitted"
    """The application could not be submitted."""
    LOST = "lost"
    """The application can no longer be watched (no permission, no connection). Its outcome is unknown."""


@dataclass(frozen=True)
class ApplicationEvent:
    """The end of the wait for one application or SparkCluster.

    Attributes:
        kind: Why the wait ended.
        namespace: Namespace of the resource. A resumed task knows the resource only from the event.
        name: Name of the resource.
        uid: uid of the resource; empty if it is unknown.
        state: The last state that was seen.
        outcome: `Succeeded` or `Failed` if `kind` is ENDED.
        failure_kind: A value of `core.verdict.FailureKind` if the outcome is `Failed`.
        reason: A constant of `core.reasons`.
        sentence: What happened, for the user.
        application_id: Spark's id of the last attempt.
        attempts: How often the operator has started the application.
        log_lines: The last lines of the driver log, limited in number.
        api_version: apiVersion of the resource.
        seconds_per_state: Seconds that the application spent in each state, in the order of the states.
        retry_worthy: False if a retry would certainly fail in the same way.
        had_driver: False if no driver pod ever existed.
        driver_message: Termination message of the driver container after a success.
        out_of_memory: Which of `driver` and `executor` was out of memory.
        created: When the resource was created, in RFC 3339; None if it is unknown.
        driver_pod: Name of the driver pod of the last attempt; empty if it is unknown.
        own_ui: URL of the Spark UI by the application's own ingress or HTTP route; empty if it has none.
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
    api_version: str = DEFAULT_API_VERSION
    seconds_per_state: Mapping[str, float] = field(default_factory=dict)
    retry_worthy: bool = True
    out_of_memory: tuple[str, ...] = ()
    created: str | None = None
    driver_pod: str = ""
    own_ui: str = ""
    driver_message: str | None = None
    had_driver: bool = True

    def to_payload(self) -> dict[str, Any]:
        """Return the event as JSON values, for `TriggerEvent`."""
        lists = {name: [*getattr(self, name)] for name in _TUPLES}
        return asdict(self) | {"version": FORMAT_VERSION, "kind": self.kind.value} | lists

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> "ApplicationEvent":
        """Parse an event that this or another release has stored.

        Unknown fields are ignored. Missing fields get their defaults.

        Raises:
            ValueError: There is no payload, or the kind or the name of the resource is missing.
        """
        known = {one.name for one in fields(cls)}
        values = {key: value for key, value in (payload or {}).items() if key in known}
        try:
            tuples = {name: tuple(values.get(name) or ()) for name in _TUPLES}
            return cls(**values | {"kind": EventKind(values["kind"])} | tuples)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"could not read the trigger's event: {sorted(payload or {})}") from error
