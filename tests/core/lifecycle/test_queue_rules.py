"""Applications in a queue of Kueue."""

from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kueue import state
from airflow_provider_spark_operator.core.kueue.steps import MarkFinished, MarkPodsReady, QueueObservation
from airflow_provider_spark_operator.core.lifecycle.observation import Absent, ApplicationPods, Present
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import RUNNING, STARTING, ApplicationState, SuspendReason
from tests.builders import build_application_document, build_blocked_executor, build_driver_pod, build_executors
from tests.core.harness import build_application_in_state, decide_once, get_entered_state
from tests.core.kueue.workloads import ADMITTED, EVICTED, build_workload
from tests.core.simulated_application import SimulatedApplication
from tests.core.simulated_queue import SimulatedQueue

CONF = {"spark.kubernetes.container.image": "spark", "spark.executor.instances": "1"}


def queue_application(**modifiers: Any) -> tuple[SimulatedApplication, SimulatedQueue]:
    """Return an application that waits in a queue."""
    document = build_application_document(**{"conf": CONF, **modifiers})
    document["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team-a"}
    simulated, queue = SimulatedApplication(document), SimulatedQueue()
    simulated.queue = queue
    return simulated.run(), queue


def start_application(story: str = "ready", **modifiers: Any) -> tuple[SimulatedApplication, SimulatedQueue]:
    """Return an application that was admitted, with its driver in the situation `story`."""
    simulated, queue = queue_application(**modifiers)
    queue.admit()
    simulated.run().set_driver(story)
    return simulated.run(), queue


def get_suspend_reason(simulated: SimulatedApplication) -> SuspendReason | None:
    assert simulated.application.status is not None
    return simulated.application.status.current_state.suspend_reason


def test_application_waits_for_its_admission_without_pods_or_status() -> None:
    simulated, queue = queue_application()
    assert (simulated.created, queue.requests, simulated.reasons[-1]) == ([], 1, reasons.KUEUE_ADMISSION_PENDING)
    assert simulated.document is not None
    assert "status" not in simulated.document
    simulated.advance(1000)
    assert (simulated.created, simulated.states) == ([], ["Submitted"])
    queue.admit()
    simulated.advance(120)
    assert (simulated.created, simulated.states[-1]) == ([0], "DriverRequested")


def test_application_without_a_queue_starts_at_once() -> None:
    simulated = SimulatedApplication(build_application_document(conf=CONF))
    simulated.queue = SimulatedQueue()
    simulated.run()
    assert (simulated.created, simulated.queue.requests) == ([0], 0)


def test_application_that_cannot_be_queued_fails_to_schedule() -> None:
    simulated, queue = queue_application(conf={**CONF, "spark.dynamicAllocation.enabled": "true"})
    assert simulated.states == ["Submitted", "SchedulingFailure", "ResourceReleased"]
    assert (simulated.created, queue.workload) == ([], None)


@pytest.mark.parametrize("story", ["succeeded", "failed"])
def test_quota_is_released_when_the_application_has_ended(story: str) -> None:
    simulated, queue = start_application()
    assert queue.holds_quota
    simulated.set_driver(story).run().advance(10)
    assert simulated.state == "ResourceReleased"
    assert queue.workload is None


def end_driver_with_stuck_executor() -> tuple[SimulatedApplication, SimulatedQueue]:
    """Return an application whose driver failed and was deleted, while its executor does not terminate."""
    simulated, queue = start_application()
    simulated.executors = build_executors(1)
    simulated.set_driver("failed")
    simulated.stuck = True
    simulated.run()
    simulated.pods.clear()
    simulated.run()
    assert (simulated.state, simulated.reasons[-1]) == ("Failed", reasons.KUEUE_QUOTA_DUE)
    return simulated, queue


def test_stopping_state_is_kept_until_the_executors_have_ended() -> None:
    simulated, queue = end_driver_with_stuck_executor()
    simulated.advance(200)
    assert (simulated.state, queue.holds_quota) == ("Failed", True)
    simulated.stuck = False
    simulated.run()
    assert (simulated.state, queue.holds_quota) == ("ResourceReleased", False)


def test_executors_that_never_end_delay_the_release_by_the_grace_period() -> None:
    simulated, queue = end_driver_with_stuck_executor()
    simulated.advance(301)
    assert (simulated.state, queue.holds_quota) == ("ResourceReleased", False)


