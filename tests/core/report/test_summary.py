from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_spark_operator.core.dialects.kubeflow import KubeflowState
from airflow_provider_spark_operator.core.dialects.progress import Phase
from airflow_provider_spark_operator.core.report.executors import get_executor_number
from airflow_provider_spark_operator.core.report.summary import TaskOrigin, summarize
from airflow_provider_spark_operator.core.report.timeline import build_timeline
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.core.verdict.verdict import FailureKind, Outcome
from tests.builders import build_application_document, build_pod
from tests.core.report.documents import (
    at,
    build_annotations,
    build_application,
    build_event,
    build_kubeflow,
    build_spark_pod,
)

RUNNING = (("Submitted", 0), ("DriverRequested", 1), ("DriverStarted", 5), ("DriverReady", 6), ("RunningHealthy", 7))
ENDED = (*RUNNING, ("Failed", 60), ("ResourceReleased", 61))
KUBEFLOW_LABEL = "sparkoperator.k8s.io/app-name"


def test_running_application_lasts_until_now() -> None:
    summary = summarize(build_application(*RUNNING), at(100))
    assert (summary.name, summary.namespace, summary.state) == ("pi", "jobs", "RunningHealthy")
    assert (summary.age, summary.duration, summary.ended) == (timedelta(seconds=100), timedelta(seconds=100), None)
    assert (summary.progress.phase, summary.verdict.outcome, summary.attempts) == (Phase.RUNNING, Outcome.WAITING, 1)
    assert (summary.progress.application_id, summary.progress.driver_name) == ("pi-0", "pi-0-driver")


def test_finished_application_lasts_until_its_driver_ended() -> None:
    summary = summarize(build_application(*ENDED), at(600), [])
    assert (summary.age, summary.duration, summary.ended) == (timedelta(seconds=600), timedelta(seconds=60), at(60))
    assert summary.verdict.failure_kind is FailureKind.INFRASTRUCTURE


def test_application_without_status_is_submitted() -> None:
    summary = summarize(build_application_document(), at(3))
    assert (summary.state, summary.progress.phase, summary.attempts) == ("Submitted", Phase.WAITING, 1)
    assert summary.duration == timedelta(seconds=3)


def test_application_in_a_queue_is_held_until_its_driver_is_requested() -> None:
    waiting, started = build_application(("Submitted", 0)), build_application(*RUNNING)
    for document in (waiting, started):
        document["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team-a"}
    assert [(one.queue, one.is_held) for one in (summarize(waiting, at(3)), summarize(started, at(9)))] == [
        ("team-a", True),
        ("team-a", False),
    ]


def test_application_that_waits_for_its_next_attempt_has_not_ended() -> None:
    document = build_application(*RUNNING, ("Failed", 60), restart={"restartPolicy": "Always"})
    summary = summarize(document, at(100))
    assert (summary.ended, summary.duration) == (None, timedelta(seconds=100))


def test_cancelled_application_lasts_until_its_release() -> None:
    summary = summarize(build_application(*RUNNING, ("ResourceReleased", 20)), at(100))
    assert (summary.ended, summary.duration) == (at(20), timedelta(seconds=20))


def test_only_an_application_that_has_not_ended_is_suspended() -> None:
    running, ended = build_application(*RUNNING, suspend=True), build_application(*ENDED, suspend=True)
    assert [summarize(one, at(600)).is_suspended for one in (running, ended)] == [True, False]


def test_clock_that_is_behind_gives_no_negative_age() -> None:
    assert summarize(build_application(*RUNNING), at(-60)).age == timedelta()


@pytest.mark.parametrize("state", ["Dreaming", "résumé", "RUNNING"])
def test_unknown_state_is_shown_as_it_is(state: str) -> None:
    assert summarize(build_application(("Submitted", 0), (state, 1)), at(2)).state == state
    assert summarize(build_kubeflow(state), at(2)).state == state


