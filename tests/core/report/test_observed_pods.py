"""The pods that a waiting process has seen: what is kept, and when a deleted executor ends."""

from datetime import datetime
from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.progress import ExecutorState
from airflow_provider_spark_operator.core.kubernetes.names import LABEL_APPLICATION_NAME, LABEL_ROLE
from airflow_provider_spark_operator.core.report.observed_pods import MAX_PODS, ObservedPods
from airflow_provider_spark_operator.core.report.timeline import build_timeline
from airflow_provider_spark_operator.core.report.totals import compute_totals
from tests.core.report.documents import at, build_application, build_spark_pod

RUNNING = (("Submitted", 0), ("DriverRequested", 1), ("DriverStarted", 5), ("RunningHealthy", 7))
SUCCEEDED = (*RUNNING, ("Succeeded", 100), ("ResourceReleased", 101))


def add(known: ObservedPods, now: datetime, *found: dict[str, Any], is_complete: bool = True) -> ObservedPods:
    return known.add(found, now, label=LABEL_APPLICATION_NAME, is_complete=is_complete)


def build_large_pod(name: str) -> dict[str, Any]:
    pod = build_spark_pod(name)
    pod["metadata"] |= {"managedFields": [{"fieldsV1": {"f": {}}}], "annotations": {"a": "b"}}
    pod["metadata"]["labels"]["team"] = "sales"
    pod["spec"] |= {"nodeName": "node-1", "volumes": [{"name": "v"}]}
    pod["spec"]["containers"][0] |= {"env": [{"name": "A", "value": "secret"}], "resources": {"requests": {"cpu": "2"}}}
    pod["status"] |= {"podIP": "10.0.0.1"}
    pod["status"]["containerStatuses"][0]["imageID"] = "sha256:1"
    return pod


def test_only_what_a_timeline_needs_is_kept() -> None:
    (kept,) = add(ObservedPods(), at(10), build_large_pod("pi-exec-1")).unpack()
    assert kept["metadata"]["labels"] == {
        LABEL_APPLICATION_NAME: "pi",
        LABEL_ROLE: "executor",
        "spark-app-selector": "pi-0",
    }
    assert set(kept["metadata"]) == {"name", "namespace", "uid", "labels"}
    assert kept["spec"] == {
        "nodeName": "node-1",
        "containers": [{"name": "spark-kubernetes-executor", "resources": {"requests": {"cpu": "2"}}}],
    }
    assert set(kept["status"]) == {"phase", "conditions", "containerStatuses"}
    assert set(kept["status"]["containerStatuses"][0]) == {"name", "ready", "state"}


def test_timeline_of_kept_pods_equals_that_of_the_pods() -> None:
    document = build_application(*SUCCEEDED)
    pods = [
        build_spark_pod("pi-0-driver", role="driver", started=5, ended=100),
        build_spark_pod("pi-exec-1", ended=60, exit_code=137, reason="OOMKilled"),
        build_spark_pod("pi-exec-2", ended=90),
        build_large_pod("pi-exec-3"),
    ]
    kept = add(ObservedPods(), at(100), *pods)
    expected = build_timeline(document, at(200), all_pods=pods)
    assert build_timeline(document, at(200), all_pods=kept.unpack(), absences=kept.absences) == expected


@pytest.mark.parametrize(
    ("states", "missed", "state", "end"),
    [
        (RUNNING, 80, ExecutorState.UNKNOWN, 60),
        (SUCCEEDED, 80, ExecutorState.UNKNOWN, 60),
        (SUCCEEDED, 102, ExecutorState.ENDED, 100),
        ((*RUNNING, ("RunningWithBelowThresholdExecutors", 75)), 80, ExecutorState.UNKNOWN, 75),
        ((*RUNNING, ("RunningWithPartialCapacity", 85)), 80, ExecutorState.UNKNOWN, 60),
    ],
    ids=[
        "the application runs",
        "deleted before the end",
        "deleted with the end",
        "the application lost executors",
        "the application lost others",
    ],
)
def test_deleted_executor_ends_between_two_lists_or_with_the_state_that_shows_it(
    states: tuple[tuple[str, float], ...], missed: float, state: ExecutorState, end: float
) -> None:
    pods = add(ObservedPods(), at(40), build_spark_pod("pi-exec-1"), build_spark_pod("pi-exec-2", started=None))
    pods = add(pods, at(missed))
    pods = add(pods, at(missed + 10))
    timeline = build_timeline(build_application(*states), at(300), all_pods=pods.unpack(), absences=pods.absences)
    first, second = timeline.executors
    assert (first.state, first.end) == (state, at(end))
    assert second.state is ExecutorState.UNKNOWN, "it never ran"
    assert compute_totals(timeline).executors[state] >= 1


