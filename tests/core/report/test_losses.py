"""The sentences about what a run has lost."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from airflow_provider_spark_operator.core.dialects.progress import ExecutorState
from airflow_provider_spark_operator.core.report.pod_spans import PodSpan
from airflow_provider_spark_operator.core.report.timeline import Timeline, build_timeline, describe_losses
from tests.core.report.documents import at, build_application, build_kubeflow
from tests.plugins.spark_view.runs import build_restarted

STARTED = (("Submitted", 0), ("DriverRequested", 1), ("RunningHealthy", 7))
OTHERS = tuple(PodSpan(f"x-exec-{number}", ExecutorState.RUNNING) for number in range(3))


def build(*moves: tuple[str, float], attempt: int = 0, executors: tuple[PodSpan, ...] = ()) -> Timeline:
    timeline = build_timeline(build_application(*STARTED, *moves, attempt=attempt), at(60))
    return replace(timeline, executors=executors)


@pytest.mark.parametrize("live", [True, False])
def test_restart_and_lost_executors_are_named_with_their_causes(live: bool) -> None:
    assert describe_losses(build_restarted(live=live)) == (
        "Attempt 2 follows attempt 1, which ended in the state Failed: exit code 137 (OOMKilled). "
        "3 of 24 executors were lost: 1 out of memory, 1 evicted, 1 preempted. "
        "To give each executor more memory, raise spark.executor.memory or spark.executor.memoryOverhead."
    )


def test_run_that_lost_nothing_has_no_sentence() -> None:
    stopped = PodSpan("x-exec-9", ExecutorState.ENDED, at(8), at(9))
    deleted = PodSpan("x-exec-10", ExecutorState.UNKNOWN, at(8), at(9))
    assert describe_losses(build(executors=(*OTHERS, stopped, deleted))) == ""


def test_full_heap_is_out_of_memory() -> None:
    lost = PodSpan("x-exec-9", ExecutorState.FAILED, at(8), at(9), "exit code 52 (Error)")
    assert describe_losses(build(executors=(*OTHERS, lost))).startswith("1 of 4 executors was lost: 1 out of memory.")


def test_evicted_executor_that_stopped_regularly_is_lost() -> None:
    lost = PodSpan("x-exec-9", ExecutorState.ENDED, at(8), at(9), "DeletionByTaintManager: the node is not ready")
    assert describe_losses(build(executors=(*OTHERS, lost))) == "1 of 4 executors was lost: 1 evicted."


def test_executor_with_another_exit_code_is_lost_for_another_reason() -> None:
    lost = PodSpan("x-exec-9", ExecutorState.FAILED, at(8), at(9), "exit code 1")
    assert describe_losses(build(executors=(*OTHERS, lost))) == "1 of 4 executors was lost: 1 for another reason."


def test_resumed_attempt_follows_a_suspended_one() -> None:
    moves = (("Suspended", 20), ("Submitted", 30), ("DriverRequested", 31))
    assert describe_losses(build(*moves, attempt=1)) == "Attempt 2 follows attempt 1, which was suspended."


def test_latest_state_is_named_if_an_attempt_stopped_without_one() -> None:
    moves = (("ScheduledToRestart", 30), ("DriverRequested", 31))
    sentence = "Attempt 2 follows attempt 1, which ended in the state RunningHealthy."
    assert describe_losses(build(*moves, attempt=1)) == sentence


def test_advice_names_the_fields_of_kubeflow() -> None:
    lost = PodSpan("x-exec-9", ExecutorState.FAILED, at(8), at(9), "exit code 137 (OOMKilled)")
    timeline = replace(build_timeline(build_kubeflow("RUNNING", ""), at(90)), executors=(lost,))
    assert describe_losses(timeline).endswith("raise spec.executor.memory or spec.executor.memoryOverhead.")


def test_reason_of_the_state_is_named_if_nothing_is_known_about_the_driver() -> None:
    application = build_application(*STARTED, ("DriverEvicted", 20), ("ScheduledToRestart", 21), attempt=1)
    application["status"]["stateTransitionHistory"]["3"]["reason"] = "DriverInterrupted"
    sentence = "Attempt 2 follows attempt 1, which ended in the state DriverEvicted: DriverInterrupted."
    assert describe_losses(build_timeline(application, at(60))) == sentence


@pytest.mark.parametrize(("end", "sentence"), [(30.0, ""), (20.0, "1 of 1 executors was lost: 1 for another reason.")])
def test_executor_that_fails_because_its_driver_has_ended_is_not_lost(end: float, sentence: str) -> None:
    failed = PodSpan("x-exec-1", ExecutorState.FAILED, at(8), at(end), "exit code 1")
    application = build_application(*STARTED, ("Failed", 30))
    assert describe_losses(replace(build_timeline(application, at(60)), executors=(failed,))) == sentence


def test_latest_possible_time_of_an_executor_is_compared_with_the_end_of_its_driver() -> None:
    failed = PodSpan("x-exec-1", ExecutorState.FAILED, at(8), datetime.max.replace(tzinfo=UTC), "exit code 1")
    application = build_application(*STARTED, ("Failed", 30))
    assert describe_losses(replace(build_timeline(application, at(60)), executors=(failed,))) == ""
