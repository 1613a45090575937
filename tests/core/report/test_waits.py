"""The waits of an application and its pods."""

from collections.abc import Sequence
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.names import LABEL_QUEUE_NAME
from airflow_provider_spark_operator.core.report.timeline import build_timeline
from airflow_provider_spark_operator.core.report.waits import Wait, WaitKind
from tests.core.report.documents import at, build_application, build_event, build_spark_pod

STARTED = (("Submitted", 0), ("DriverRequested", 1), ("DriverStarted", 5), ("RunningHealthy", 7))
MESSAGE = "0/3 nodes are available: 3 Insufficient cpu."


def list_found(
    *moves: tuple[str, float],
    pods: Sequence[dict[str, Any]] = (),
    events: Sequence[dict[str, Any]] = (),
    queue: str = "",
) -> tuple[Wait, ...]:
    document = build_application(*(moves or STARTED))
    if queue:
        document["metadata"]["labels"] = {LABEL_QUEUE_NAME: queue}
    for event in events:
        if event["involvedObject"]["kind"] != "Pod":
            event["involvedObject"]["uid"] = document["metadata"]["uid"]
    return build_timeline(document, at(60), all_pods=pods, events=events).waits


def build_pending(name: str, *, created: float | None, role: str = "executor", **container: Any) -> dict[str, Any]:
    """Return a pod that has not been assigned to a node, or whose container waits."""
    pod = build_spark_pod(name, role=role, started=None)
    if created is not None:
        pod["metadata"]["creationTimestamp"] = at(created).isoformat()
    if container:
        pod["status"]["containerStatuses"][0]["state"] = {"waiting": container}
    else:
        pod["status"]["conditions"].append({"type": "PodScheduled", "status": "False", "message": MESSAGE})
    return pod


def assign(pod: dict[str, Any], second: float) -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": at(second).isoformat()}
    pod["status"]["conditions"].append(condition)
    return pod


def test_application_without_obstacles_has_waited_for_nothing() -> None:
    events = [
        build_event("Scheduled", 8, pod="pi-0-exec-1"),
        build_event("Pulled", 9, pod="pi-0-exec-1", message="already present on machine"),
        build_event("Started", 10, pod="pi-0-exec-1"),
        build_event("BackOff", 11, pod="pi-0-exec-1", message="Back-off restarting failed container"),
    ]
    assert list_found(pods=[assign(build_spark_pod("pi-0-exec-1"), 8)], events=events) == ()


def test_pods_wait_for_nodes_until_they_are_assigned() -> None:
    events = [
        build_event("FailedScheduling", 12, pod="pi-0-exec-1", message="first"),
        build_event("FailedScheduling", 13, pod="pi-0-exec-2", message=MESSAGE),
        build_event("FailedScheduling", 2, pod="pi-0-driver", message=MESSAGE),
        build_event("Scheduled", 30, pod="pi-0-exec-2"),
        build_event("Scheduled", 4, pod="pi-0-driver"),
    ]
    pods = [assign(build_spark_pod("pi-0-exec-1", started=22), 20)]
    driver, executors = list_found(pods=pods, events=events)
    assert driver == Wait(WaitKind.NODE, "driver", at(2), at(4), MESSAGE, frozenset({"uid-of-pi-0-driver"}))
    names = frozenset({"uid-of-pi-0-exec-1", "uid-of-pi-0-exec-2"})
    assert executors == Wait(WaitKind.NODE, "executor", at(12), at(30), MESSAGE, names)


def test_waits_of_a_role_that_do_not_overlap_are_apart() -> None:
    events = [
        build_event("FailedScheduling", 2, pod="pi-0-exec-1", message="a"),
        build_event("Scheduled", 4, pod="pi-0-exec-1"),
        build_event("FailedScheduling", 20, pod="pi-0-exec-2", message="b"),
        build_event("Scheduled", 24, pod="pi-0-exec-2"),
    ]
    assert [
        (wait.begin, wait.end, wait.text) for wait in list_found(events=events, pods=[build_spark_pod("pi-0-exec-3")])
    ] == [(at(2), at(4), "a"), (at(20), at(24), "b")]


@pytest.mark.parametrize("created", [8, None])
def test_pending_pod_waits_for_a_node_since_its_creation(created: float | None) -> None:
    waits = list_found(pods=[build_pending("pi-0-exec-1", created=created)])
    expected = Wait(WaitKind.NODE, "executor", at(8), None, MESSAGE, frozenset({"uid-of-pi-0-exec-1"}))
    assert waits == ((expected,) if created else ())


def test_pod_waits_for_its_image_until_it_is_pulled_or_started() -> None:
    events = [
        build_event("Pulling", 12, pod="pi-0-exec-1", message='Pulling image "spark"'),
        build_event("Pulled", 40, pod="pi-0-exec-1", message='Successfully pulled image "spark" in 28s'),
    ]
    names = frozenset({"uid-of-pi-0-exec-1"})
    pulled = 'Successfully pulled image "spark" in 28s'
    assert list_found(events=events) == (Wait(WaitKind.IMAGE, "executor", at(12), at(40), pulled, names),)
    started = list_found(pods=[build_spark_pod("pi-0-exec-1", started=41)], events=events)
    assert started == (Wait(WaitKind.IMAGE, "executor", at(12), at(41), pulled, names),)