def test_deletion_of_a_running_application_starts_the_grace_period_of_its_executors() -> None:
    simulated, queue = start_application()
    simulated.advance(1000)
    simulated.executors = build_executors(1)
    simulated.stuck = True
    simulated.delete().run()
    simulated.pods.clear()
    simulated.run().advance(299)
    assert queue.holds_quota
    simulated.advance(2)
    assert (simulated.document, queue.workload) == (None, None)


def test_restart_is_queued_again_after_its_backoff() -> None:
    simulated, queue = start_application(restart={"restartPolicy": "Always", "restartBackoffMillis": 20_000})
    simulated.set_driver("failed").run()
    assert (simulated.state, queue.requests) == ("ScheduledToRestart", 1)
    simulated.advance(30)
    assert (simulated.state, simulated.created, queue.requests) == ("ScheduledToRestart", [0], 2)
    queue.admit()
    simulated.advance(120)
    assert simulated.created == [0, 1]


@pytest.mark.parametrize("story", ["started", "ready"])
def test_evicted_application_is_suspended_and_queued_again(story: str) -> None:
    simulated, queue = start_application(story)
    queue.evict()
    simulated.run()
    assert "Suspended" in simulated.states
    assert get_suspend_reason(simulated) is SuspendReason.KUEUE_EVICTION
    assert queue.holds_quota
    simulated.pods.clear()
    simulated.run()
    assert (simulated.state, simulated.attempt, queue.requests, queue.holds_quota) == ("Submitted", 1, 2, False)
    queue.admit()
    simulated.advance(120)
    assert simulated.created == [0, 1]
    assert simulated.application.status is not None
    assert simulated.application.status.current_attempt_summary.attempt_info.restart_counter == 0


def test_driver_that_is_lost_during_an_eviction_does_not_count_as_a_restart() -> None:
    simulated, queue = start_application(restart={"restartPolicy": "Always", "restartBackoffMillis": 0})
    queue.evict()
    simulated.pods.clear()
    simulated.run().advance(120)
    assert ("Suspended" in simulated.states, "Failed" in simulated.states) == (True, False)
    assert (simulated.state, simulated.attempt, queue.requests, queue.holds_quota) == ("Submitted", 1, 2, False)
    assert simulated.application.status is not None
    assert simulated.application.status.current_attempt_summary.attempt_info.restart_counter == 0


@pytest.mark.parametrize("state", sorted(STARTING | RUNNING))
def test_driver_that_is_lost_during_an_eviction_is_suspended_in_every_state(state: ApplicationState) -> None:
    queue = QueueObservation("team-a", build_workload(None, EVICTED))
    resource = build_application_in_state(state)
    decision = decide_once(resource, Absent(), pods=ApplicationPods(is_live=True), queue=queue)
    assert get_entered_state(decision) is ApplicationState.SUSPENDED


def test_driver_that_has_ended_wins_against_an_eviction() -> None:
    simulated, queue = start_application()
    queue.evict()
    simulated.set_driver("succeeded").run()
    assert "Suspended" not in simulated.states
    assert simulated.state == "ResourceReleased"
    assert not queue.holds_quota


def test_deleted_driver_that_may_have_completed_wins_against_an_eviction() -> None:
    simulated, queue = start_application(restart={"restartPolicy": "Always", "restartBackoffMillis": 0})
    queue.evict()
    simulated.last_driver = build_driver_pod("succeeded")
    simulated.pods.clear()
    simulated.run()
    assert "Suspended" not in simulated.states
    assert "Succeeded" in simulated.states


def test_evicted_application_waits_for_the_requeue_time_without_quota() -> None:
    simulated, queue = start_application()
    queue.evict(simulated.now + timedelta(seconds=60))
    simulated.run()
    simulated.pods.clear()
    simulated.run()
    assert (simulated.state, queue.holds_quota) == ("Suspended", False)
    assert queue.workload is not None
    simulated.advance(61)
    assert (simulated.state, queue.requests) == ("Submitted", 2)


