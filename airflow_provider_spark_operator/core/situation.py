"""What a rule looks at, and the few ways in which a rule can answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from airflow_provider_spark_operator.core import policy
from airflow_provider_spark_operator.core.decision import Action, Decision, Settings
from airflow_provider_spark_operator.core.models.application import (
    ApplicationTolerations,
    SparkApplication,
    SparkApplicationSpec,
)
from airflow_provider_spark_operator.core.models.status import ApplicationStatus
from airflow_provider_spark_operator.core.observation import Observed
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.core.transitions import move

AT_ONCE: Final = timedelta(0)
# A longer wait says no more than this one, and fits every timer.
_LONGEST_WAIT: Final = timedelta(days=1)


@dataclass(frozen=True)
class Situation:
    """One application at one moment: what is written, what is seen, what time it is."""

    application: SparkApplication
    status: ApplicationStatus
    observed: Observed
    settings: Settings
    now: datetime

    @property
    def spec(self) -> SparkApplicationSpec:
        """What is asked for."""
        return self.application.spec

    @property
    def tolerations(self) -> ApplicationTolerations:
        """The part of the spec that is read again at every look."""
        return self.application.spec.application_tolerations

    @property
    def state(self) -> ApplicationState:
        """Where the application is."""
        return self.status.current_state.current_state_summary

    @property
    def attempt_id(self) -> int:
        """The number of the current attempt."""
        return self.status.current_attempt_summary.attempt_info.id

    @property
    def since(self) -> datetime:
        """When the application entered its state."""
        return self.status.current_state.last_transition_time

    def remaining(self, limit: timedelta, since: datetime | None = None) -> timedelta:
        """The time to wait until `limit` is over that began at `since`, or with the state; 0 or less if it is."""
        return policy.remaining(limit, since or self.since, self.now)

    def remaining_beyond(self, limit: timedelta, since: datetime | None = None) -> timedelta:
        """The same for a limit that may be reached, but not exceeded."""
        return self.remaining(limit + timedelta.resolution, since)

    def move(
        self,
        to: ApplicationState,
        reason: str,
        message: str,
        *,
        driver_status: Mapping[str, object] | None = None,
        actions: tuple[Action, ...] = (),
    ) -> Decision:
        """The decision to do `actions`, enter `to`, and look again at once."""
        status = move(self.status, to, self.now, message, driver_status, reason=reason)
        return Decision(reason, message, actions, status, AT_ONCE)

    def wait(self, reason: str, message: str, after: timedelta | None, *actions: Action) -> Decision:
        """The decision to stay, do `actions`, and look again `after` that time (None: at an event)."""
        requeue_after = None if after is None else min(max(after, AT_ONCE), _LONGEST_WAIT)
        return Decision(reason, message, actions, None, requeue_after)