def test_image_that_cannot_be_pulled_is_named() -> None:
    events = [build_event("Failed", 12, pod="pi-0-exec-1", message="Failed to pull image: not found")]
    pods = [
        build_pending("pi-0-exec-1", created=9, reason="ImagePullBackOff"),
        assign(build_pending("pi-0-driver", created=1, role="driver", reason="ErrImagePull", message="denied"), 3),
        build_pending("pi-0-exec-2", created=None, reason="ErrImagePull"),
    ]
    assert [(wait.role, wait.begin, wait.end, wait.text) for wait in list_found(pods=pods, events=events)] == [
        ("driver", at(3), None, "denied"),
        ("executor", at(9), None, "ImagePullBackOff"),
    ]


def test_application_in_a_queue_waits_until_its_driver_is_requested() -> None:
    moves = (("Submitted", 0), ("DriverRequested", 30), ("RunningHealthy", 35), ("Suspended", 40))
    first, second = list_found(*moves, queue="team-a")
    assert (first, second) == (
        Wait(WaitKind.QUEUE, "application", at(0), at(30), "queue team-a"),
        Wait(WaitKind.QUEUE, "application", at(40), None, "queue team-a"),
    )
    assert list_found(*moves) == ()
    assert list_found(("Submitted", 0), ("DriverRequested", 0.5), queue="team-a") == ()
    events = [build_event("KueueAdmissionPending", 1, message="no quota for 4 cores")]
    assert [wait.text for wait in list_found(*moves, queue="team-a", events=events)] == ["no quota for 4 cores"] * 2


def test_wait_for_a_queue_names_the_latest_cause_that_was_known_during_it() -> None:
    moves = (("Submitted", 0), ("DriverRequested", 30), ("RunningHealthy", 35), ("Suspended", 40))
    causes = [(at(5), "no quota for 4 cores"), (at(20), "no quota for 2 cores"), (at(45), "preempted")]
    document = build_application(*moves, ("DriverRequested", 50), ("Suspended", 55))
    document["metadata"]["labels"] = {LABEL_QUEUE_NAME: "team-a"}
    assert [wait.text for wait in build_timeline(document, at(60), queue_causes=causes).waits] == [
        "queue team-a: no quota for 2 cores",
        "queue team-a: preempted",
        "queue team-a",
    ]


def test_exceeded_quota_is_a_wait() -> None:
    document = build_application(*STARTED, ("SchedulingFailure", 8), ("ScheduledToRestart", 20))
    message = "pods is forbidden: exceeded quota: small"
    document["status"]["stateTransitionHistory"]["4"]["message"] = message
    document["status"]["stateTransitionHistory"]["0"]["lastTransitionTime"] = None
    events = [build_event("FailedCreate", 30, pod="pi-0-exec-1", message=message)]
    waits = build_timeline(document, at(60), all_pods=[build_spark_pod("pi-0-exec-1")], events=events).waits
    assert waits == (
        Wait(WaitKind.QUOTA, "application", at(8), at(20), message),
        Wait(WaitKind.QUOTA, "executor", at(30), at(30), message, frozenset({"uid-of-pi-0-exec-1"})),
    )


def test_event_of_the_application_can_name_the_quota() -> None:
    message = "exceeded quota: small"
    events = [build_event("FailedCreate", 30, message=message)]
    assert list_found(events=events) == (Wait(WaitKind.QUOTA, "application", at(30), at(30), message),)


def test_event_without_a_time_shows_no_wait() -> None:
    event = build_event("FailedScheduling", 2, pod="pi-0-driver", message=MESSAGE)
    del event["firstTimestamp"], event["lastTimestamp"]
    assert list_found(events=[event]) == ()


def test_executors_of_two_attempts_with_the_same_name_wait_apart() -> None:
    events = [
        build_event("FailedScheduling", 2, pod="pi-0-exec-1", message="a"),
        build_event("Scheduled", 4, pod="pi-0-exec-1"),
        build_event("FailedScheduling", 3, pod="pi-0-exec-1", message="b"),
    ]
    events[2]["involvedObject"]["uid"] = "later"
    (wait,) = list_found(events=events)
    assert (wait.end, wait.pods) == (None, frozenset({"uid-of-pi-0-exec-1", "later"}))


def test_event_without_a_uid_is_about_the_pod_of_its_name() -> None:
    event = build_event("FailedScheduling", 2, pod="pi-0-exec-1", message="a")
    del event["involvedObject"]["uid"]
    (wait,) = list_found(events=[event])
    assert wait.pods == frozenset({"pi-0-exec-1"})