def test_task_comes_from_annotations() -> None:
    document = build_application(*RUNNING)
    document["metadata"]["annotations"] = build_annotations()
    assert summarize(document, at(8)).task == TaskOrigin("sales", "load", "manual__1", "", "2")
    document["metadata"]["annotations"] = build_annotations(index="3")
    assert str(summarize(document, at(8)).task) == "sales/load[3]"
    assert summarize(build_application(*RUNNING), at(8)).task is None


def test_running_executors_are_counted_from_pods_of_the_current_attempt() -> None:
    document = build_application(*RUNNING, conf={"spark.executor.instances": "3"})
    pods = [
        build_spark_pod("pi-0-exec-1"),
        build_spark_pod("pi-0-exec-2", started=None),
        build_spark_pod("old-exec-1", application_id="pi-9"),
        build_spark_pod("pi-0-driver", role="driver"),
        {**build_spark_pod("pi-0-exec-3"), "metadata": {"namespace": "other"}},
    ]
    assert str(summarize(document, at(9), pods).executors) == "1/3"


@pytest.mark.parametrize(
    ("metadata", "number"),
    [
        ({"name": "pi-ab-exec-2", "labels": {"spark-exec-id": "7"}}, "7"),
        ({"name": "pi-ab-exec-2"}, "2"),
        ({"name": "spark-s-pi-ab-0-3", "labels": {"spark-exec-id": "EXECID"}}, "3"),
        ({"name": "other"}, "other"),
    ],
)
def test_number_of_an_executor_comes_from_its_label_or_its_name(metadata: dict[str, object], number: str) -> None:
    assert get_executor_number({"metadata": metadata}) == number


def test_executors_are_unknown_if_only_pods_could_tell() -> None:
    assert str(summarize(build_application(*RUNNING), at(9)).executors) == "?/2"
    assert str(summarize(build_application(*ENDED), at(90)).executors) == "0/2"


def test_executors_of_kubeflow_are_counted_from_the_status() -> None:
    states = {"pi-exec-1": "RUNNING", "pi-exec-2": "PENDING", "pi-exec-3": "COMPLETED"}
    document = build_kubeflow("RUNNING", executorState=states)
    assert str(summarize(document, at(9)).executors) == "1/2"
    pods = [build_spark_pod(name, application_id="spark-abc", label=KUBEFLOW_LABEL) for name in ("a", "b")]
    assert str(summarize(document, at(9), pods).executors) == "2/2"


