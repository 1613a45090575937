from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.progress import ExecutorState
from airflow_provider_spark_operator.core.kubernetes.names import LABEL_APPLICATION_NAME
from airflow_provider_spark_operator.core.report.pod_spans import PodSpan, count_over_time
from airflow_provider_spark_operator.core.report.timeline import Mark, MarkKind, Timeline, build_timeline
from airflow_provider_spark_operator.core.verdict.verdict import Outcome
from tests.core.report.documents import (
    at,
    build_application,
    build_event,
    build_history,
    build_kubeflow,
    build_spark_pod,
)

STARTED = (("Submitted", 0), ("DriverRequested", 1), ("DriverStarted", 5), ("RunningHealthy", 7))
RESTARTED = (("ScheduledToRestart", 31), ("DriverRequested", 40), ("RunningHealthy", 45))
KUBEFLOW_LABEL = "sparkoperator.k8s.io/app-name"


def list_states(timeline: Timeline, attempt: int) -> list[tuple[str, object, object]]:
    return [(state.state, state.begin, state.end) for state in timeline.attempts[attempt].states]


def test_live_application_ends_now_and_its_last_state_is_open() -> None:
    timeline = build_timeline(build_application(*STARTED), at(20))
    assert (timeline.begin, timeline.end, timeline.is_live) == (at(0), at(20), True)
    assert list_states(timeline, 0) == [
        ("Submitted", at(0), at(1)),
        ("DriverRequested", at(1), at(5)),
        ("DriverStarted", at(5), at(7)),
        ("RunningHealthy", at(7), None),
    ]
    assert (timeline.attempts[0].number, timeline.attempts[0].end, timeline.marks) == (1, None, ())
    assert not timeline.has_lost_executors


@pytest.mark.parametrize(("states", "has_run"), [(STARTED, True), (STARTED[:3], False)], ids=["ran", "did not run"])
def test_application_has_run_before_a_time_if_its_driver_ran(
    states: Sequence[tuple[str, float]], has_run: bool
) -> None:
    timeline = build_timeline(build_application(*states), at(20))
    assert timeline.has_run_before(at(8)) is has_run
    assert not timeline.has_run_before(at(7))


def test_finished_application_ends_before_its_resources_are_released() -> None:
    document = build_application(*STARTED, ("Succeeded", 30), ("ResourceReleased", 32))
    timeline = build_timeline(document, at(900))
    assert (timeline.end, timeline.is_live) == (at(30), False)
    assert list_states(timeline, 0)[-2:] == [("Succeeded", at(30), at(32)), ("ResourceReleased", at(32), at(32))]
    assert timeline.attempts[0].end == at(30)
    assert timeline.marks == (Mark(at(30), MarkKind.SUCCEEDED, "Succeeded"),)
    assert timeline.has_lost_executors


@pytest.mark.parametrize(("states", "are_lost"), [(STARTED, True), (STARTED[:3], False)], ids=["ran", "did not run"])
def test_executors_of_a_failed_application_without_pods_are_lost_if_it_ran(
    states: Sequence[tuple[str, float]], are_lost: bool
) -> None:
    document = build_application(*states, ("Failed", 30), ("ResourceReleased", 32))
    assert build_timeline(document, at(900)).has_lost_executors == are_lost


def test_restart_begins_another_attempt() -> None:
    document = build_application(*STARTED, ("Failed", 30), *RESTARTED, attempt=1)
    timeline = build_timeline(document, at(50))
    assert [(attempt.number, attempt.begin, attempt.end) for attempt in timeline.attempts] == [
        (1, at(0), at(30)),
        (2, at(31), None),
    ]
    assert timeline.marks == (
        Mark(at(30), MarkKind.ATTEMPT_FAILED, "Failed"),
        Mark(at(31), MarkKind.RESTARTED, "attempt 2"),
    )


def test_suspension_ends_an_attempt_and_its_resumption_begins_another() -> None:
    resumed = (("Submitted", 60), ("DriverRequested", 61))
    timeline = build_timeline(build_application(*STARTED, ("Suspended", 30), *resumed, attempt=1), at(70))
    assert [(attempt.number, attempt.end, attempt.suspended) for attempt in timeline.attempts] == [
        (1, at(30), at(30)),
        (2, None, None),
    ]
    assert timeline.marks == (
        Mark(at(30), MarkKind.SUSPENDED, "attempt 1 suspended"),
        Mark(at(60), MarkKind.RESUMED, "attempt 2"),
    )


def test_suspended_application_is_live_but_its_attempt_is_over() -> None:
    timeline = build_timeline(build_application(*STARTED, ("Suspended", 30)), at(70))
    (attempt,) = timeline.attempts
    assert (timeline.is_live, timeline.end) == (True, at(70))
    assert (attempt.is_over, attempt.end, attempt.states[-1].end) == (True, at(30), None)


