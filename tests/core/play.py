"""A play of one application's life: a cluster of dictionaries and a clock of our own around `decide()`."""

from datetime import datetime, timedelta
from typing import Any

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.core.application import decide
from airflow_provider_spark_operator.core.decision import (
    Action,
    AddFinalizer,
    ConfirmAbsence,
    CreateAttempt,
    Decision,
    DeleteApplication,
    DeleteAttemptResources,
    DeleteDriver,
    RemoveFinalizer,
    Settings,
)
from airflow_provider_spark_operator.core.driver.attempt import build_attempt
from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.core.models.status import StateRecord
from airflow_provider_spark_operator.core.names import APPLICATION_FINALIZER
from airflow_provider_spark_operator.core.observation import (
    Absent,
    Created,
    CreateOutcome,
    DriverObservation,
    Observed,
    Present,
    Refused,
    Unconfirmed,
)
from airflow_provider_spark_operator.core.states import STOPPING, TERMINATED
from tests.builders import NOW, driver_pod

GRACE_SECONDS = 30


class TooManyPasses(AssertionError):
    """The application did not come to rest."""


class Play:
    """Carries out what is decided about `document`, as the controller would; pods end only when told.

    `states` are all states ever entered, in order; `reasons` those of all decisions that did something.

    Args:
        document: the application.
        settings: the controller's.
        builds: whether drivers are really built, so that a spec can be one from which none can be.
    """

    def __init__(self, document: dict[str, Any], settings: Settings | None = None, *, builds: bool = False) -> None:
        self.document: dict[str, Any] | None = document
        self.settings = settings or Settings()
        self.builds = builds
        self.now = NOW
        self.pods: dict[int, dict[str, Any]] = {}
        self.executors: list[dict[str, Any]] = []
        self.refusal: str | None = None
        self.cached = True
        self.stuck = False
        self.lose_writes = False
        self.created: list[int] = []
        self.cleaned: list[int] = []
        self.forced: list[int] = []
        self.reasons: list[str] = []
        self.states: list[str] = ["Submitted"]
        self.wake: datetime | None = None

    @property
    def application(self) -> SparkApplication:
        assert self.document is not None, "the application is gone"
        return parse_application(self.document)

    @property
    def state(self) -> str:
        status = self.application.status
        return str(status.current_state.current_state_summary) if status else "Submitted"

    @property
    def attempt(self) -> int:
        status = self.application.status
        return status.current_attempt_summary.attempt_info.id if status else 0

    def driver(self, story: str, **modifiers: Any) -> None:
        """Put the current attempt's driver into a situation; a deletion that has begun stays."""
        before = self.pods[self.attempt]["metadata"]
        pod = driver_pod(story, **modifiers)
        for key in ("deletionTimestamp", "deletionGracePeriodSeconds"):
            if key in before:
                pod["metadata"][key] = before[key]
        self.pods[self.attempt] = pod
        if "deletionTimestamp" in before and not self.stuck and pod["status"]["phase"] in ("Succeeded", "Failed"):
            del self.pods[self.attempt]

    def vanish(self) -> None:
        """Let the current driver go without a word."""
        self.pods.pop(self.attempt, None)

    def take_away(self) -> None:
        """Let somebody else ask for the current driver's deletion; where it is not stuck, it goes if it has ended."""
        pod = self.pods[self.attempt]
        if pod["status"]["phase"] in ("Succeeded", "Failed", "Pending") and not self.stuck:
            self.vanish()
        else:
            self._begin_deletion(pod)

    def lose_node(self) -> None:
        """Let nobody hear of the current driver's node any more; what has ended stays as it is."""
        pod = self.pods[self.attempt]
        if pod["status"]["phase"] not in ("Succeeded", "Failed"):
            ready = {"type": "Ready", "status": "False", "lastTransitionTime": self.now.isoformat()}
            pod["status"] = {**pod["status"], "phase": "Unknown", "conditions": [ready]}

    def delete(self) -> None:
        """Ask for the application's deletion; without finalizers it goes at once, and its pods with it."""
        assert self.document is not None
        if self.document["metadata"]["finalizers"]:
            self.document["metadata"].setdefault("deletionTimestamp", self.now.isoformat())
        else:
            self.document = None
            self.pods.clear()

    def change(self, **spec: Any) -> None:
        """Edit the spec."""
        assert self.document is not None
        self.document["spec"] |= spec

    def look(self) -> "Play":
        """Reconcile until nothing more is to be done at this moment."""
        for _ in range(50):
            if self.document is None:
                self.wake = None
                return self
            if not self._pass():
                return self
        raise TooManyPasses(self.reasons[-6:])

    def advance(self, by: float) -> "Play":
        """Let `by` seconds go by, with a look whenever the last decision asked for one."""
        end = self.now + timedelta(seconds=by)
        for _ in range(2_000):
            if self.wake is None or self.wake > end:
                self.now = end
                return self
            self.now = max(self.now, self.wake)
            self.look()
        raise TooManyPasses(self.reasons[-6:])

    def _pass(self) -> bool:
        """One pass; whether another one is due at once: as asked for, or since what was done is an event."""
        decision = self._decide()
        for action in decision.actions:
            self._apply(action)
        if self.lose_writes:
            return False
        if decision.status is not None and self.document is not None:
            self._write(decision)
        after = decision.requeue_after
        self.wake = None if after is None else self.now + after
        return bool(decision.actions) or after == timedelta(0)

    def _decide(self) -> Decision:
        seen = self.pods.get(self.attempt)
        driver: DriverObservation = Present(seen) if seen and self.cached else Unconfirmed()
        outcome: CreateOutcome | None = None
        for _ in range(3):
            observed = Observed(driver, tuple(self.executors), outcome)
            decision = decide(self.application, observed, self.settings, self.now)
            self.reasons.append(decision.reason)
            if ConfirmAbsence() in decision.actions:
                live = self.pods.get(self.attempt)
                driver = Present(live) if live else Absent()
            elif creation := next((each for each in decision.actions if isinstance(each, CreateAttempt)), None):
                outcome = self._create(creation.attempt_id)
            else:
                return decision
        raise TooManyPasses(self.reasons[-3:])

    def _create(self, attempt: int) -> CreateOutcome:
        others = [number for number in self.pods if number != attempt]
        assert not others, f"attempt {attempt} is created while the driver of {others} is there"
        if self.refusal is not None:
            return Refused(self.refusal)
        if refusal := self._unbuildable(attempt):
            return Refused(refusal, reasons.SPEC_UNBUILDABLE)
        if attempt not in self.pods:
            self.created.append(attempt)
            self.pods[attempt] = driver_pod("pending")
        return Created()

    def _unbuildable(self, attempt: int) -> str | None:
        if self.builds:
            try:
                build_attempt(self.application, attempt, self.settings.operator_name)
            except DriverBuildError as error:
                return str(error)
        return None

    def _apply(self, action: Action) -> None:
        assert self.document is not None
        metadata = self.document["metadata"]
        match action:
            case AddFinalizer():
                metadata["finalizers"].append(APPLICATION_FINALIZER)
            case RemoveFinalizer():
                self.document = None
            case DeleteApplication():
                self.delete()
            case DeleteDriver(attempt_id=attempt, force=force):
                self._delete_driver(attempt, force=force)
            case DeleteAttemptResources(attempt_id=attempt):
                self.cleaned.append(attempt)
                if not self._unbuildable(attempt):  # what cannot be built has no names to delete by
                    self._delete_driver(attempt, force=False)

    def _delete_driver(self, attempt: int, *, force: bool) -> None:
        pod = self.pods.get(attempt)
        if pod is None:
            return
        assert self._may_stop(), f"a driver is deleted in {self.state}, and nobody asked for that"
        if force:
            assert "deletionTimestamp" in pod["metadata"], "a driver is deleted without ever having been given grace"
            self.forced.append(attempt)
        ended = pod["status"]["phase"] in ("Succeeded", "Failed", "Pending")
        if force or (ended and not self.stuck):
            del self.pods[attempt]
        else:
            self._begin_deletion(pod)

    def _begin_deletion(self, pod: dict[str, Any]) -> None:
        ends = self.now + timedelta(seconds=GRACE_SECONDS)
        pod["metadata"].setdefault("deletionTimestamp", ends.isoformat())
        pod["metadata"].setdefault("deletionGracePeriodSeconds", GRACE_SECONDS)

    def _may_stop(self) -> bool:
        application = self.application
        reason = application.status.current_state.reason if application.status else None
        suspended = application.spec.suspend or reason == reasons.SUSPENDED
        return bool(application.deletion_timestamp) or suspended or self.state in STOPPING | TERMINATED

    def _write(self, decision: Decision) -> None:
        assert decision.status is not None
        assert self.document is not None
        known = self.application.status
        entered = decision.status.state_transition_history
        before = known.state_transition_history if known else {"0": None}
        for key in sorted(entered.keys() - before.keys(), key=int):
            record = entered[key]
            assert isinstance(record, StateRecord)
            self.states.append(str(record.current_state_summary))
        self.document["status"] = decision.status.to_document()
