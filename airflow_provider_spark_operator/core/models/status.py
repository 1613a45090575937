"""The status of a SparkApplication: where it is, how it came there, which attempt this is.

The layout is the Apache operator's, so that either controller can take over from the other.
"""

from datetime import datetime
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field
from pydantic.json_schema import SkipJsonSchema

from airflow_provider_spark_operator.core.models.base import Integer, JsonObject, Model
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.core.times import in_utc

Time = Annotated[datetime, AfterValidator(in_utc)]


class AttemptInfo(Model):
    """The number of an attempt, from 0, and the counters that limit restarts."""

    id: Integer = 0
    restart_counter: Integer = 0
    failure_restart_counter: Integer = 0
    scheduling_failure_restart_counter: Integer = 0


class StateRecord(Model):
    """One state with the time at which it was entered; UTC.

    `reason` is a constant of `core.reasons`; the Apache operator neither writes nor keeps it, and its
    CustomResourceDefinition prunes it. `last_observed_driver_status` is the driver pod's `status` as it was
    seen then.
    """

    current_state_summary: ApplicationState
    last_transition_time: Time
    reason: str | None = None
    message: str | None = None
    last_observed_driver_status: JsonObject | None = None


class ForeignRecord(Model):
    """An entry of a history that is not understood: its word is a newer version's, or its time is none. It is kept."""


# Only the present state has to be understood; what is past is kept for those who do.
PastRecord: TypeAlias = Annotated[StateRecord | SkipJsonSchema[ForeignRecord], Field(union_mode="left_to_right")]


class AttemptSummary(Model):
    """An attempt's counters; of an attempt that has ended also its history, where that is trimmed."""

    attempt_info: AttemptInfo = Field(default_factory=AttemptInfo)
    state_transition_history: dict[str, PastRecord] | None = None


class ApplicationStatus(Model):
    """`status` of a SparkApplication.

    `state_transition_history` is keyed by decimal numbers that only grow, across attempts too.
    """

    current_state: StateRecord
    state_transition_history: dict[str, PastRecord] = Field(default_factory=dict)
    current_attempt_summary: AttemptSummary = Field(default_factory=AttemptSummary)
    previous_attempt_summary: AttemptSummary | None = None

    def to_document(self) -> JsonObject:
        """The status as JSON values: camelCase, nulls omitted, times in RFC 3339 UTC (`…Z`)."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)
