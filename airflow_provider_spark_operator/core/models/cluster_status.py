"""The status of a SparkCluster: where it is and how it came there, in the Apache operator's layout."""

from enum import StrEnum
from typing import Annotated, TypeAlias

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from airflow_provider_spark_operator.core.models.base import Integer, JsonObject, Model
from airflow_provider_spark_operator.core.models.status import ForeignRecord, Time


class ClusterState(StrEnum):
    """A word of a SparkCluster's `status.currentState.currentStateSummary`."""

    SUBMITTED = "Submitted"
    SCHEDULING_FAILURE = "SchedulingFailure"
    RUNNING_HEALTHY = "RunningHealthy"
    FAILED = "Failed"
    RESOURCE_RELEASED = "ResourceReleased"


CLUSTER_FAILURE = frozenset({ClusterState.SCHEDULING_FAILURE, ClusterState.FAILED})


class ClusterAttemptInfo(Model):
    """The number of an attempt, from 0, and how many restarts there were; a cluster has one attempt."""

    id: Integer = 0
    restart_counter: Integer = 0


class ClusterStateRecord(Model):
    """One state with the time at which it was entered; UTC.

    `reason` is a constant of `core.reasons`; the Apache operator neither writes nor keeps it.
    """

    current_state_summary: ClusterState
    last_transition_time: Time
    message: str | None = None
    reason: str | None = None


PastClusterRecord: TypeAlias = Annotated[
    ClusterStateRecord | SkipJsonSchema[ForeignRecord], Field(union_mode="left_to_right")
]


class ClusterAttemptSummary(Model):
    """An attempt's counters, and its history where that is kept apart."""

    attempt_info: ClusterAttemptInfo = Field(default_factory=ClusterAttemptInfo)
    state_transition_history: dict[str, PastClusterRecord] | None = None


class ClusterStatus(Model):
    """`status` of a SparkCluster; `state_transition_history` is keyed by decimal numbers that only grow."""

    current_state: ClusterStateRecord
    state_transition_history: dict[str, PastClusterRecord] = Field(default_factory=dict)
    current_attempt_summary: ClusterAttemptSummary = Field(default_factory=ClusterAttemptSummary)
    previous_attempt_summary: ClusterAttemptSummary | None = None

    def to_document(self) -> JsonObject:
        """The status as JSON values: camelCase, nulls omitted, times in RFC 3339 UTC (`…Z`)."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)