def test_trimmed_history_shows_the_last_two_attempts_with_their_numbers() -> None:
    document = build_application(*RESTARTED, attempt=4)
    document["status"]["stateTransitionHistory"] = build_history(*RESTARTED, first=20)
    past = build_history(("ScheduledToRestart", 8), ("DriverRequested", 9), ("Failed", 30), first=17)
    document["status"]["previousAttemptSummary"] = {"stateTransitionHistory": past}
    timeline = build_timeline(document, at(50))
    assert [(attempt.number, len(attempt.states)) for attempt in timeline.attempts] == [(4, 3), (5, 3)]
    assert (timeline.missing_attempts, timeline.begin) == (3, at(0)), "the application was created at 0 s"


def test_complete_history_misses_no_attempt() -> None:
    document = build_application(*STARTED, ("Failed", 30), *RESTARTED, attempt=1)
    assert build_timeline(document, at(50)).missing_attempts == 0


def test_cancelled_application_is_marked() -> None:
    timeline = build_timeline(build_application(*STARTED, ("ResourceReleased", 9)), at(50))
    assert timeline.marks == (Mark(at(9), MarkKind.FAILED, "Cancelled"),)
    assert timeline.attempts[0].end == at(9)


def test_application_without_status_has_one_attempt() -> None:
    document = build_application(*STARTED)
    del document["status"]
    timeline = build_timeline(document, at(4))
    assert list_states(timeline, 0) == [("Submitted", at(0), None)]


def test_executor_pods_give_spans_counts_and_marks() -> None:
    pods = [
        build_spark_pod("pi-0-exec-2", started=12, ended=20, exit_code=137, reason="OOMKilled"),
        build_spark_pod("pi-0-exec-1", started=10),
        build_spark_pod("pi-0-exec-3", started=None),
    ]
    timeline = build_timeline(build_application(*STARTED), at(25), all_pods=pods)
    assert [replace(span, selector=None, uid="") for span in timeline.executors] == [
        PodSpan("pi-0-exec-1", ExecutorState.RUNNING, at(10)),
        PodSpan("pi-0-exec-2", ExecutorState.FAILED, at(12), at(20), "exit code 137 (OOMKilled)"),
        PodSpan("pi-0-exec-3", ExecutorState.PENDING),
    ]
    assert timeline.counts == ((at(10), 1), (at(12), 2), (at(20), 1))
    assert timeline.marks == (Mark(at(20), MarkKind.EXECUTOR_FAILED, "pi-0-exec-2: exit code 137 (OOMKilled)"),)


def test_events_describe_executors_whose_pods_were_deleted() -> None:
    events = [
        build_event("Killing", 29, pod="pi-0-exec-1"),
        build_event("Started", 10, pod="pi-0-exec-1"),
        build_event("Started", 11, pod="pi-0-exec-2"),
        build_event("Started", 10, pod="pi-0-driver"),
        build_event("Started", 10, pod="tau-0-exec-1"),
    ]
    document = build_application(*STARTED, ("Succeeded", 30), ("ResourceReleased", 32))
    timeline = build_timeline(document, at(900), all_pods=[], events=events)
    assert timeline.executors == (
        PodSpan("pi-0-exec-1", ExecutorState.ENDED, at(10), at(29)),
        PodSpan("pi-0-exec-2", ExecutorState.ENDED, at(11), at(30)),
    ), "an executor without an end ends with its driver"
    assert timeline.counts == ((at(10), 1), (at(11), 2), (at(29), 1), (at(30), 0))


def test_event_that_is_no_start_or_end_shows_only_that_the_executor_existed() -> None:
    events = [build_event("Pulled", 8, pod="pi-0-exec-1")]
    timeline = build_timeline(build_application(*STARTED), at(20), all_pods=[], events=events)
    assert timeline.executors == (PodSpan("pi-0-exec-1", ExecutorState.UNKNOWN),)
    assert timeline.counts == ()


def test_deleted_executors_are_found_by_the_prefix_of_the_configuration_or_of_present_executors() -> None:
    events = [build_event("Started", 9, pod=f"{prefix}-exec-1") for prefix in ("fixed", "drawn-12ab", "other")]
    document = build_application(*STARTED, conf={"spark.kubernetes.executor.podNamePrefix": "fixed"})
    pods = [build_spark_pod("drawn-12ab-exec-2")]
    executors = build_timeline(document, at(20), all_pods=pods, events=events).executors
    assert {executor.name for executor in executors} == {"fixed-exec-1", "drawn-12ab-exec-1", "drawn-12ab-exec-2"}


def test_executors_of_an_earlier_attempt_end_with_its_driver() -> None:
    events = [build_event("Started", 10, pod="pi-0-exec-1"), build_event("Started", 46, pod="pi-1-exec-1")]
    document = build_application(*STARTED, ("Failed", 30), *RESTARTED, attempt=1)
    first, second = build_timeline(document, at(50), all_pods=[], events=events).executors
    assert (first.state, first.end) == (ExecutorState.ENDED, at(30))
    assert (second.state, second.end) == (ExecutorState.UNKNOWN, None)