def test_deleted_executor_that_started_after_it_was_seen_has_no_negative_duration() -> None:
    """The clocks of nodes differ."""
    pods = add(add(ObservedPods(), at(40), build_spark_pod("pi-exec-1", started=55)), at(60))
    timeline = build_timeline(build_application(*RUNNING), at(300), all_pods=pods.unpack(), absences=pods.absences)
    assert timeline.executors[0].end == timeline.executors[0].begin == at(55)


def test_pods_that_were_read_alone_delete_no_others() -> None:
    pods = add(ObservedPods(), at(10), build_spark_pod("pi-exec-1"))
    pods = add(pods, at(20), build_spark_pod("pi-0-driver", role="driver"), is_complete=False)
    assert [pod["metadata"]["name"] for pod in pods.unpack()] == ["pi-exec-1", "pi-0-driver"]
    assert pods.absences == {}


def test_same_observation_at_another_time_is_equal() -> None:
    first = add(ObservedPods(), at(10), build_spark_pod("pi-exec-1"))
    assert first.is_equal_to(add(first, at(70), build_spark_pod("pi-exec-1")))
    assert not first.is_equal_to(add(first, at(70), build_spark_pod("pi-exec-1", ready=False)))
    assert not first.is_equal_to(add(first, at(70)))


@pytest.mark.parametrize("is_complete", [True, False])
def test_pod_that_is_seen_again_was_not_deleted(is_complete: bool) -> None:
    """The answer to an earlier request can arrive last."""
    executor = build_spark_pod("pi-exec-1")
    pods = add(add(ObservedPods(), at(60), executor), at(61))
    assert list(pods.absences) == ["uid-of-pi-exec-1"]
    pods = add(pods, at(90), executor, is_complete=is_complete)
    assert pods.absences == {}
    timeline = build_timeline(build_application(*SUCCEEDED), at(300), all_pods=pods.unpack(), absences=pods.absences)
    assert (timeline.executors[0].state, timeline.executors[0].end) == (ExecutorState.ENDED, at(100))


def test_executor_that_has_the_name_of_a_deleted_one_runs() -> None:
    """With a fixed `podNamePrefix`, each attempt has executors of the same names."""
    first, second = build_spark_pod("pi-exec-1"), build_spark_pod("pi-exec-1", started=50)
    second["metadata"]["uid"] = "other"
    pods = add(add(ObservedPods(), at(40), first), at(60), second)
    timeline = build_timeline(build_application(*RUNNING), at(300), all_pods=pods.unpack(), absences=pods.absences)
    assert [(span.state, span.begin, span.end) for span in timeline.executors] == [
        (ExecutorState.UNKNOWN, at(10), at(50)),
        (ExecutorState.RUNNING, at(50), None),
    ]


def test_executor_was_last_seen_when_all_pods_were_read() -> None:
    driver = build_spark_pod("pi-0-driver", role="driver")
    pods = add(ObservedPods(), at(40), driver, build_spark_pod("pi-exec-1"))
    pods = add(pods, at(70), driver, is_complete=False)
    pods = add(pods, at(80), driver)
    assert pods.absences["uid-of-pi-exec-1"].seen == at(40)


def test_pod_that_was_only_read_alone_was_seen() -> None:
    pods = add(ObservedPods(), at(10), build_spark_pod("pi-0-driver", role="driver"), is_complete=False)
    assert pods.seen == at(10)


def test_number_of_pods_is_limited_to_the_latest() -> None:
    pods = ObservedPods()
    for start in range(0, MAX_PODS + 100, 550):
        pods = add(pods, at(start), *(build_spark_pod(f"pi-exec-{start + each}") for each in range(550)))
    kept = [pod["metadata"] for pod in pods.unpack()]
    assert (len(kept), kept[-1]["name"]) == (MAX_PODS, "pi-exec-1099")
    assert pods.absences.keys() <= {each["uid"] for each in kept}
    assert len(pods.packed) < 64 * 1024


def test_drivers_are_kept_when_executors_are_too_many() -> None:
    driver = build_spark_pod("pi-0-driver", role="driver")
    pods = add(ObservedPods(), at(5), driver)
    for start in (10, 20):
        pods = add(pods, at(start), driver, *(build_spark_pod(f"pi-exec-{each}") for each in range(MAX_PODS + start)))
        names = [pod["metadata"]["name"] for pod in pods.unpack()]
        assert (len(names), "pi-0-driver" in names, f"pi-exec-{MAX_PODS}" in names) == (MAX_PODS, True, True)


def test_secrets_are_removed_before_texts_are_cut() -> None:
    pod = build_spark_pod("pi-exec-1", ended=20, exit_code=1)
    pod["status"]["containerStatuses"][0]["state"]["terminated"]["message"] = "x" * 995 + "topsecret"
    pods = ObservedPods().add(
        [pod], at(10), label="l", is_complete=True, hide=lambda text: text.replace("topsecret", "***")
    )
    (kept,) = pods.unpack()
    assert kept["status"]["containerStatuses"][0]["state"]["terminated"]["message"] == "x" * 995 + "***"
