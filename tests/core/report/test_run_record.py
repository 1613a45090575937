"""The record of a run: its content, its schema, its size, and what it hides."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.dialects.progress import ExecutorState
from airflow_provider_spark_operator.core.report.attempts import Attempt, StateSpan, add_drivers
from airflow_provider_spark_operator.core.report.pod_spans import PodSpan
from airflow_provider_spark_operator.core.report.record_values import cut_text, format_time, measure
from airflow_provider_spark_operator.core.report.resources import Resources
from airflow_provider_spark_operator.core.report.run_record import LARGEST, MAX_COUNTS, MAX_EXECUTORS, build_record
from airflow_provider_spark_operator.core.report.summary import TaskOrigin
from airflow_provider_spark_operator.core.report.timeline import Mark, MarkKind, Timeline, build_timeline
from airflow_provider_spark_operator.core.report.totals import compute_totals
from airflow_provider_spark_operator.core.report.waits import Wait, WaitKind
from airflow_provider_spark_operator.core.states.states import FAILURE, RUNNING, STARTING
from airflow_provider_spark_operator.core.verdict.verdict import FailureKind, Outcome, Verdict
from tests.core.report.documents import (
    at,
    build_annotations,
    build_application,
    build_event,
    build_kubeflow,
    build_spark_pod,
)
from tests.core.report.record_schema import SCHEMA, VALIDATOR

STARTED = (("Submitted", 0), ("DriverRequested", 1), ("DriverStarted", 5), ("RunningHealthy", 7))
SUCCEEDED = (*STARTED, ("Succeeded", 3607), ("ResourceReleased", 3608))


def check(timeline: Timeline, **known: Any) -> dict[str, Any]:
    """Return the record after a round trip through JSON, if it is valid and small enough."""
    written = json.dumps(build_record(timeline, **known))
    assert len(written) <= LARGEST
    record: dict[str, Any] = json.loads(written)
    VALIDATOR.validate(record)
    return record


def build_sized_pod(name: str, *, cores: str, memory: str, **modifiers: Any) -> dict[str, Any]:
    """Return a pod that requests cores and memory, and was assigned to a node two seconds before its start."""
    pod = build_spark_pod(name, **modifiers)
    pod["spec"]["nodeName"] = "node-1"
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cores, "memory": memory}}
    started = modifiers.get("started", 10)
    pod["metadata"]["creationTimestamp"] = at(started - 3).isoformat()
    pod["status"]["conditions"].append(
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": at(started - 2).isoformat()}
    )
    return pod


def test_schema_is_valid_and_describes_each_member() -> None:
    Draft202012Validator.check_schema(SCHEMA)

    def list_members(schema: Any) -> list[str]:
        if isinstance(schema, list):
            return [name for each in schema for name in list_members(each)]
        if not isinstance(schema, dict):
            return []
        own = schema.get("properties", {})
        bare = [name for name, each in own.items() if not {"description", "$ref", "const"} & set(each)]
        return bare + [name for each in schema.values() for name in list_members(each)]

    assert list_members(SCHEMA) == []


def test_core_hours_of_two_attempts_with_a_failed_executor_equal_those_by_hand() -> None:
    document = build_application(
        *STARTED,
        ("Failed", 1807),
        ("ScheduledToRestart", 1808),
        ("DriverRequested", 1810),
        ("DriverStarted", 1820),
        ("RunningHealthy", 1825),
        ("Succeeded", 5420),
        ("ResourceReleased", 5421),
        attempt=1,
    )
    driver = {"role": "driver", "cores": "1", "memory": "1408Mi"}
    executor = {"cores": "4", "memory": "9Gi"}
    pods = [
        build_sized_pod("d0", application_id="pi-0", started=5, ended=1805, exit_code=1, reason="Error", **driver),
        build_sized_pod("d1", application_id="pi-1", started=1820, ended=5420, **driver),
        build_sized_pod("a-exec-1", application_id="pi-0", started=10, ended=1802, exit_code=143, **executor),
        build_sized_pod("b-exec-1", started=1832, ended=3630, exit_code=137, reason="OOMKilled", **executor),
        build_sized_pod("b-exec-2", application_id="pi-1", started=1832, ended=5418, cores="2", memory="4608Mi"),
    ]
    record = check(build_timeline(document, at(9000), all_pods=pods))
    # Each pod occupies its node from two seconds before its start.
    drivers = (1802 + 3602) / 3600
    assert record["totals"]["requested"] == {
        "driver": {"coreHours": round(drivers, 6), "gibHours": round(drivers * 1.375, 6), "pods": 2}
        | {"waitingShare": round(4 / (1802 + 3602), 4)},
        "executor": {
            "coreHours": round((4 * 1794 + 4 * 1800 + 2 * 3588) / 3600, 6),
            "gibHours": round((9 * 1794 + 9 * 1800 + 4.5 * 3588) / 3600, 6),
            "pods": 3,
            "waitingShare": round((4 + 4 + 2) * 2 / (4 * 1794 + 4 * 1800 + 2 * 3588), 4),
        },
    }
    assert record["totals"]["executors"] == {"Ended": 2, "Failed": 1}
    assert record["totals"]["seconds"] == 5420, "until the end, not until the release"
    assert record["totals"]["waitingSeconds"] == 7 + 17, "until each attempt ran"
    assert record["totals"]["waitingShare"] == round(24 / 5420, 4)
    assert [attempt["driver"]["name"] for attempt in record["attempts"]] == ["d0", "d1"]
    assert record["executors"][1] == {
        "name": "b-exec-1",
        "state": "Failed",
        "scheduled": format_time(at(1830)),
        "start": format_time(at(1832)),
        "end": format_time(at(3630)),
        "exit": "exit code 137 (OOMKilled)",
        "node": "node-1",
        "cores": 4,
        "memoryGiB": 9,
    }
    assert "cores" not in record["executors"][2], "the requests of the latest executor are those of the role"
    assert record["requests"]["executor"] == {"cores": 2, "memoryGiB": 4.5, "source": "pod"}
    assert "missing" not in record


def test_record_without_pods_counts_the_driver_by_its_states_and_the_specification() -> None:
    document = build_application(*SUCCEEDED)
    document["spec"]["sparkConf"] = {"spark.driver.cores": "2", "spark.driver.memory": "4g"}
    record = check(build_timeline(document, at(9000), all_pods=[]))
    assert record["requests"]["driver"] == {"cores": 2, "memoryGiB": 4.399414, "source": "specification"}
    assert record["totals"]["requested"] == {
        "driver": {"coreHours": round(2 * 3602 / 3600, 6), "gibHours": round(4505 / 1024 * 3602 / 3600, 6), "pods": 1}
    }
    assert record["missing"] == [
        {"what": "executors", "why": "no pod or Event shows the executors, whose pods Spark deletes at the end"}
    ]
    assert record["attempts"][0]["driver"] == {
        "name": record["attempts"][0]["driver"]["name"],
        "state": "Ended",
        "start": format_time(at(5)),
        "end": format_time(at(3607)),
    }


def test_record_names_what_could_not_be_read_and_does_not_count_it_as_zero() -> None:
    timeline = build_timeline(build_application(*STARTED), at(60))
    record = check(timeline, unread={"pods": "missing permission: list pods", "events": "timeout"})
    assert record["missing"] == [
        {"what": "pods", "why": "missing permission: list pods"},
        {"what": "events", "why": "timeout"},
    ]
    assert set(record["totals"]["requested"]) == {"driver"}
    assert "executors" not in record


def test_executor_that_never_started_waited_all_the_time() -> None:
    pod = build_sized_pod("pi-exec-1", cores="1", memory="1Gi", started=10, ended=40)
    pod["status"]["containerStatuses"][0]["state"] = {"waiting": {"reason": "ImagePullBackOff"}}
    pod["status"]["phase"] = "Pending"
    record = check(build_timeline(build_application(*STARTED), at(60), all_pods=[pod]))
    assert record["totals"]["requested"]["executor"]["waitingShare"] == 1


def test_live_run_without_executors_requested_nothing_for_them_yet() -> None:
    record = check(build_timeline(build_application(*STARTED), at(60), all_pods=[]))
    assert (record["live"], record["end"]) == (True, format_time(at(60)))
    assert record["totals"]["requested"]["executor"] == {"coreHours": 0, "gibHours": 0, "pods": 0}
    assert record["attempts"][0]["driver"]["state"] == "Running"
    assert "end" not in record["attempts"][0]["driver"]
    assert record["totals"]["waitingSeconds"] == 7


def test_executor_without_a_known_end_and_gaps_in_their_numbers_are_missing() -> None:
    events = [build_event("Started", 20, pod="pi-0-exec-2")]
    pods = [build_spark_pod("pi-0-exec-4", started=10)]
    timeline = build_timeline(build_application(*STARTED), at(60), all_pods=pods, events=events)
    record = check(timeline)
    assert record["missing"] == [
        {"what": "executors", "why": "no pod or Event shows 2 earlier executors, whose pods were deleted"},
        {"what": "totals.requested.executor", "why": "the start, the end or the requests of 1 of 2 pods are unknown"},
    ]


def test_attempts_that_the_status_no_longer_contains_are_missing() -> None:
    record = check(build_timeline(build_application(*STARTED, attempt=3), at(60), all_pods=[]))
    assert {"what": "attempts", "why": "the status no longer contains attempt 1-3"} in record["missing"]


def test_requests_of_an_invalid_specification_are_missing() -> None:
    document = build_application(*STARTED)
    document["spec"]["sparkConf"] = {"spark.executor.memory": "much"}
    record = check(build_timeline(document, at(60), all_pods=[]))
    assert [each["what"] for each in record["missing"]] == ["requests.executor"]


def test_record_names_the_task_the_verdict_and_the_cause() -> None:
    document = build_application(*STARTED, ("Failed", 30), ("ResourceReleased", 31))
    document["metadata"]["annotations"] = build_annotations(index="2")
    timeline = build_timeline(document, at(60), all_pods=[])
    record = check(timeline, cause="no such table; password=hunter2", waiting="nothing")
    assert record["application"]["task"] == {
        "dagId": "sales",
        "taskId": "load",
        "runId": "manual__1",
        "mapIndex": "2",
        "tryNumber": "2",
    }
    assert record["verdict"]["outcome"] == "Failed"
    assert record["verdict"]["cause"] == "no such table; password=(redacted)"
    assert record["waiting"] == "nothing"


def test_cause_defaults_to_the_one_in_the_recorded_lines() -> None:
    message = (
        "The driver failed\nLast lines of the driver's log:\n"
        '  Exception in thread "main" java.lang.IllegalStateException: no such table'
    )
    document = build_application(*STARTED, ("Failed", 30), ("ResourceReleased", 31))
    document["status"]["stateTransitionHistory"]["4"]["message"] = message
    ended = {"name": "spark-kubernetes-driver", "state": {"terminated": {"exitCode": 1, "reason": "Error"}}}
    document["status"]["stateTransitionHistory"]["4"]["lastObservedDriverStatus"] = {
        "phase": "Failed",
        "containerStatuses": [ended],
    }
    record = check(build_timeline(document, at(60), all_pods=[]))
    assert record["verdict"]["cause"] == "java.lang.IllegalStateException: no such table"


def test_record_of_kubeflow_is_valid() -> None:
    document = build_kubeflow("COMPLETED")
    document["spec"] = {
        "type": "Python",
        "driver": {"cores": 1, "memory": "2g"},
        "executor": {"instances": 2, "cores": 3, "coreRequest": "1500m", "memory": "4g", "memoryOverhead": "1g"},
    }
    record = check(build_timeline(document, at(90), all_pods=[]))
    assert record["application"]["apiVersion"] == "sparkoperator.k8s.io/v1beta2"
    assert record["requests"] == {
        "driver": {"cores": 1, "memoryGiB": 2.799805, "source": "specification"},
        "executor": {"cores": 1.5, "memoryGiB": 5, "source": "specification"},
    }


def test_driver_pod_without_an_end_ends_with_its_attempt() -> None:
    document = build_application(
        *STARTED, ("Failed", 30), ("ScheduledToRestart", 31), ("DriverRequested", 40), attempt=1
    )
    pods = [
        build_sized_pod("d0", role="driver", cores="1", memory="1Gi", started=5),
        build_sized_pod("d1", role="driver", cores="1", memory="1Gi", started=45),
    ]
    pods[1]["status"]["containerStatuses"] = []
    first, second = (
        attempt["driver"] for attempt in check(build_timeline(document, at(60), all_pods=pods))["attempts"]
    )
    assert (first["state"], first["end"]) == ("Failed", format_time(at(30)))
    assert (second["state"], "end" in second) == ("Pending", False)


def test_driver_pod_of_a_success_without_an_end_is_not_failed() -> None:
    pods = [build_spark_pod("d0", role="driver", started=5)]
    record = check(build_timeline(build_application(*SUCCEEDED), at(9000), all_pods=pods))
    assert (record["attempts"][0]["driver"]["state"], record["attempts"][0]["driver"]["end"]) == (
        "Ended",
        format_time(at(3607)),
    )


def test_driver_pod_from_before_the_recorded_attempt_belongs_to_it() -> None:
    """Kubeflow's operator records an attempt after it has created the driver."""
    pod = build_spark_pod("d0", role="driver", started=5)
    pod["metadata"]["creationTimestamp"] = at(-5).isoformat()
    document = build_application(*STARTED)
    document["metadata"]["creationTimestamp"] = at(-10).isoformat()
    record = check(build_timeline(document, at(60), all_pods=[pod]))
    assert record["attempts"][0]["driver"]["name"] == "d0"


