"""The reasons why an application or a SparkCluster has no pods."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.kubernetes.ownership import LeaseReference
from airflow_provider_spark_operator.core.states.states import SuspendReason
from airflow_provider_spark_operator.core.verdict.holds import (
    Hold,
    drop_elapsed,
    find_held_application,
    find_held_cluster,
    find_hold,
    find_ignored_queue,
    format_wait,
    select_workload,
)
from airflow_provider_spark_operator.core.verdict.obstacles import LostController

NOW = datetime(2026, 11, 12, 12, 0, tzinfo=UTC)
CREATED = "2026-11-12T11:00:00Z"
QUEUED = "2026-11-12T11:48:00Z"
FULL = "couldn't assign flavors to pod set driver: insufficient unused quota for cpu in flavor default, 1 more needed"
KUBEFLOW = "sparkoperator.k8s.io/v1beta2"
EVICTED = SuspendReason.KUEUE_EVICTION


def build(
    state: str | None = None, *, api_version: str = "spark.apache.org/v1", queue: str = "team-a", **fields: Any
) -> dict[str, Any]:
    """Build an application in a queue, in a state since 11:48. Fields: `suspend`, `reason`, `message`, `runs`."""
    metadata: dict[str, Any] = {"name": "pi", "namespace": "jobs", "uid": "u1", "creationTimestamp": CREATED}
    metadata["labels"] = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    document = {"apiVersion": api_version, "kind": "SparkApplication", "metadata": metadata, "spec": {}}
    document["spec"] = {"suspend": fields["suspend"]} if "suspend" in fields else {}
    if state is None:
        return document
    if api_version == KUBEFLOW:
        status: dict[str, Any] = {"applicationState": {"state": state}, "executionAttempts": fields.get("runs", 0)}
    else:
        current = {"currentStateSummary": state, "lastTransitionTime": QUEUED, "message": fields.get("message", "")}
        status = {"currentState": current | ({"suspendReason": fields["reason"]} if "reason" in fields else {})}
    return document | {"status": status}


def build_workload(
    *conditions: tuple[str, str, str, str], active: bool = True, requeue: str | None = None, **metadata: Any
) -> dict[str, Any]:
    owner = {"kind": "SparkApplication", "name": "pi", "uid": "u1", "controller": True}
    status: dict[str, Any] = {
        "conditions": [
            {"type": kind, "status": status, "reason": reason, "message": message}
            for kind, status, reason, message in conditions
        ]
    }
    if requeue:
        status["requeueState"] = {"requeueAt": requeue}
    return {
        "metadata": {"creationTimestamp": QUEUED, "ownerReferences": [owner], **metadata},
        "spec": {"active": active},
        "status": status,
    }


def build_event(reason: str, message: str, first: str = QUEUED) -> dict[str, Any]:
    return {"reason": reason, "message": message, "firstTimestamp": first, "lastTimestamp": first}


def describe(
    application: dict[str, Any], events: list[dict[str, Any]] | None = None, workload: dict[str, Any] | None = None
) -> str | None:
    held = find_held_application(read_progress(application), application)
    assert held is not None
    hold = find_hold(held, [] if events is None else events, workload)
    return hold.describe(NOW) if hold else None


PENDING = build_workload(("QuotaReserved", "False", "Pending", FULL))
ADMITTED = build_workload(("QuotaReserved", "True", "", ""), ("Admitted", "True", "", ""))
PREEMPTED = ("Evicted", "True", "Preempted", "Preempted to accommodate a workload of higher priority.")
WAITS = "it waits for Kueue admission in queue team-a (12 min so far)"


@pytest.mark.parametrize(
    ("application", "events", "workload", "expected"),
    [
        (build(), [], PENDING, f"{WAITS}: {FULL}"),
        (build("ScheduledToRestart"), [], PENDING, f"{WAITS}: {FULL}"),
        (build("Submitted"), [], build_workload(), WAITS),
        (build(), [build_event("KueueAdmissionPending", "no quota.")], None, f"{WAITS}: no quota"),
        (
            build(),
            [build_event("KueueAdmissionPending", f"Waiting for Kueue admission in queue team-a: {FULL}")],
            None,
            f"{WAITS}: {FULL}",
        ),
        (build(), [build_event("KueueAdmissionPending", "Waiting for Kueue admission.")], None, WAITS),
        (build(), [], build_workload(active=False), f"{WAITS}: the Workload is deactivated (spec.active is false)"),
        (
            build(),
            [],
            build_workload(("QuotaReserved", "True", "", ""), PREEMPTED, requeue="2026-11-12T12:01:30Z"),
            f"{WAITS}: Preempted: Preempted to accommodate a workload of higher priority; "
            "it is queued again at 12:01:30 UTC",
        ),
        (
            build(),
            [build_event("KueueAdmissionPending", "no quota"), build_event("KueueAdmissionRequestFailed", "denied")],
            None,
            "Kueue cannot admit it to queue team-a (60 min so far): denied",
        ),
        (build(), [], ADMITTED, None),
        (build(), [], None, None),
        (build(), [build_event("KueueAdmitted", "admitted")], None, None),
    ],
)
def test_application_in_a_queue_waits_for_its_admission(
    application: dict[str, Any], events: list[dict[str, Any]], workload: dict[str, Any] | None, expected: str | None
) -> None:
    assert describe(application, events, workload) == expected


DENIED = "KueueAdmissionRequestFailed"
TRANSITION = "2026-11-12T11:59:00Z"


@pytest.mark.parametrize(
    ("application", "events", "workload", "expected"),
    [
        (build(), [build_event(DENIED, "denied", CREATED)], PENDING, f"{WAITS}: {FULL}"),
        (build(), [build_event(DENIED, "denied", QUEUED)], PENDING, "Kueue cannot admit it"),
        (build(), [build_event(DENIED, "denied", CREATED)], None, "Kueue cannot admit it"),
        (
            build("Suspended", reason=EVICTED, message="Preempted."),
            [build_event(DENIED, "denied", CREATED)],
            None,
            "Kueue has evicted it; it waits for another admission in queue team-a (12 min so far): Preempted",
        ),
        (
            build(),
            [build_event("KueueAdmissionPending", "no quota", CREATED), build_event(DENIED, "denied", QUEUED)],
            {**PENDING, "status": {"conditions": [{"type": "QuotaReserved", "lastTransitionTime": TRANSITION}]}},
            WAITS,
        ),
    ],
    ids=["workload is newer", "same second", "no workload", "state is newer", "condition is newer"],
)
def test_problem_that_was_solved_is_not_reported(
    application: dict[str, Any], events: list[dict[str, Any]], workload: dict[str, Any] | None, expected: str
) -> None:
    assert (describe(application, events, workload) or "").startswith(expected)


def test_application_in_a_queue_is_assumed_to_wait_if_events_may_not_be_read() -> None:
    application = build()
    held = find_held_application(read_progress(application), application)
    assert held is not None
    hold = find_hold(held, None, None)
    assert hold is not None
    assert hold.describe(NOW) == "it waits for Kueue admission in queue team-a (60 min so far)"


@pytest.mark.parametrize(
    ("application", "workload", "expected"),
    [
        (build("Suspended", reason=EVICTED, message="Preempted."), None, "in queue team-a (12 min so far): Preempted"),
        (build("Suspended", reason=EVICTED, queue=""), None, "another admission (12 min so far)"),
        (
            build("Suspended", reason=EVICTED, message="Preempted."),
            build_workload(PREEMPTED),
            "in queue team-a (12 min so far): Preempted: Preempted to accommodate a workload of higher priority",
        ),
        (
            build("Suspended", reason=EVICTED, message="Evicted."),
            build_workload(active=False),
            "in queue team-a (12 min so far): the Workload is deactivated (spec.active is false)",
        ),
    ],
)
def test_evicted_application_waits_for_another_admission(
    application: dict[str, Any], workload: dict[str, Any] | None, expected: str
) -> None:
    found = describe(application, [], workload)
    assert found is not None
    assert found.startswith("Kueue has evicted it; it waits for another admission")
    assert found.endswith(expected)


def test_evicted_application_waits_for_pods_that_cannot_be_deleted() -> None:
    events = [build_event("SuspendReleaseFailed", "These pods are not being deleted: notebook.", TRANSITION)]
    evicted = build("Suspended", reason=EVICTED, message="Preempted.")
    expected = (
        "Kueue has evicted it; it waits until its pods are deleted (12 min so far): These pods are not being deleted"
    )
    assert (describe(evicted, events) or "").startswith(expected)
    given_back = {"conditions": [{"type": "QuotaReserved", "lastTransitionTime": NOW.isoformat()}]}
    solved = describe(evicted, events, build_workload() | {"status": given_back})
    assert (solved or "").startswith("Kueue has evicted it; it waits for another admission")


@pytest.mark.parametrize(
    ("application", "events", "expected"),
    [
        (build(suspend=True), [], "spec.suspend is true; set spec.suspend to false to start it"),
        (
            build("ScheduledToRestart", suspend=True, queue=""),
            [build_event("SuspendHeld", "held")],
            "spec.suspend is true",
        ),
        (
            build(suspend=True),
            [build_event("SuspendCheckFailed", "pods is forbidden.")],
            "spec.suspend is true: pods is forbidden; set spec.suspend to false to start it",
        ),
        (
            build("Suspended", suspend=True),
            [],
            "it is suspended by spec.suspend (12 min so far); "
            "set spec.suspend to false to run it again from the beginning",
        ),
        (build("Suspended", suspend=True, reason=EVICTED), [], "it is suspended by spec.suspend (12 min so far); set"),
        (
            build("Suspended", suspend=False, reason="SpecSuspend"),
            [build_event("SuspendReleaseFailed", "pods is forbidden")],
            "it was resumed, and starts when the pods of its last attempt no longer exist: pods is forbidden",
        ),
    ],
)
def test_suspended_application_is_explained(
    application: dict[str, Any], events: list[dict[str, Any]], expected: str
) -> None:
    assert (describe(application, events) or "").startswith(expected)


@pytest.mark.parametrize(
    ("state", "runs", "workload", "expected"),
    [
        ("SUSPENDED", 0, PENDING, f"{WAITS}: {FULL}"),
        ("SUSPENDED", 1, build_workload(PREEMPTED), "Kueue has evicted it; it waits for another admission in queue"),
        ("RESUMING", 1, ADMITTED, None),
    ],
)
def test_kubeflow_application_that_kueue_suspends_waits_in_its_queue(
    state: str, runs: int, workload: dict[str, Any], expected: str | None
) -> None:
    application = build(state, api_version=KUBEFLOW, suspend=True, runs=runs)
    found = describe(application, [], workload)
    assert found is None if expected is None else (found or "").startswith(expected)


def test_kubeflow_application_without_a_queue_is_held_by_its_spec() -> None:
    application = build("SUSPENDED", api_version=KUBEFLOW, suspend=True, queue="", runs=1)
    assert (describe(application) or "").startswith("it is suspended by spec.suspend")


@pytest.mark.parametrize(
    "application",
    [
        build(queue=""),
        build("DriverRequested"),
        build("RunningHealthy", suspend=True),
        build("Failed", suspend=True),
        build("ResourceReleased"),
    ],
)
def test_other_application_is_not_held(application: dict[str, Any]) -> None:
    assert find_held_application(read_progress(application), application) is None


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        (build(), f"{WAITS}: {FULL}"),
        (build("Submitted", queue="", suspend=True), "spec.suspend is true; set spec.suspend to false to start"),
        (build("Suspended", reason=EVICTED), "Kueue has evicted it; it waits for another admission in queue team-a"),
        (
            build("Suspended", suspend=True),
            "it is suspended by spec.suspend (12 min so far); set spec.suspend to false",
        ),
        (build("RunningHealthy", suspend=True), None),
        (build("Submitted", queue=""), None),
    ],
)
def test_cluster_is_held_like_an_application(cluster: dict[str, Any], expected: str | None) -> None:
    held = find_held_cluster(cluster)
    hold = find_hold(held, [], PENDING) if held else None
    found = hold.describe(NOW) if hold else None
    assert found is None if expected is None else (found or "").startswith(expected)


def test_operator_that_ignores_the_queue_is_reported() -> None:
    events = [build_event("KueueDisabled", "Kueue is not enabled.")]
    assert find_ignored_queue(build(), events) == "it is not in queue team-a: Kueue is not enabled"
    assert find_ignored_queue(build(), []) is None
    assert find_ignored_queue(build(queue=""), events) is None


def test_workload_of_an_earlier_resource_is_not_selected() -> None:
    other = build_workload()
    other["metadata"]["ownerReferences"][0]["uid"] = "u0"
    deleted = build_workload(deletionTimestamp=CREATED)
    own = build_workload()
    assert select_workload([other, deleted, own], "u1") is own
    assert select_workload([other, deleted], "u1") is None


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59, "59 s"), (60, "1 min"), (7199, "119 min"), (7200, "2 h 0 min")]
)
def test_wait_has_one_or_two_units(seconds: int, text: str) -> None:
    assert format_wait(timedelta(seconds=seconds)) == text


def test_cause_stays_the_same_while_the_time_passes() -> None:
    first, later = Hold("it waits", NOW, "no quota"), Hold("it waits", NOW - timedelta(hours=1), "no quota")
    assert first.cause == later.cause != Hold("it waits", NOW, "deactivated").cause


def test_hold_without_a_time_has_no_duration() -> None:
    assert Hold("it waits").describe(NOW) == "it waits"
    assert Hold("it waits", NOW + timedelta(seconds=1)).describe(NOW) == "it waits"


def test_time_of_a_suspension_that_the_status_does_not_record_is_left_out() -> None:
    resource = {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "metadata": {"name": "pi", "uid": "u1", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"suspend": True},
        "status": {"applicationState": {"state": "SUSPENDED"}, "executionAttempts": 1},
    }
    held = find_held_application(read_progress(resource), resource)
    assert held is not None
    hold = find_hold(held, [], None)
    assert hold is not None
    assert hold.describe(NOW).startswith("it is suspended by spec.suspend; ")


@pytest.mark.parametrize("minutes", [0.5, 10, 500])
def test_elapsed_times_can_be_dropped(minutes: float) -> None:
    since = NOW - timedelta(minutes=minutes)
    assert drop_elapsed(Hold("it waits", since, "no quota").describe(NOW)) == "it waits: no quota"
    lost = LostController(LeaseReference("spark", "controller"), since)
    assert drop_elapsed(lost.describe(NOW)) == replace(lost, renewed=None).describe(NOW)