def test_deactivated_application_waits_until_its_workload_is_active_again() -> None:
    simulated, queue = start_application()
    queue.set_active(False)
    simulated.run()
    simulated.pods.clear()
    simulated.run().advance(4000)
    assert (simulated.state, queue.holds_quota, queue.requests) == ("Suspended", False, 1)
    queue.set_active(True)
    assert simulated.run().state == "Submitted"
    assert queue.requests == 2


def test_suspension_of_an_evicted_application_waits_for_the_user() -> None:
    simulated, queue = start_application()
    queue.set_active(False)
    simulated.run()
    simulated.edit(suspend=True).run()
    assert get_suspend_reason(simulated) is SuspendReason.SPEC_SUSPEND
    simulated.pods.clear()
    simulated.run().advance(4000)
    assert (simulated.state, queue.workload) == ("Suspended", None)


def test_queued_application_leaves_the_queue_while_it_is_held() -> None:
    simulated, queue = queue_application()
    simulated.edit(suspend=True).run()
    assert (queue.workload, simulated.reasons[-1]) == (None, reasons.SUSPEND_HELD)
    simulated.edit(suspend=False).run()
    assert queue.requests == 2


def test_suspended_application_releases_its_quota_when_its_pods_have_ended() -> None:
    simulated, queue = start_application()
    simulated.edit(suspend=True).run()
    assert (simulated.state, queue.holds_quota) == ("Suspended", True)
    simulated.pods.clear()
    simulated.run()
    assert (simulated.state, queue.workload) == ("Suspended", None)


def test_driver_whose_request_was_not_recorded_needs_no_second_admission() -> None:
    simulated, queue = queue_application()
    queue.admit()
    simulated.lose_writes = True
    simulated.run()
    simulated.lose_writes = False
    queue.evict()
    assert simulated.run().states[1:3] == ["DriverRequested", "Suspended"]
    assert simulated.created == [0]


def test_workload_deleted_while_pending_is_created_again() -> None:
    simulated, queue = queue_application()
    queue.delete()
    simulated.advance(120)
    assert (queue.requests, simulated.created) == (2, [])


def test_workload_deleted_while_running_does_not_stop_the_application() -> None:
    simulated, queue = start_application()
    queue.delete()
    simulated.run().advance(500)
    assert simulated.state == "RunningHealthy"
    simulated.set_driver("succeeded")
    assert simulated.run().state == "ResourceReleased"


def test_removed_label_does_not_keep_the_quota() -> None:
    simulated, queue = start_application()
    assert simulated.document is not None
    simulated.document["metadata"]["labels"] = {}
    simulated.set_driver("succeeded").run()
    assert queue.workload is None


PARTIAL_CAPACITY = {"initExecutors": 1, "minExecutors": 1, "maxExecutors": 2}


@pytest.mark.parametrize(
    ("instances", "expected"), [({}, "RunningHealthy"), (PARTIAL_CAPACITY, "RunningWithPartialCapacity")]
)
def test_readiness_is_recorded_when_all_executors_are_ready(instances: dict[str, int], expected: str) -> None:
    simulated, queue = start_application(instances=instances)
    assert queue.workload is not None
    assert not state.is_true(queue.workload, "PodsReady")
    simulated.executors = build_executors(1)
    simulated.run()
    assert (simulated.state, state.is_true(queue.workload, "PodsReady")) == (expected, True)
    simulated.executors = []
    simulated.run()
    assert state.is_true(queue.workload, "PodsReady")


TOO_FEW_EXECUTORS = {
    "tolerations": {
        "instanceConfig": {"initExecutors": 3, "minExecutors": 3, "maxExecutors": 3},
        "applicationTimeoutConfig": {"executorStartTimeoutMillis": 60_000},
    }
}
BLOCKED_EXECUTORS = {"timeouts": {"executorStartTimeoutMillis": 60_000}}