def test_ended_run_does_not_count_the_last_state_and_pods_without_a_node() -> None:
    pods = [build_spark_pod("pi-0-exec-1", started=None), build_spark_pod("other", started=10, ended=20)]
    record = check(build_timeline(build_application(("Submitted", 0), ("Weird", 1)), at(60), all_pods=pods))
    assert record["totals"]["requested"]["executor"]["pods"] == 1
    assert record["totals"]["executors"] == {"Ended": 1, "Pending": 1}
    assert "missing" not in record


@pytest.mark.parametrize(
    ("spec", "memory"),
    [
        ({"mainClass": "org.apache.spark.deploy.RRunner"}, 1.399414),
        ({"sparkRFiles": "local:///a.R"}, 1.399414),
        ({"mainClass": "org.apache.spark.deploy.PythonRunner"}, 1.399414),
        ({"pyFiles": "local:///a.py", "jars": "local:///a.jar", "mainClass": "A"}, 1.375),
    ],
)
def test_requests_of_the_specification_depend_on_the_language(spec: dict[str, str], memory: float) -> None:
    document = build_application(*STARTED)
    document["spec"] = {"sparkConf": {"spark.driver.memory": "1g", "spark.executor.cores": 2}, **spec}
    record = check(build_timeline(document, at(60), all_pods=[]))
    assert record["requests"]["driver"] == {"cores": 1, "memoryGiB": memory, "source": "specification"}
    assert record["requests"]["executor"]["cores"] == 2


