"""The status of a SparkCluster, in the Apache operator's layout."""

from enum import StrEnum
from typing import Annotated, TypeAlias

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from ..kubernetes.json_object import JsonObject
from .base import Integer, Model
from .status import ForeignRecord, OptionalSuspendReason, Time


class ClusterState(StrEnum):
    """A word of a SparkCluster's `status.currentState.currentStateSummary`."""

    SUBMITTED = "Submitted"
    SCHEDULING_FAILURE = "SchedulingFailure"
    RUNNING_HEALTHY = "RunningHealthy"
    FAILED = "Failed"
    RESOURCE_RELEASED = "ResourceReleased"
    SUSPENDED = "Suspended"


CLUSTER_FAILURE = frozenset({ClusterState.SCHEDULING_FAILURE, ClusterState.FAILED})


class ClusterAttemptInfo(Model):
    """Number of an attempt. A cluster has one attempt."""

    id: Integer = Field(default=0, description="Number of the attempt; the first is 0.")
    restart_counter: Integer = Field(default=0, description="Number of restarts so far.")


class ClusterStateRecord(Model):
    """A state and the time of its transition.

    Attributes:
        reason: A constant of `core.states.reasons`. The Apache operator neither writes nor keeps it.
    """

    current_state_summary: ClusterState = Field(description="Name of the state.")
    last_transition_time: Time = Field(description="Time at which the state was entered, in RFC 3339 (UTC).")
    message: str | None = Field(default=None, description="Human-readable explanation of the state.")
    suspend_reason: OptionalSuspendReason = None
    reason: str | None = Field(
        default=None, description="Machine-readable reason for the state. Not written by the Apache operator."
    )


PastClusterRecord: TypeAlias = Annotated[
    ClusterStateRecord | SkipJsonSchema[ForeignRecord], Field(union_mode="left_to_right")
]


class ClusterAttemptSummary(Model):
    """Number and history of an attempt."""

    attempt_info: ClusterAttemptInfo = Field(default_factory=ClusterAttemptInfo, description="Number of the attempt.")
    state_transition_history: dict[str, PastClusterRecord] | None = Field(
        default=None, description="States of an earlier attempt. Each key is the number of a state."
    )


class ClusterStatus(Model):
    """State and history of the cluster.

    Attributes:
        observed_generation: None if another controller wrote the status. The Apache operator neither writes nor keeps
            it.
    """

    current_state: ClusterStateRecord = Field(description="The current state.")
    state_transition_history: dict[str, PastClusterRecord] = Field(
        default_factory=dict,
        description="States of the cluster. Each key is the number of a state; the highest number is the latest state.",
    )
    current_attempt_summary: ClusterAttemptSummary = Field(
        default_factory=ClusterAttemptSummary, description="The current attempt."
    )
    previous_attempt_summary: ClusterAttemptSummary | None = Field(
        default=None, description="The attempt before the current one."
    )
    observed_generation: Integer | None = Field(
        default=None,
        description=(
            "metadata.generation of the specification that was applied last, or that could not be applied. Not written "
            "by the Apache operator."
        ),
    )

    def to_document(self) -> JsonObject:
        """Return the status as JSON values: camelCase, nulls omitted, times in RFC 3339 UTC (`…Z`)."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)
