"""The status of a SparkApplication.

The layout is the Apache operator's, so that either controller can take over from the other.
"""

from datetime import datetime
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field
from pydantic.json_schema import SkipJsonSchema

from ..kubernetes.json_object import JsonObject
from ..kubernetes.times import to_utc
from ..states.states import ApplicationState, SuspendReason
from .base import Integer, Model

Time = Annotated[datetime, AfterValidator(to_utc)]


class AttemptInfo(Model):
    """The id and the restart counters of an attempt."""

    id: Integer = Field(default=0, description="Number of the attempt; the first is 0.")
    restart_counter: Integer = Field(default=0, description="Number of restarts so far.")
    failure_restart_counter: Integer = Field(default=0, description="Number of consecutive restarts after failures.")
    scheduling_failure_restart_counter: Integer = Field(
        default=0, description="Number of consecutive restarts after scheduling failures."
    )


OptionalSuspendReason = Annotated[
    SuspendReason | None,
    Field(
        description="Cause of the state Suspended; without a cause, SpecSuspend is assumed.",
        json_schema_extra={"nullable": True},
    ),
]


class StateRecord(Model):
    """A state and the time of its transition.

    Attributes:
        reason: A constant of `core.states.reasons`. The Apache operator neither writes nor keeps it, and its
            CustomResourceDefinition prunes it.
        last_observed_driver_status: The `status` of the driver pod at that time.
    """

    current_state_summary: ApplicationState = Field(description="Name of the state.")
    last_transition_time: Time = Field(description="Time at which the state was entered, in RFC 3339 (UTC).")
    reason: str | None = Field(
        default=None, description="Machine-readable reason for the state. Not written by the Apache operator."
    )
    message: str | None = Field(default=None, description="Human-readable explanation of the state.")
    suspend_reason: OptionalSuspendReason = None
    last_observed_driver_status: JsonObject | None = Field(
        default=None, description="Status of the driver pod when the state was entered (core/v1 PodStatus)."
    )


class ForeignRecord(Model):
    """A history entry that cannot be read, because its state is unknown or its time is malformed. It is kept."""


# Only the current state must be readable. Past states are kept for other readers.
PastRecord: TypeAlias = Annotated[StateRecord | SkipJsonSchema[ForeignRecord], Field(union_mode="left_to_right")]


class AttemptSummary(Model):
    """Counters and history of an attempt."""

    attempt_info: AttemptInfo = Field(
        default_factory=AttemptInfo, description="The number of the attempt and its restart counters."
    )
    state_transition_history: dict[str, PastRecord] | None = Field(
        default=None, description="States of an earlier attempt. Each key is the number of a state."
    )


class ApplicationStatus(Model):
    """The state and history of the application.

    Attributes:
        outcome: Set with a terminated state. The Apache operator neither writes nor keeps it.
        state_transition_history: The history, keyed by decimal numbers that increase across attempts.
    """

    current_state: StateRecord = Field(description="The current state.")
    state_transition_history: dict[str, PastRecord] = Field(
        default_factory=dict,
        description="States of the application. Each key is the number of a state; the highest number is the latest "
        "state.",
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
        """Return the status as JSON values: camelCase, nulls omitted, times in RFC 3339 UTC (`…Z`)."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)