def test_record_contains_waits_and_leaves_states_without_a_time_out_of_the_totals() -> None:
    document = build_application(*STARTED)
    document["status"]["stateTransitionHistory"]["0"]["lastTransitionTime"] = None
    events = [build_event("FailedScheduling", 2, pod="pi-0-exec-1", message="0/3 nodes are available")]
    pods = [build_sized_pod("pi-0-exec-1", cores="1", memory="1Gi", started=22)]
    record = check(build_timeline(document, at(60), all_pods=pods, events=events))
    assert record["waits"] == [
        {
            "kind": "node",
            "role": "executor",
            "begin": format_time(at(2)),
            "end": format_time(at(20)),
            "pods": 1,
            "text": "0/3 nodes are available",
        }
    ]
    assert record["totals"]["waitingSeconds"] == 6


def test_driver_pod_without_a_recorded_attempt_is_left_out() -> None:
    document = build_application(*STARTED)
    assert add_drivers((), document, read_progress(document), [build_spark_pod("d0", role="driver")]) == ()


# Longer than any text of the record, in characters with several bytes, with secrets, and with control characters.
TEXTS = st.one_of(
    st.text(max_size=50),
    st.sampled_from(["", "é" * 1600, "🙂" * 1600, '"\\' * 1600, "\x1b[31m\x00\ud800" * 300, "a b " * 1100]),
    st.builds(lambda before, name: f"{before} {name}=hunter2-hunter2 ", st.text(max_size=20), st.just("db.password")),
)
TIMES = st.one_of(st.none(), st.integers(0, 10**9).map(at), st.just(datetime.max.replace(tzinfo=at(0).tzinfo)))
SIZES = st.decimals(-(10**40), 10**40, allow_nan=False, allow_infinity=False)
AMOUNTS = st.one_of(st.none(), st.builds(Resources, SIZES, SIZES))
SPANS = st.builds(
    PodSpan,
    name=TEXTS,
    state=st.sampled_from(ExecutorState),
    begin=TIMES,
    end=TIMES,
    detail=TEXTS,
    scheduled=TIMES,
    ready=TIMES,
    node=TEXTS,
    requested=AMOUNTS,
)
STATES = st.builds(
    StateSpan,
    state=TEXTS,
    apache_state=st.one_of(st.sampled_from(sorted(STARTING | RUNNING | FAILURE)), TEXTS),
    begin=TIMES,
    end=TIMES,
    message=TEXTS,
    reason=TEXTS,
)
ATTEMPTS = st.builds(
    Attempt,
    number=st.integers(1, 10**30),
    states=st.lists(STATES, min_size=1, max_size=3).map(tuple),
    stop=st.none(),
    is_over=st.booleans(),
    driver=st.one_of(st.none(), SPANS),
)
VERDICTS = st.builds(
    Verdict,
    outcome=st.sampled_from(Outcome),
    failure_kind=st.one_of(st.none(), st.sampled_from(FailureKind)),
    retry_worthy=st.booleans(),
    reason=TEXTS,
    sentence=TEXTS,
    out_of_memory=st.sampled_from([(), ("driver",), ("driver", "executor")]),
)
WAITS = st.builds(
    Wait,
    kind=st.sampled_from(WaitKind),
    role=st.sampled_from(["application", "driver", "executor"]),
    begin=TIMES.filter(bool),
    end=TIMES,
    text=TEXTS,
    pods=st.frozensets(TEXTS, max_size=3),
)
MARKS = st.builds(Mark, time=TIMES.filter(bool), kind=st.sampled_from(MarkKind), text=TEXTS)


