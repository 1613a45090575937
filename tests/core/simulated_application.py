"""A simulated application, whose pods a test controls, and a clock that the test advances."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow_provider_spark_operator.core.driver.attempt import build_attempt
from airflow_provider_spark_operator.core.driver.configuration.configuration import DriverBuildError
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import APPLICATION_FINALIZER
from airflow_provider_spark_operator.core.kueue.steps import QueueAction, QueueObservation
from airflow_provider_spark_operator.core.lifecycle.decision import Decision, Settings
from airflow_provider_spark_operator.core.lifecycle.observation import ApplicationPods, Created, CreateOutcome, Refused
from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.core.models.status import ApplicationStatus, StateRecord
from airflow_provider_spark_operator.core.states import reasons
from tests.builders import NOW, build_application_document, build_driver_pod
from tests.core.harness import TooManyPasses, reconcile

if TYPE_CHECKING:
    from tests.core.simulated_queue import SimulatedQueue

GRACE_SECONDS = 30


class SimulatedApplication:
    """One application, reconciled by the harness. Its pods terminate only when the test says so.

    Args:
        document: The SparkApplication.
        settings: The settings of the controller. Default: `Settings()`.
        builds: Whether to build the driver of each attempt. Set it to test specs from which no driver can be built.

    Attributes:
        states: All states that the application has entered, in order.
        reasons: The reasons of all decisions, in order.
        refusal: The reason with which the API refuses a driver, or None if it accepts drivers.
        cached: Whether the cache holds the driver.
        last_driver: The last known state of a driver that the watch has shown as deleted.
        stuck: Whether pods never finish terminating.
        has_slow_executors: Whether executors never finish terminating, although drivers do.
        lose_writes: Whether status writes are lost, as in a crash.
        created: The attempts whose driver was created, in order.
        cleaned: The attempts whose resources were deleted by name.
        forced: The attempts whose driver was force-deleted.
        wake: The time of the next reconcile, or None.
        last_decision: The last decision, or None before the first.
        queue: The simulated Kueue, or None if the controller runs without Kueue.
    """

    def __init__(self, document: dict[str, Any], settings: Settings | None = None, *, builds: bool = False) -> None:
        self.document: dict[str, Any] | None = document
        self.settings = settings or Settings()
        self.builds = builds
        self.now = NOW
        self.pods: dict[int, dict[str, Any]] = {}
        self.executors: list[dict[str, Any]] = []
        self.last_driver: dict[str, Any] | None = None
        self.refusal: str | None = None
        self.cached = True
        self.stuck = False
        self.has_slow_executors = False
        self.lose_writes = False
        self.created: list[int] = []
        self.cleaned: list[int] = []
        self.forced: list[int] = []
        self.reasons: list[str] = []
        self.states: list[str] = ["Submitted"]
        self.wake: datetime | None = None
        self.last_decision: Decision | None = None
        self.queue: SimulatedQueue | None = None

    @property
    def application(self) -> SparkApplication:
        assert self.document is not None, "the application does not exist"
        return parse_application(self.document)

    @property
    def state(self) -> str:
        status = self.application.status
        return str(status.current_state.current_state_summary) if status else "Submitted"

    @property
    def is_at_rest(self) -> bool:
        """Return whether the last decision only waits for a change of the spec."""
        decision = self.last_decision
        is_waiting = decision is not None and decision.status is None and not decision.actions
        return is_waiting and self.reasons[-1] in (reasons.SUSPENDED, reasons.SUSPEND_HELD)

    @property
    def attempt(self) -> int:
        status = self.application.status
        return status.current_attempt_summary.attempt_info.id if status else 0

    def set_driver(self, story: str, **modifiers: Any) -> "SimulatedApplication":
        """Replace the current driver with a pod in the situation `story`. A deletion in progress continues."""
        before = self.pods[self.attempt]["metadata"]
        pod = build_driver_pod(story, **{"name": before["name"], **modifiers})
        for key in ("deletionTimestamp", "deletionGracePeriodSeconds"):
            if key in before:
                pod["metadata"][key] = before[key]
        self.pods[self.attempt] = pod
        if "deletionTimestamp" in before and not self.stuck and pod["status"]["phase"] in ("Succeeded", "Failed"):
            del self.pods[self.attempt]
        return self

    def remove_driver(self) -> "SimulatedApplication":
        """Remove the current driver. The controller receives no event."""
        self.pods.pop(self.attempt, None)
        return self

    def request_driver_deletion(self) -> "SimulatedApplication":
        """Delete the current driver as another client does. A terminated pod that is not stuck is removed."""
        pod = self.pods[self.attempt]
        if pod["status"]["phase"] in ("Succeeded", "Failed", "Pending") and not self.stuck:
            self.remove_driver()
        else:
            self._begin_deletion(pod)
        return self

    def lose_node(self) -> "SimulatedApplication":
        """Lose the node of the current driver. A terminated pod is unchanged."""
        pod = self.pods[self.attempt]
        if pod["status"]["phase"] not in ("Succeeded", "Failed"):
            ready = {"type": "Ready", "status": "False", "lastTransitionTime": self.now.isoformat()}
            pod["status"] = {**pod["status"], "phase": "Unknown", "conditions": [ready]}
        return self

    def delete(self) -> "SimulatedApplication":
        """Delete the application. Without finalizers, the application and its pods are removed immediately."""
        assert self.document is not None
        if self.document["metadata"]["finalizers"]:
            self.document["metadata"].setdefault("deletionTimestamp", self.now.isoformat())
        else:
            self.document = None
            self.pods.clear()
        return self

    def edit(self, **spec: Any) -> "SimulatedApplication":
        """Edit fields of the spec."""
        assert self.document is not None
        self.document["spec"] |= spec
        return self

    def run(self) -> "SimulatedApplication":
        """Reconcile until nothing is due at the current time."""
        for _ in range(50):
            if self.document is None:
                self.wake = None
                return self
            if not self._run_pass():
                return self
        raise TooManyPasses(self.reasons[-6:])

    def advance(self, by: float) -> "SimulatedApplication":
        """Advance the clock by `by` seconds, and reconcile when a decision requests it."""
        end = self.now + timedelta(seconds=by)
        for _ in range(2_000):
            if self.wake is None or self.wake > end:
                self.now = end
                return self
            self.now = max(self.now, self.wake)
            self.run()
        raise TooManyPasses(self.reasons[-6:])

    def _run_pass(self) -> bool:
        """Run one pass. Return whether another pass is due immediately, by the decision or by events of its actions."""
        self._collect_executors()
        decisions = reconcile(self, self.application, self.settings, self.now)
        self.reasons += [decision.reason for decision in decisions]
        self.last_decision = decisions[-1]
        if self.lose_writes:
            return False
        after = decisions[-1].requeue_after
        self.wake = None if after is None else self.now + after
        return bool(decisions[-1].actions) or after == timedelta(0)

    # --- implementation of Resources ---

    def find_driver(self, application: SparkApplication, *, live: bool) -> JsonObject | None:
        return self.pods.get(self.attempt) if live or self.cached else None

    def find_last_driver(self, application: SparkApplication) -> JsonObject | None:
        return self.last_driver

    def list_executors(self, application: SparkApplication) -> list[JsonObject]:
        return self.executors

    def list_pods(self, application: SparkApplication, *, live: bool) -> ApplicationPods:
        drivers = tuple(self.pods.values()) if live or self.cached else ()
        return ApplicationPods(drivers, tuple(self.executors), live)

    def create_attempt(self, application: SparkApplication, attempt_id: int) -> CreateOutcome:
        held = application.spec.suspend and attempt_id not in self.pods
        assert not held, f"the driver of attempt {attempt_id} is created although spec.suspend is true"
        others = [number for number in self.pods if number != attempt_id]
        assert not others, f"attempt {attempt_id} is created while the driver of {others} exists"
        if self.refusal is not None:
            return Refused(self.refusal)
        if refusal := self._describe_build_error(attempt_id):
            return Refused(refusal, reasons.SPEC_UNBUILDABLE)
        if attempt_id not in self.pods:
            if self.queue is not None:
                self.queue.check_admission(application)
            self.created.append(attempt_id)
            self.pods[attempt_id] = build_driver_pod("pending", name=f"pi-{attempt_id}-driver")
        return Created()

    def add_finalizer(self, application: SparkApplication) -> None:
        assert self.document is not None
        self.document["metadata"]["finalizers"].append(APPLICATION_FINALIZER)

    def remove_finalizer(self, application: SparkApplication) -> None:
        self.document = None

    def delete_application(self, application: SparkApplication) -> None:
        self.delete()

    def delete_driver(self, application: SparkApplication, attempt_id: int, *, force: bool) -> None:
        if attempt_id in self.pods:
            self._delete_driver(attempt_id, force=force)

    def delete_pod(self, application: SparkApplication, uid: str, *, force: bool) -> None:
        for attempt_id in [number for number, pod in self.pods.items() if pod["metadata"]["uid"] == uid]:
            self._delete_driver(attempt_id, force=force)

    def _delete_driver(self, attempt_id: int, *, force: bool) -> None:
        pod = self.pods[attempt_id]
        if force:
            self.forced.append(attempt_id)
        ended = pod["status"]["phase"] in ("Succeeded", "Failed", "Pending")
        if force or (ended and not self.stuck):
            del self.pods[attempt_id]
        else:
            self._begin_deletion(pod)

    def delete_attempt_resources(self, application: SparkApplication, attempt_id: int) -> None:
        self.cleaned.append(attempt_id)
        if not self._describe_build_error(attempt_id):  # without a build, the names of the resources are unknown
            self.delete_driver(application, attempt_id, force=False)

    def observe_queue(self, application: SparkApplication) -> QueueObservation | None:
        return None if self.queue is None else self.queue.observe(application)

    def apply_to_queue(self, application: SparkApplication, action: QueueAction) -> QueueObservation | None:
        assert self.queue is not None, f"{action}: the controller runs without Kueue"
        return self.queue.apply(action, application, self.now, [*self.pods.values(), *self.executors])

    def write_status(self, application: SparkApplication, status: ApplicationStatus) -> None:
        if self.lose_writes or self.document is None:
            return
        known = self.application.status
        entered = status.state_transition_history
        before = known.state_transition_history if known else {"0": None}
        for key in sorted(entered.keys() - before.keys(), key=int):
            record = entered[key]
            assert isinstance(record, StateRecord)
            self.states.append(str(record.current_state_summary))
        self.document["status"] = status.to_document()

    def _describe_build_error(self, attempt_id: int) -> str | None:
        if self.builds:
            try:
                build_attempt(self.application, attempt_id, self.settings.operator_name)
            except DriverBuildError as error:
                return str(error)
        return None

    def _collect_executors(self) -> None:
        """Delete the executors of a deleted driver, as the garbage collector does."""
        if self.pods:
            return
        for executor in self.executors:
            self._begin_deletion(executor)
        if not (self.stuck or self.has_slow_executors):
            self.executors = []

    def _begin_deletion(self, pod: JsonObject) -> None:
        ends = self.now + timedelta(seconds=GRACE_SECONDS)
        pod["metadata"].setdefault("deletionTimestamp", ends.isoformat())
        pod["metadata"].setdefault("deletionGracePeriodSeconds", GRACE_SECONDS)


def simulate(*, settings: Settings | None = None, builds: bool = False, **modifiers: Any) -> SimulatedApplication:
    """Reconcile a new application, for which `modifiers` change the default document, until nothing is due."""
    return SimulatedApplication(build_application_document(**modifiers), settings, builds=builds).run()
