"""The pods that a waiting process has seen: what is kept, and when a deleted executor ends."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.progress import ExecutorState
from airflow_provider_spark_operator.core.kubernetes.names import LABEL_APPLICATION_NAME, LABEL_ROLE
from airflow_provider_spark_operator.core.report.events import find_executor_prefix
from airflow_provider_spark_operator.core.report.executor_log import ExecutorLog
from airflow_provider_spark_operator.core.report.observed_pods import MAX_PODS, ObservedPods
from airflow_provider_spark_operator.core.report.pod_spans import list_unclear_executors
from airflow_provider_spark_operator.core.report.run_record import build_record
from airflow_provider_spark_operator.core.report.timeline import Timeline, build_timeline
from airflow_provider_spark_operator.core.report.totals import compute_totals
from tests.core.report.documents import at, build_application, build_event, build_spark_pod

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


def test_pods_are_packed_again_only_if_a_version_has_changed_or_not_all_were_read() -> None:
    pod = build_spark_pod("pi-exec-1")
    pod["metadata"]["resourceVersion"] = "1"
    first = add(ObservedPods(), at(10), pod)
    second = add(first, at(20), pod)
    assert second.packed is first.packed
    assert (second.seen, second.is_equal_to(first)) == (at(20), True)
    newer = build_spark_pod("pi-exec-1", ended=25)
    newer["metadata"]["resourceVersion"] = "2"
    partial = add(second, at(30), newer, is_complete=False)
    assert not partial.is_equal_to(second)
    assert add(partial, at(40), newer).is_equal_to(partial)
    assert add(add(partial, at(40), newer), at(50), pod).is_equal_to(second)


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


DYNAMIC = {"spark.dynamicAllocation.enabled": "true"}


def follow(*, missed: float = 80, conf: Any = None, events: Any = (), cores: str = "1") -> Timeline:
    """Return the timeline of an executor that was seen after 40 s, and was deleted at `missed`."""
    pod = build_spark_pod("pi-0-exec-1")
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cores, "memory": "1Gi"}}
    pods = add(add(ObservedPods(), at(40), pod), at(missed))
    document = build_application(*SUCCEEDED, conf=conf)
    return build_timeline(document, at(300), all_pods=pods.unpack(), absences=pods.absences, events=events)


@pytest.mark.parametrize(
    ("reason", "second", "state", "end"),
    [
        ("Killing", 45, ExecutorState.ENDED, 45),
        ("Killing", 36, ExecutorState.ENDED, 36),
        ("Evicted", 45, ExecutorState.FAILED, 45),
        ("Killing", 90, ExecutorState.UNKNOWN, 60),
        ("Killing", 20, ExecutorState.UNKNOWN, 60),
        ("Pulled", 45, ExecutorState.UNKNOWN, 60),
    ],
)
def test_event_from_the_time_between_two_lists_shows_the_end(
    reason: str, second: float, state: ExecutorState, end: float
) -> None:
    (span,) = follow(events=[build_event(reason, second, pod="pi-0-exec-1", message="low memory")]).executors
    assert (span.state, span.end, bool(span.doubt)) == (state, at(end), state is ExecutorState.UNKNOWN)
    assert span.detail == ("Evicted: low memory" if reason == "Evicted" else "")


def test_event_of_another_pod_of_the_same_name_shows_no_end() -> None:
    event = build_event("Killing", 45, pod="pi-0-exec-1")
    event["involvedObject"]["uid"] = "another"
    assert follow(events=[event]).executors[0].state is ExecutorState.UNKNOWN


def test_last_of_several_ends_counts() -> None:
    """The driver loses an executor before the kubelet stops its container."""
    ends = [
        build_event(reason, end, pod="pi-0-exec-1") for reason, end in (("Killing", 50), ("SparkExecutorFailed", 45))
    ]
    (span,) = follow(events=ends).executors
    assert (span.state, span.end) == (ExecutorState.FAILED, at(50))


def test_removed_executor_ends_between_its_last_list_and_the_end_of_the_driver() -> None:
    """Without dynamic allocation, it ends with the driver."""
    (span,) = follow(missed=101, conf=DYNAMIC).executors
    assert (span.state, span.end, span.doubt) == (ExecutorState.UNKNOWN, at(70), timedelta(seconds=30))
    (fixed,) = follow(missed=101).executors
    assert (fixed.state, fixed.end, fixed.doubt) == (ExecutorState.ENDED, at(100), timedelta())


def test_deleted_executor_that_was_only_seen_before_its_container_started_has_an_inexact_end() -> None:
    """It counts from its assignment to a node."""
    pod = build_spark_pod("pi-0-exec-1", started=None)
    assigned = {"type": "PodScheduled", "status": "True", "lastTransitionTime": at(38).isoformat()}
    pod["status"]["conditions"].append(assigned)
    pods = add(add(ObservedPods(), at(40), pod), at(101))
    document = build_application(*SUCCEEDED, conf=DYNAMIC)
    (span,) = build_timeline(document, at(300), all_pods=pods.unpack(), absences=pods.absences).executors
    assert (span.begin, span.end, span.doubt) == (None, at(70), timedelta(seconds=30))


def test_amounts_that_can_be_wrong_by_more_than_two_percent_are_the_least_possible() -> None:
    record = build_record(follow())
    assert record["totals"]["requested"]["executor"]["coreHours"] == round(30 / 3600, 6), "until it was seen last"
    why = "the ends of 1 of 1 pods are not exact; the amounts are the least possible"
    assert {"what": "totals.requested.executor", "why": why} in record["missing"]
    exact = build_record(follow(missed=41))
    assert exact["totals"]["requested"]["executor"]["coreHours"] == round(30.5 / 3600, 6)
    assert "missing" not in exact


def build_log(*ends: float) -> list[dict[str, Any]]:
    """Return the Events of a log with executors from 2 on, which registered after 45 s."""
    log = ExecutorLog()
    for number, end in enumerate(ends, start=2):
        log.add(f"Registered executor x with ID {number}, ResourceProfileId 0", at(45))
        log.add(f"Executor lost: {number} (epoch 0)", at(end))
    return log.build_events("pi-0", at(100))


def test_executor_that_no_list_contained_has_the_times_of_its_log_and_its_events() -> None:
    names = [build_event("Scheduled", 42, pod="pi-0-exec-2", message="Successfully assigned jobs/pi-0-exec-2 to n7")]
    names += [build_event("Started", 43, pod="pi-0-exec-2"), *build_log(60)]
    timeline = follow(missed=41, events=names)
    first, second = timeline.executors
    assert (second.scheduled, second.begin, second.ready, second.end) == (at(42), at(43), at(45), at(60))
    assert (second.node, second.selector) == ("n7", first.selector)
    record = build_record(timeline)
    assert record["totals"]["requested"]["executor"]["coreHours"] == round(48.5 / 3600, 6)
    assert "missing" not in record


def test_executor_that_only_the_log_shows_counts_since_its_registration() -> None:
    record = build_record(follow(missed=41, events=build_log(60)))
    why = "no Event shows the start of 1 executors; they count since their registration"
    assert record["missing"] == [{"what": "executors", "why": why}]


@pytest.mark.parametrize("conf", [{}, DYNAMIC])
def test_executor_that_no_list_contained_does_not_end_with_the_driver(conf: dict[str, Any]) -> None:
    events = [build_event("Started", 45, pod="pi-0-exec-2")]
    assert [span.end for span in follow(missed=41, conf=conf, events=events).executors] == [at(40.5), None]
    assert compute_totals(follow(missed=41, conf=conf, events=events)).usage["executor"].uncounted == 1


def test_unlisted_executor_without_dynamic_allocation_ends_with_the_driver() -> None:
    """The command `timeline` reads Events, and does not follow the pods."""
    events = [build_event("Started", 45, pod="pi-0-exec-2")]
    ends = {
        enabled: build_timeline(build_application(*SUCCEEDED, conf=conf), at(300), events=events).executors[0].end
        for enabled, conf in ((False, {}), (True, DYNAMIC))
    }
    assert ends == {False: at(100), True: None}


def test_executors_to_ask_for_are_the_missing_the_inexact_and_possibly_later_ones() -> None:
    events = [
        *build_log(60, 60),
        build_event("Scheduled", 42, pod="pi-0-exec-3"),
        build_event("Killing", 9, pod="-exec-x"),
    ]
    spans = [span for span in follow(events=events).executors if span.name != "pi-0-exec-2"]
    assert [*list_unclear_executors(spans, may_have_later=True)] == ["pi-0-exec-1", "pi-0-exec-4", "pi-0-exec-2"]
    assert [*list_unclear_executors(spans, may_have_later=False)] == ["pi-0-exec-1", "pi-0-exec-2"]


def test_names_of_executors_begin_as_those_of_the_attempt_as_configured_or_with_its_id() -> None:
    fixed = build_application(*RUNNING, conf={"spark.kubernetes.executor.podNamePrefix": "fixed"})
    pods = [build_spark_pod("pi-0-driver", role="driver"), build_spark_pod("drawn-exec-1", application_id="pi-0")]
    assert find_executor_prefix(fixed, "pi-0", pods) == "drawn"
    assert find_executor_prefix(fixed, "pi-1", pods) == "fixed"
    assert find_executor_prefix(build_application(*RUNNING), "pi-1", pods) == "pi-1"
