"""The event of a trigger for its task. Airflow stores events, so events of other releases must stay readable."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import timedelta
from enum import StrEnum
from typing import Any

from ..core.kubernetes.names import DEFAULT_API_VERSION
from ..core.kubernetes.times import format_duration

__all__ = ["ApplicationEvent", "EventKind"]

FORMAT_VERSION = 1


class EventKind(StrEnum):
    """Why the wait of a trigger ended.

    Attributes:
        ENDED: `"ended"`. The application has ended, and `outcome` is the result. Or the SparkCluster has failed.
        REACHED: `"reached"`. The application has one of the expected states, or its query has made progress. Or the
            SparkCluster is ready.
        DELETED: `"deleted"`. The resource was deleted.
        REPLACED: `"replaced"`. Another run of the task replaced the application. Its outcome is unknown.
        TIMED_OUT: `"timed-out"`. A limit of the wait, `deadline` or `ready_seconds`, has passed. The resource may still
            exist.
        OVER_BUDGET: `"over-budget"`. The application has used more than its budget, and no longer exists.
        STALLED: `"stalled"`. The streaming queries have made no progress for too long, and the application no longer
            exists.
        REFUSED: `"refused"`. The application or the connection is not valid. A retry cannot succeed.
        UNSUBMITTED: `"unsubmitted"`. The application could not be submitted.
        LOST: `"lost"`. The resource can no longer be watched (no permission, no connection). Its outcome is unknown.
    """

    ENDED = "ended"
    REACHED = "reached"
    DELETED = "deleted"
    REPLACED = "replaced"
    TIMED_OUT = "timed-out"
    OVER_BUDGET = "over-budget"
    STALLED = "stalled"
    REFUSED = "refused"
    UNSUBMITTED = "unsubmitted"
    LOST = "lost"


@dataclass(frozen=True)
class ApplicationEvent:
    """The end of the wait for one application or SparkCluster.

    The payload of a trigger's event is a dict with these attributes. `ApplicationEvent.from_payload` reads it.

    Attributes:
        kind: Why the wait ended, as an `EventKind`.
        namespace: Namespace of the resource. Empty if it is unknown. A resumed task knows the resource only from the
            event.
        name: Name of the resource.
        uid: uid of the resource. Empty if it is unknown.
        state: The last state that was seen, for example "RunningHealthy". None if no state was seen.
        outcome: "Succeeded" or "Failed" if `kind` is ENDED, otherwise None.
        failure_kind: "application", "infrastructure", "scheduling" or "check" if the outcome is "Failed", otherwise
            None.
        reason: A constant of `core.states.reasons`, for example "OOMKilled". None if the end has not been classified.
        sentence: What happened, for the user: after a failure, with the last lines of the driver log. Empty if there is
            nothing to explain.
        application_id: Spark's application id of the last attempt. None if unknown.
        attempts: Number of times that the operator has started the application, if `kind` is ENDED.
        api_version: apiVersion of the resource.
        seconds_per_state: Seconds that the application spent in each state, in the order of the states.
        retry_worthy: Whether a retry can succeed. False if it would certainly fail in the same way.
        had_driver: Whether a driver pod existed, if `kind` is ENDED.
        driver_message: Termination message of the driver container after a success. None if there is none.
        out_of_memory: Which of "driver" and "executor" was out of memory. Empty if neither was.
        created: Time at which the resource was created, in RFC 3339. None if it is unknown.
        driver_pod: Name of the driver pod of the last attempt. Empty if it is unknown.
        own_ui: URL of the Spark UI at the application's own ingress or HTTP route. Empty if it has none.
        try_number: Number of the try of the task for which the trigger waited. None if it is unknown.
        record: The record of the run, see docs/reference/run-record.md. None if the run is not recorded.
        lacks_capacity: Whether the cluster had no room for the application. See `SparkApplicationError`.
        capacity_wait: The wait of the task for capacity, after which it submits the application again. None if the
            task does not submit it again.
        report: The report of the job, with `checks`, `metadata` and `progress`. None if it reported nothing.
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
    api_version: str = DEFAULT_API_VERSION
    seconds_per_state: Mapping[str, float] = field(default_factory=dict)
    retry_worthy: bool = True
    out_of_memory: tuple[str, ...] = ()
    created: str | None = None
    driver_pod: str = ""
    own_ui: str = ""
    driver_message: str | None = None
    had_driver: bool = True
    try_number: int | None = None
    record: Mapping[str, Any] | None = None
    lacks_capacity: bool = False
    capacity_wait: Mapping[str, Any] | None = None
    report: Mapping[str, Any] | None = None

    def to_payload(self) -> dict[str, Any]:
        """Return the event as JSON values, for `TriggerEvent`."""
        memory = [*self.out_of_memory]
        return asdict(self) | {"version": FORMAT_VERSION, "kind": self.kind.value, "out_of_memory": memory}

    def describe(self, noun: str) -> str:
        """Return why the wait ended, the outcome and the duration of the application, in one line for a log.

        Args:
            noun: The kind of the resource.
        """
        end = self.outcome or (self.state if self.kind is EventKind.REACHED else None)
        cause = f" ({self.reason})" if self.reason and self.outcome == "Failed" else ""
        duration = format_duration(timedelta(seconds=sum(self.seconds_per_state.values())))
        after = f" after {duration}" if self.seconds_per_state else ""
        where = "/".join(filter(None, (self.namespace, self.name)))
        return f"{' '.join(filter(None, (noun, where)))} {self.kind}{f': {end}' if end else ''}{cause}{after}"

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> "ApplicationEvent":
        """Parse an event that this or another release has stored.

        Unknown fields are ignored. Missing fields get their defaults.

        Args:
            payload: Payload of the event. Airflow passes it as the argument `event` to the method that resumes a task,
                for example `execute_complete`.

        Raises:
            ValueError: There is no payload, or the kind or the name of the resource is missing.
        """
        known = {one.name for one in fields(cls)}
        values = {key: value for key, value in (payload or {}).items() if key in known}
        try:
            memory = tuple(values.get("out_of_memory") or ())
            return cls(**values | {"kind": EventKind(values["kind"]), "out_of_memory": memory})
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"could not read the trigger's event: {sorted(payload or {})}") from error
