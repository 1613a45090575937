"""The status of a SparkApplication: where it is, how it came there, which attempt this is.

The layout is the Apache operator's, so that either controller can take over from the other.
"""

from datetime import datetime
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field
from pydantic.json_schema import SkipJsonSchema

from airflow_provider_spark_operator.core.models.base import Integer, JsonObject, Model
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.core.times import to_utc

Time = Annotated[datetime, AfterValidator(to_utc)]


class AttemptInfo(Model):
    """Number and restart counters of an attempt."""

    id: Integer = Field(default=0, description="Number of the attempt, from 0.")
    restart_counter: Integer = Field(default=0, description="Number of restarts so far.")
    failure_restart_counter: Integer = Field(default=0, description="Number of consecutive restarts after failures.")
    scheduling_failure_restart_counter: Integer = Field(
        default=0, description="Number of consecutive restarts after scheduling failures."
    )


class StateRecord(Model):
    """A state and when it was entered.

    `reason` is a constant of `core.reasons`; the Apache operator neither writes nor keeps it, and its
    CustomResourceDefinition prunes it. `last_observed_driver_status` is the driver pod's `status` as it was
    seen then.
    """

    current_state_summary: ApplicationState = Field(description="Name of the state.")
    last_transition_time: Time = Field(description="Time at which the state was entered, in RFC 3339 (UTC).")
    reason: str | None = Field(
        default=None, description="Machine-readable reason for the state. Not written by the Apache operator."
    )
    message: str | None = Field(default=None, description="Explanation of the state for people.")
    last_observed_driver_status: JsonObject | None = Field(
        default=None, description="Status of the driver pod when the state was entered (core/v1 PodStatus)."
    )


class ForeignRecord(Model):
    """An entry of a history that is not understood: its word is a newer version's, or its time is none. It is kept."""


# Only the present state has to be understood; what is past is kept for those who do.
PastRecord: TypeAlias = Annotated[StateRecord | SkipJsonSchema[ForeignRecord], Field(union_mode="left_to_right")]


class AttemptSummary(Model):
    """Counters and history of an attempt."""

    attempt_info: AttemptInfo = Field(
        default_factory=AttemptInfo, description="Number and restart counters of the attempt."
    )
    state_transition_history: dict[str, PastRecord] | None = Field(
        default=None, description="States of an earlier attempt, by number."
    )


class ApplicationStatus(Model):
    """State and history of the application.

    `outcome` is set with a terminated state. The Apache operator neither writes nor keeps it.

    `state_transition_history` is keyed by decimal numbers that only grow, across attempts too.
    """

    current_state: StateRecord = Field(description="The current state.")
    state_transition_history: dict[str, PastRecord] = Field(
        default_factory=dict, description="States of the application, by number; the highest number is the latest."
    )
    current_attempt_summary: AttemptSummary = Field(default_factory=AttemptSummary, description="The current attempt.")
    previous_attempt_summary: AttemptSummary | None = Field(
        default=None, description="The attempt before the current one."
    )
    outcome: str | None = Field(
        default=None,
        description=(
            "Succeeded, Failed or Cancelled, once the application has ended. Not written by the Apache operator."
        ),
    )

    def to_document(self) -> JsonObject:
        """The status as JSON values: camelCase, nulls omitted, times in RFC 3339 UTC (`…Z`)."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)
