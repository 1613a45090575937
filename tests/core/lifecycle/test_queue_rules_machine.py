"""Events of Kueue in any order: no driver without admission, and no quota released while a pod exists."""

from datetime import timedelta
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.states.states import INITIALIZING, ApplicationState
from tests.builders import build_executors
from tests.core.lifecycle.test_application_machine import ApplicationMachine, tolerations
from tests.core.simulated_queue import SimulatedQueue

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
# The possible states of the resource before the first random event.
BEGINNINGS = ("submitted", "running", "preempted", "ended", "evicted", "deactivated")


class QueuedApplicationMachine(ApplicationMachine):
    """The machine of applications with Kueue. `SimulatedQueue` itself fails if quota is released too early."""

    @initialize(
        tolerations=tolerations(), trim=st.booleans(), finalizer=st.booleans(), beginning=st.sampled_from(BEGINNINGS)
    )
    def submit(self, tolerations: dict[str, Any], trim: bool, finalizer: bool, beginning: str = "submitted") -> None:
        super().submit(tolerations, trim, finalizer)
        self.simulated.queue = self.queue = SimulatedQueue()
        self.set_label("team-a")
        if beginning == "running":
            self.run_attempt()
        elif beginning == "preempted":
            self.run_attempt()
            self.evict_for_a_while(1)
        elif beginning == "ended":
            self.end_attempt()
        elif beginning != "submitted":
            self.revoke_admission(deactivated=beginning == "deactivated")

    @precondition(ApplicationMachine.has_application)
    @rule()
    def run_attempt(self) -> None:
        """Admit the application, and run its driver with two executors: random events rarely lead there."""
        self.simulated.run()
        self.queue.admit()
        self.simulated.advance(130)
        if self.has_driver():
            self.simulated.set_driver("ready")
            self.simulated.executors = build_executors(2)
            self.simulated.run()

    @precondition(ApplicationMachine.has_application)
    @rule()
    def end_attempt(self) -> None:
        """Run an attempt whose executors terminate later than its driver."""
        self.run_attempt()
        self.simulated.has_slow_executors = True
        if self.has_driver():
            self.simulated.set_driver("succeeded").run().advance(1)

    @precondition(ApplicationMachine.has_application)
    @rule(deactivated=st.booleans())
    def revoke_admission(self, deactivated: bool) -> None:
        """Admit the application, and revoke the admission before the controller has seen it."""
        self.simulated.run()
        self.queue.admit()
        if deactivated:
            self.queue.request_deactivation()
        else:
            self.queue.evict()
        self.simulated.advance(130)

    @rule(slow=st.booleans())
    def slow_executors_down(self, slow: bool) -> None:
        self.simulated.has_slow_executors = slow

    @rule(seconds=st.sampled_from([1, 61, 400]))
    def evict_for_a_while(self, seconds: int) -> None:
        """Evict the application, and let the controller stop it."""
        self.queue.evict()
        self.simulated.run().advance(seconds)

    def set_label(self, queue: str | None) -> None:
        assert self.simulated.document is not None
        self.simulated.document["metadata"]["labels"] = {} if queue is None else {QUEUE_LABEL: queue}

    def compute_limit(self, application: SparkApplication) -> timedelta | None:
        """Return no limit for a state in which the application waits for its admission."""
        state = application.status.current_state.current_state_summary if application.status else None
        return None if state in INITIALIZING else super().compute_limit(application)

    def is_free_to_resume(self, application: SparkApplication) -> bool:
        return super().is_free_to_resume(application) and not self.queue.delays_requeue(self.simulated.now)

    @rule()
    def admit(self) -> None:
        self.queue.admit()

    @rule(seconds=st.none() | st.sampled_from([-60, 0, 60]))
    def evict(self, seconds: int | None) -> None:
        self.queue.evict(None if seconds is None else self.simulated.now + timedelta(seconds=seconds))

    @rule(active=st.booleans())
    def set_active(self, active: bool) -> None:
        self.queue.set_active(active)

    @rule()
    def delete_workload(self) -> None:
        self.queue.delete()

    @precondition(ApplicationMachine.has_application)
    @rule(queue=st.sampled_from([None, "team-a", "team-b"]))
    def edit_queue(self, queue: str | None) -> None:
        self.set_label(queue)

    @invariant()
    def check_no_quota_when_released(self) -> None:
        """Check that an application without resources holds no quota."""
        if self.simulated.document is not None and self.simulated.state == ApplicationState.RESOURCE_RELEASED:
            assert not self.queue.holds_quota

    @invariant()
    def check_suspended_application_at_rest_holds_no_quota(self) -> None:
        if self.simulated.document is not None and self.simulated.state == "Suspended" and self.simulated.is_at_rest:
            assert not self.queue.holds_quota

    def teardown(self) -> None:
        """Check that the quota is released with the application."""
        if hasattr(self, "queue"):
            self.simulated.has_slow_executors = False
        super().teardown()
        if hasattr(self, "queue"):
            assert not self.queue.holds_quota


QueuedApplicationMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestQueuedApplicationMachine = QueuedApplicationMachine.TestCase