def build_hostile(
    task: TaskOrigin,
    word: str,
    many: int,
    spans: list[PodSpan],
    attempts: list[Attempt],
    lists: Mapping[str, list[Any]],
    requests: Mapping[str, Resources],
    is_live: bool,
) -> Timeline:
    """Return a timeline with `many` times the members of each list."""
    timeline = build_timeline(build_application(*STARTED), at(60))
    progress = replace(timeline.summary.progress, application_id=word, state=word)
    summary = replace(
        timeline.summary, task=task, name=word, namespace=word, api_version=word, state=word, progress=progress
    )
    return replace(
        timeline,
        summary=summary,
        uid=word,
        executors=tuple(spans * many),
        attempts=tuple(replace(attempt, states=attempt.states * (many // 8 + 1)) for attempt in attempts * (many // 8)),
        counts=tuple((at(second), second % 7) for second in range(many)),
        waits=tuple(lists["waits"] * many),
        marks=tuple(lists["marks"] * many),
        requests=requests,
        is_live=is_live,
    )


TIMELINES = st.builds(
    build_hostile,
    task=st.builds(TaskOrigin, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS),
    word=TEXTS,
    many=st.integers(0, 250),
    spans=st.lists(SPANS, max_size=4),
    attempts=st.lists(ATTEMPTS, max_size=2),
    lists=st.fixed_dictionaries({"waits": st.lists(WAITS, max_size=2), "marks": st.lists(MARKS, max_size=2)}),
    requests=st.dictionaries(st.sampled_from(["driver", "executor"]), AMOUNTS.filter(bool)),
    is_live=st.booleans(),
)


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@settings(max_examples=30, deadline=None)
@given(timeline=TIMELINES, verdict=VERDICTS, cause=TEXTS, waiting=TEXTS, why=TEXTS)
def test_any_record_is_valid_has_at_most_32_kib_and_no_secret(
    timeline: Timeline, verdict: Verdict, cause: str, waiting: str, why: str
) -> None:
    unread = dict.fromkeys(("pods", "events", "log"), why)
    record = check(timeline, verdict=verdict, cause=cause, waiting=waiting, unread=unread)
    assert "hunter2" not in json.dumps(record)
    shown = len(record.get("executors", [])) + sum(record.get("otherExecutors", {}).values())
    assert shown == len(timeline.executors)
    assert len(record.get("executorCounts", [])) <= MAX_COUNTS


def test_waiting_that_no_time_can_hold_is_the_longest_time() -> None:
    end = datetime.max.replace(tzinfo=at(0).tzinfo)
    state = StateSpan("DriverRequested", "DriverRequested", at(0), end)
    attempt = Attempt(1, (state,) * 400, None, is_over=True)
    timeline = replace(build_timeline(build_application(*STARTED), at(9)), attempts=(attempt,))
    assert compute_totals(timeline).waiting == timedelta.max


def test_hundred_executors_with_usual_names_are_listed_and_the_others_are_counted() -> None:
    spans = [
        PodSpan(
            f"sales-load-20261127-9f31c2-exec-{number}",
            ExecutorState.FAILED if number == 150 else ExecutorState.ENDED,
            at(number),
            at(900),
            scheduled=at(number - 2),
            node=f"ip-10-0-12-{number}.eu-central-1.compute.internal",
            requested=Resources(Decimal(4), Decimal(9 * 2**30)),
        )
        for number in range(1, 251)
    ]
    timeline = replace(
        build_timeline(build_application(*SUCCEEDED), at(9000), all_pods=[]),
        executors=tuple(spans),
        requests={"executor": spans[0].requested or Resources()},
    )
    record = check(timeline)
    assert len(record["executors"]) == MAX_EXECUTORS
    assert record["executors"][-1]["name"].endswith("-150"), "a failed executor is kept first, in its place"
    assert record["otherExecutors"] == {"Ended": 150}
    assert record["totals"]["executors"] == {"Ended": 249, "Failed": 1}


def test_numbers_of_executors_keep_their_maximum_and_their_end() -> None:
    counts = tuple((at(second), 500 if second == 777 else second % 5) for second in range(1000))
    timeline = replace(build_timeline(build_application(*STARTED), at(2000), all_pods=[]), counts=counts)
    thinned = check(timeline)["executorCounts"]
    assert [format_time(at(777)), 500] in thinned
    assert thinned[-1] == [format_time(at(999)), 4]
    assert [at_ for at_, _ in thinned] == sorted(at_ for at_, _ in thinned)


def test_attempts_that_do_not_fit_are_named() -> None:
    state = StateSpan("Failed" * 20, "Failed", at(1), at(2), "é" * 1000, "é" * 100)
    attempts = tuple(Attempt(number, (state,) * 40, None, True) for number in range(1, 200))
    record = check(replace(build_timeline(build_application(*STARTED), at(60), all_pods=[]), attempts=attempts))
    shown = [attempt["number"] for attempt in record["attempts"]]
    assert shown == list(range(200 - len(shown), 200))
    assert {"what": "attempts", "why": f"only the latest {len(shown)} of 199 attempts fit the record"} in record[
        "missing"
    ]


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        ("short", 5, "short"),
        ("too long", 7, "t…"),
        ("é" * 10, 30, "éééé…"),
        ("🙂🙂", 17, "…"),
        ("a\n b\x00", 10, "a b"),
        ("--api-token abc", 99, "--api-token (redacted)"),
        ("https://me:pass@host/", 99, "https://(redacted)@host/"),
        ("x " * 4000 + "password=hunter2", 9, "x x…"),
        ("y" * 9000, 10, "y" * 4 + "…"),
    ],
)
def test_text_is_cut_to_its_length_in_json(text: str, most: int, expected: str) -> None:
    shown = cut_text(text, most)
    assert shown == expected
    assert measure(shown) - 2 <= most


@pytest.mark.parametrize(
    ("time_", "text"),
    [
        (at(0), "2026-01-01T12:00:00Z"),
        (at(0.25), "2026-01-01T12:00:00.250Z"),
        (at(0) + timedelta(microseconds=1), "2026-01-01T12:00:00Z"),
    ],
)
def test_time_is_in_utc(time_: datetime, text: str) -> None:
    assert format_time(time_) == text