def test_kubeflow_application_has_times_from_status_and_driver_pod() -> None:
    driver = build_spark_pod(
        "pi-driver", role="driver", application_id="spark-abc", label=KUBEFLOW_LABEL, started=9, ended=60
    )
    timeline = build_timeline(build_kubeflow("COMPLETED"), at(90), all_pods=[driver])
    assert list_states(timeline, 0) == [
        ("NEW", at(0), at(1)),
        ("SUBMITTED", at(1), at(9)),
        ("RUNNING", at(9), at(60)),
        ("COMPLETED", at(60), at(60)),
    ]
    assert timeline.marks == (Mark(at(60), MarkKind.SUCCEEDED, "COMPLETED"),)


def test_running_kubeflow_application_without_driver_pod_shows_its_state() -> None:
    timeline = build_timeline(build_kubeflow("RUNNING"), at(90))
    assert list_states(timeline, 0)[-1] == ("RUNNING", None, None)


def test_later_attempt_of_kubeflow_does_not_begin_with_its_creation() -> None:
    document = build_kubeflow("SUBMITTED", executionAttempts=3)
    timeline = build_timeline(document, at(90))
    assert (timeline.attempts[0].number, list_states(timeline, 0)) == (3, [("SUBMITTED", at(1), None)])


def test_kubeflow_application_that_could_not_be_submitted_never_ran() -> None:
    document = build_kubeflow("FAILED", "failed to run spark-submit: no", terminationTime=None)
    assert [state for state, _, _ in list_states(build_timeline(document, at(90)), 0)] == ["NEW", "FAILED"]


def test_executors_of_kubeflow_have_times_from_events() -> None:
    states = {"pi-abc-exec-1": "COMPLETED", "pi-abc-exec-2": "RUNNING"}
    events = [
        build_event("SparkExecutorRunning", 12, message="Executor [pi-abc-exec-1] is running"),
        build_event("SparkExecutorCompleted", 40, message="Executor [pi-abc-exec-1] completed"),
    ]
    timeline = build_timeline(build_kubeflow("RUNNING", executorState=states), at(50), all_pods=None, events=events)
    assert timeline.executors == (
        PodSpan("pi-abc-exec-1", ExecutorState.ENDED, at(12), at(40)),
        PodSpan("pi-abc-exec-2", ExecutorState.RUNNING),
    )


def test_counts_of_a_replaced_executor_do_not_dip_below_zero() -> None:
    spans = [
        PodSpan("a", ExecutorState.ENDED, at(1), at(2)),
        PodSpan("b", ExecutorState.ENDED, at(2), at(3)),
        PodSpan("c", ExecutorState.UNKNOWN, at(2)),
    ]
    assert count_over_time(spans) == ((at(1), 1), (at(2), 1), (at(3), 0))


EXISTS = "failed to submit spark application: driver pod already exist"


@pytest.mark.parametrize(
    ("document", "label", "before", "running", "succeeded"),
    [
        (build_kubeflow("FAILED", EXISTS), KUBEFLOW_LABEL, ["NEW"], "RUNNING", "COMPLETED"),
        (
            build_application(("Submitted", 0), ("SchedulingFailure", 3), ("ResourceReleased", 4)),
            LABEL_APPLICATION_NAME,
            ["Submitted"],
            "RunningHealthy",
            "Succeeded",
        ),
        (
            build_application(("Submitted", 0), ("DriverRequested", 1), ("ResourceReleased", 4)),
            LABEL_APPLICATION_NAME,
            ["Submitted", "DriverRequested"],
            "RunningHealthy",
            "Succeeded",
        ),
    ],
    ids=["Kubeflow", "refused", "cancelled"],
)
def test_driver_pod_decides_the_states_of_an_application_whose_end_was_not_read(
    document: dict[str, Any], label: str, before: list[str], running: str, succeeded: str
) -> None:
    def build(ended: float | None) -> Timeline:
        driver = build_spark_pod(
            "pi-0-driver", role="driver", application_id="pi-0", label=label, started=2, ended=ended
        )
        driver["metadata"]["creationTimestamp"] = at(1).isoformat()
        return build_timeline(document, at(90), all_pods=[driver])

    live, ended = build(None), build(50)
    assert [state.state for state in live.attempts[0].states] == [*before, running]
    assert (live.is_live, live.marks, live.summary.state) == (True, (), running)
    assert live.summary.obstacle == f"reported {'FAILED' if running == 'RUNNING' else 'ResourceReleased'}"
    assert succeeded in [state.state for state in ended.attempts[0].states]
    assert ended.marks == (Mark(at(50), MarkKind.SUCCEEDED, succeeded),)
    assert ended.summary.verdict.outcome is Outcome.SUCCEEDED