@pytest.mark.parametrize(
    ("state_before", "spec", "executors", "pod_sets"),
    [
        (ApplicationState.DRIVER_READY, TOO_FEW_EXECUTORS, [], 0),
        (ApplicationState.INITIALIZED_BELOW_THRESHOLD_EXECUTORS, TOO_FEW_EXECUTORS, build_executors(1), 1),
        (ApplicationState.RUNNING_HEALTHY, BLOCKED_EXECUTORS, [build_blocked_executor()], 0),
    ],
)
def test_executors_time_out_although_the_readiness_is_not_recorded_yet(
    state_before: ApplicationState, spec: dict[str, Any], executors: list[dict[str, Any]], pod_sets: int
) -> None:
    pods = [{"name": "driver", "count": 1}, {"name": "executor", "count": pod_sets}]
    queue = QueueObservation("team-a", build_workload(None, *ADMITTED, spec={"podSets": pods}))
    resource = build_application_in_state(state_before, **spec)
    seen = {"executors": executors, "queue": queue}
    driver = Present(build_driver_pod("ready"))
    early = decide_once(resource, driver, after=50, **seen)
    assert early.actions == (MarkPodsReady(),)
    assert early.requeue_after == timedelta(seconds=10) + timedelta.resolution
    late = decide_once(resource, driver, after=61, **seen)
    assert get_entered_state(late) is ApplicationState.EXECUTORS_START_TIMED_OUT


@pytest.mark.parametrize(
    ("state_before", "ready", "expected"),
    [
        (ApplicationState.RUNNING_HEALTHY, 1, ApplicationState.RUNNING_WITH_BELOW_THRESHOLD_EXECUTORS),
        (ApplicationState.RUNNING_WITH_BELOW_THRESHOLD_EXECUTORS, 3, ApplicationState.RUNNING_HEALTHY),
    ],
)
def test_state_follows_executors_although_the_readiness_is_not_recorded_yet(
    state_before: ApplicationState, ready: int, expected: ApplicationState
) -> None:
    pods = [{"name": "driver", "count": 1}]
    queue = QueueObservation("team-a", build_workload(None, *ADMITTED, spec={"podSets": pods}))
    resource = build_application_in_state(state_before, **TOO_FEW_EXECUTORS)
    driver = Present(build_driver_pod("ready"))
    decision = decide_once(resource, driver, executors=build_executors(ready), queue=queue)
    assert get_entered_state(decision) is expected


def test_recorded_readiness_does_not_delay_the_timeout_of_the_executors() -> None:
    simulated, queue = start_application(tolerations=TOO_FEW_EXECUTORS["tolerations"])
    simulated.executors = build_executors(1)
    simulated.run()
    assert queue.workload is not None
    assert state.is_true(queue.workload, "PodsReady")
    simulated.advance(61)
    assert "ExecutorsStartTimedOut" in simulated.states


@pytest.mark.parametrize(("story", "reason"), [("succeeded", "Succeeded"), ("failed", "Failed")])
def test_retained_driver_returns_its_quota(story: str, reason: str) -> None:
    simulated, queue = start_application(tolerations={"resourceRetainPolicy": "Always"})
    simulated.set_driver(story).run()
    assert simulated.state == "TerminatedWithoutReleaseResources"
    assert queue.workload is not None
    assert queue.workload["status"]["conditions"][-1]["reason"] == reason
    assert not queue.holds_quota


def test_retained_driver_returns_the_quota_of_a_workload_that_the_cache_does_not_show() -> None:
    resource = build_application_in_state(ApplicationState.SUCCEEDED, tolerations={"resourceRetainPolicy": "Always"})
    driver = Present(build_driver_pod("succeeded"))
    decision = decide_once(resource, driver, queue=QueueObservation("team-a"))
    (finished,) = decision.actions
    assert isinstance(finished, MarkFinished)
    assert finished.message == "The driver and its resources are retained."
    assert decide_once(resource, driver, queue=QueueObservation()).actions == ()


def test_driver_that_timed_out_returns_its_quota_after_its_deletion() -> None:
    tolerations = {"resourceRetainPolicy": "Always", "applicationTimeoutConfig": {"driverReadyTimeoutMillis": 1000}}
    simulated, queue = start_application("started", tolerations=tolerations)
    simulated.advance(5)
    assert simulated.states[-1] == "DriverReadyTimedOut"
    assert queue.holds_quota
    simulated.pods.clear()
    simulated.run()
    assert simulated.states[-1] == "ResourceReleased"
    assert not queue.holds_quota


def test_deleted_application_releases_its_quota_after_its_pods() -> None:
    simulated, queue = start_application()
    simulated.delete().run()
    assert queue.holds_quota
    simulated.pods.clear()
    simulated.run()
    assert (simulated.document, queue.workload) == (None, None)