def test_failed_application_of_kubeflow_has_duration_and_failure_kind() -> None:
    document = build_kubeflow("FAILED", "driver container failed with ExitCode: 1, Reason: Error")
    summary = summarize(document, at(300))
    assert summary.duration == timedelta(seconds=60)
    assert summary.verdict.failure_kind is FailureKind.APPLICATION


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=12)
    | st.sampled_from(
        ["Failed", "RUNNING", "FAILED", "ScheduledToRestart", "2026-01-01T00:00:00Z", "0001-01-01", "9" * 5000]
    )
    | st.sampled_from(["9999-12-31T23:59:59-23:59"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
STATES = st.sampled_from([*ApplicationState, *KubeflowState, "Dreaming"])
TIMES = st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat) | JSON
RECORD = st.fixed_dictionaries(
    {}, optional={"currentStateSummary": STATES | JSON, "lastTransitionTime": TIMES, "message": JSON, "reason": JSON}
)
HISTORY = st.dictionaries(st.integers(0, 20).map(str) | st.text(max_size=3), RECORD | JSON, max_size=6)
ATTEMPT = st.fixed_dictionaries({}, optional={"attemptInfo": st.fixed_dictionaries({"id": st.integers(0, 9) | JSON})})
APACHE_STATUS = st.fixed_dictionaries(
    {},
    optional={
        "currentState": RECORD | JSON,
        "stateTransitionHistory": HISTORY | JSON,
        "currentAttemptSummary": ATTEMPT | JSON,
        "previousAttemptSummary": st.fixed_dictionaries({"stateTransitionHistory": HISTORY | JSON}) | JSON,
    },
)
KUBEFLOW_STATUS = st.fixed_dictionaries(
    {},
    optional={
        "applicationState": st.fixed_dictionaries({"state": STATES | JSON, "errorMessage": JSON}) | JSON,
        "lastSubmissionAttemptTime": TIMES,
        "terminationTime": TIMES,
        "executionAttempts": st.integers(0, 9) | JSON,
        "executorState": st.dictionaries(st.text(max_size=5), st.sampled_from(["RUNNING", "LOST"]) | JSON) | JSON,
        "sparkApplicationId": JSON,
    },
)
STATUS = APACHE_STATUS | KUBEFLOW_STATUS | JSON
SPEC = st.dictionaries(
    st.sampled_from(
        ["sparkConf", "executor", "restartPolicy", "applicationTolerations", "suspend", "dynamicAllocation", "driver"]
    ),
    JSON | st.dictionaries(st.sampled_from(["spark.executor.instances", "spark.app.id", "instances"]), JSON),
    max_size=4,
)


@given(
    api_version=st.sampled_from(["spark.apache.org/v1", "sparkoperator.k8s.io/v1beta2", "example.com/v9"]) | JSON,
    metadata=st.dictionaries(
        st.sampled_from(["name", "namespace", "annotations", "creationTimestamp", "deletionTimestamp", "labels"]), JSON
    )
    | JSON,
    spec=SPEC | JSON,
    status=STATUS,
    noise=st.lists(JSON.filter(lambda value: isinstance(value, dict)), max_size=2),
)
def test_any_document_has_a_summary_and_a_timeline(
    api_version: Any, metadata: Any, spec: Any, status: Any, noise: list[Any]
) -> None:
    document = {"apiVersion": api_version, "metadata": metadata, "spec": spec, "status": status}
    pods = [build_spark_pod("pi-0-exec-1"), *noise]
    events = [build_event("Started", 5, pod="pi-0-exec-7"), *noise]
    summary = summarize(document, at(0), pods)
    timeline = build_timeline(document, at(0), all_pods=pods, events=events)
    assert timeline.summary == summary
    assert summary.age is None or summary.age >= timedelta()
    assert timeline.begin is None or timeline.begin <= timeline.end
    assert all(count >= 0 for _, count in timeline.counts)
    for attempt in timeline.attempts:
        assert all(each.end is None or each.begin is None or each.begin <= each.end for each in attempt.states)


@pytest.mark.parametrize(
    ("states", "age", "condition", "obstacle"),
    [
        ((), 59, None, ""),
        ((), 60, None, "no operator"),
        ((("Submitted", 0),), 90, None, ""),
        ((("DriverRequested", 0),), 1, {"type": "PodScheduled", "status": "False"}, "Unschedulable"),
        (RUNNING, 90, {"type": "PodScheduled", "status": "False"}, ""),
    ],
    ids=["new", "no status", "no driver", "driver", "running"],
)
def test_obstacle_of_the_latest_driver_is_named(
    states: Any, age: int, condition: dict[str, str] | None, obstacle: str
) -> None:
    resource = build_application(*states) if states else build_application_document()
    drivers = []
    if condition is not None:
        drivers = [build_pod("Pending", conditions=[condition]), build_pod("Pending")]
        for pod, created in zip(drivers, ("2026-01-01T12:00:02Z", "2026-01-01T12:00:01Z"), strict=True):
            labels = {"spark.operator/spark-app-name": "pi", "spark-role": "driver"}
            pod["metadata"] |= {"labels": labels, "namespace": "jobs", "creationTimestamp": created}
    assert summarize(resource, at(age), drivers).obstacle == obstacle


def test_lost_controller_is_the_obstacle_of_a_running_application() -> None:
    assert summarize(build_application(*RUNNING), at(90), controller_lost=True).obstacle == "no controller"
