"""The input of a rule, and the few kinds of decisions that a rule can return."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..models.application import ApplicationTolerations, SparkApplication, SparkApplicationSpec
from ..models.status import ApplicationStatus, AttemptInfo
from ..states.states import ApplicationState, SuspendReason
from . import policy
from .decision import AT_ONCE, Action, Decision, Settings, limit_wait
from .driver_end import get_main_container
from .observation import Observed, Present
from .transitions import move, move_to_next_attempt


@dataclass(frozen=True)
class Situation:
    """One application at one moment: its spec, its status, its pods, and the time."""

    application: SparkApplication
    status: ApplicationStatus
    observed: Observed
    settings: Settings
    now: datetime

    @property
    def spec(self) -> SparkApplicationSpec:
        """The spec."""
        return self.application.spec

    @property
    def tolerations(self) -> ApplicationTolerations:
        """The part of the spec that takes effect in every reconcile pass."""
        return self.application.spec.application_tolerations

    @property
    def state(self) -> ApplicationState:
        """The current state."""
        return self.status.current_state.current_state_summary

    @property
    def attempt_id(self) -> int:
        """The id of the current attempt."""
        return self.status.current_attempt_summary.attempt_info.id

    @property
    def since(self) -> datetime:
        """The time at which the application entered its state."""
        return self.status.current_state.last_transition_time

    @property
    def driver_pod(self) -> Mapping[str, object]:
        """The driver pod of the current attempt, empty if none was observed."""
        driver = self.observed.driver
        return driver.pod if isinstance(driver, Present) else {}

    @property
    def main_container(self) -> str | None:
        """The name of the container that runs Spark, if the configuration sets it."""
        return get_main_container(self.spec.spark_conf)

    def measure_remaining(self, limit: timedelta, since: datetime | None = None) -> timedelta:
        """Return the rest of `limit`, which started at `since` or with the state; 0 or less if it has expired."""
        return policy.measure_remaining(limit, since or self.since, self.now)

    def measure_remaining_beyond(self, limit: timedelta, since: datetime | None = None) -> timedelta:
        """Return the rest of a limit that may be reached but not exceeded."""
        return self.measure_remaining(limit + timedelta.resolution, since)

    def move(
        self,
        to: ApplicationState,
        reason: str,
        message: str,
        *,
        driver_status: Mapping[str, object] | None = None,
        actions: tuple[Action, ...] = (),
        suspend_reason: SuspendReason | None = None,
    ) -> Decision:
        """Decide to do `actions`, enter `to`, and requeue at once."""
        status = move(self.status, to, self.now, message, driver_status, reason=reason, suspend_reason=suspend_reason)
        return Decision(reason, message, actions, status, AT_ONCE)

    def schedule_attempt(
        self, following: AttemptInfo, reason: str, message: str, actions: tuple[Action, ...] = ()
    ) -> Decision:
        """Decide to do `actions`, move to ScheduledToRestart with `following` as the attempt, and requeue at once."""
        trim = self.settings.trim_state_transition_history
        status = move_to_next_attempt(self.status, following, self.now, message, trim=trim, reason=reason)
        return Decision(reason, message, actions, status, AT_ONCE)

    def submit_again(self, following: AttemptInfo, reason: str, message: str) -> Decision:
        """Decide to submit a suspended application again with `following` as the attempt, and requeue at once."""
        trim, submitted = self.settings.trim_state_transition_history, ApplicationState.SUBMITTED
        status = move_to_next_attempt(self.status, following, self.now, message, trim=trim, reason=reason, to=submitted)
        return Decision(reason, message, (), status, AT_ONCE)

    def wait(self, reason: str, message: str, after: timedelta | None, *actions: Action) -> Decision:
        """Decide to stay, do `actions`, and requeue `after` that time; None waits for an event."""
        return Decision(reason, message, actions, None, None if after is None else limit_wait(after))
