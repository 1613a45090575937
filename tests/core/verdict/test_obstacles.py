"""Descriptions of the obstacles that keep an application waiting."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.progress import Phase, Progress
from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_CLAIM
from airflow_provider_spark_operator.core.kubernetes.ownership import LeaseReference, Tenure
from airflow_provider_spark_operator.core.lifecycle.executor_obstacles import (
    describe_executor_wait,
    name_executor_obstacle,
)
from airflow_provider_spark_operator.core.states.reasons import SUSPENDED
from airflow_provider_spark_operator.core.verdict.obstacles import (
    LostController,
    describe_driver_wait,
    describe_ending_namespace,
    describe_pod_wait,
    find_claim,
    find_missing_status,
    ignores_suspension,
    judge_controller,
    name_driver_obstacle,
    wants_suspension,
)
from tests.core.report import documents

REQUESTED = Progress("DriverRequested", Phase.WAITING, driver_expected=True)
RELEASED = ("Submitted", "Succeeded", "ResourceReleased")
LEASE = LeaseReference("jobs", "controller")
RUNNING = Progress("RunningHealthy", Phase.RUNNING)
MOUNT = 'FailedMount: MountVolume.SetUp failed for volume "data": configmap "data" not found'
FULL = "0/3 nodes are available: 3 Insufficient memory."


def build_pod(
    *, waiting: str | None = None, message: str = "", unscheduled: str | None = None, phase: str = "Pending"
) -> Any:
    """Build a pod whose container waits for the given reason, or that could not be scheduled."""
    container = {"name": "spark-kubernetes-driver", "image": "spark:9", "state": {"waiting": {"reason": waiting}}}
    if message:
        container["state"]["waiting"]["message"] = message  # type: ignore[index]
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": unscheduled}
    return {
        "status": {
            "phase": phase,
            "conditions": [condition] if unscheduled is not None else [],
            "containerStatuses": [container] if waiting else [],
        }
    }


@pytest.mark.parametrize(
    ("found", "events", "expected"),
    [
        (
            build_pod(waiting="ImagePullBackOff", message='Back-off pulling image "spark:9"'),
            (),
            "the image spark:9 of the driver's container spark-kubernetes-driver could not be pulled: "
            'ImagePullBackOff: Back-off pulling image "spark:9"; check spark.kubernetes.container.image and '
            "spark.kubernetes.container.image.pullSecrets",
        ),
        (
            build_pod(unscheduled=FULL),
            (),
            "the driver pod could not be scheduled: 0/3 nodes are available: 3 Insufficient memory; reduce the "
            "requests (spark.driver.cores, spark.driver.memory), or add nodes that fit",
        ),
        (
            build_pod(waiting="ContainerCreating"),
            (MOUNT,),
            f"the driver pod is pending: {MOUNT}; create the ConfigMap data in the namespace of the application, or "
            "correct its name",
        ),
        (build_pod(waiting="ContainerCreating"), ("BackOff: later",), "the driver pod is pending: BackOff: later"),
        (build_pod(waiting="ContainerCreating"), (), None),
        (build_pod(waiting="CrashLoopBackOff"), (), "the driver pod cannot start: CrashLoopBackOff"),
        (build_pod(phase="Running"), (MOUNT,), None),
    ],
    ids=["image", "unschedulable", "volume", "event", "creating", "container", "running"],
)
def test_driver_wait_names_obstacle_of_pod(found: Any, events: tuple[str, ...], expected: str | None) -> None:
    assert describe_driver_wait(found, REQUESTED, events) == expected


def test_executor_wait_names_missing_node_or_warning() -> None:
    assert (
        describe_pod_wait("executor pi-exec-1", build_pod(unscheduled=FULL), ())
        == f"executor pi-exec-1 waits for a node: {FULL}"
    )
    assert describe_pod_wait("executor pi-exec-1", build_pod(), (MOUNT,)) == f"executor pi-exec-1 is pending: {MOUNT}"


@pytest.mark.parametrize(
    ("executors", "expected"),
    [
        ([], None),
        ([build_pod(), build_pod(waiting="ContainerCreating")], None),
        ([build_pod(), build_pod(unscheduled=FULL)], f"1 executor waits for a node: {FULL}"),
        ([build_pod(unscheduled=FULL), build_pod(unscheduled="other")], f"2 executors wait for a node: {FULL}"),
        ([build_pod(unscheduled="")], "1 executor waits for a node: no reason given"),
    ],
)
def test_executors_without_a_node_are_counted(executors: list[Any], expected: str | None) -> None:
    assert describe_executor_wait(executors) == expected


def build_application(generation: int = 1, suspend: object = True) -> dict[str, Any]:
    return {"metadata": {"generation": generation}, "spec": {"suspend": suspend}}


@pytest.mark.parametrize(
    ("progress", "resource", "settled", "expected"),
    [
        (RUNNING, build_application(), False, True),
        (REQUESTED, build_application(), False, True),
        (RUNNING, build_application(generation=2), False, False),
        (RUNNING, build_application(generation=2), True, True),
        (Progress("Submitted", Phase.WAITING), build_application(), True, False),
        (Progress("RunningHealthy", Phase.RUNNING, reason=SUSPENDED), build_application(), True, False),
        (RUNNING, build_application(suspend=False), True, False),
        (RUNNING, {}, True, False),
    ],
)
def test_operator_that_runs_a_suspended_application_ignores_the_field(
    progress: Progress, resource: dict[str, Any], settled: bool, expected: bool
) -> None:
    assert ignores_suspension(progress, resource, settled=settled) is expected


def test_only_boolean_true_suspends_application() -> None:
    assert wants_suspension(build_application())
    assert not wants_suspension(build_application(suspend="true"))


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (build_pod(unscheduled=FULL), "Unschedulable"),
        ({"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}}, "Unschedulable"),
        (build_pod(waiting="CreateContainerConfigError"), "CreateContainerConfigError"),
        (build_pod(waiting="ContainerCreating"), ""),
    ],
    ids=["unschedulable", "no reason", "blocked", "creating"],
)
def test_obstacle_of_a_driver_pod_has_one_word(found: Any, word: str) -> None:
    assert name_driver_obstacle(found) == word


def build_new_application(api_version: str = "spark.apache.org/v1", **parts: Any) -> dict[str, Any]:
    metadata = {"namespace": "jobs", "creationTimestamp": "2026-01-01T00:00:00Z", **parts.pop("metadata", {})}
    return {"apiVersion": api_version, "metadata": metadata, **parts}


CREATED = datetime(2026, 1, 1, tzinfo=UTC)


def describe(resource: dict[str, Any], now: datetime) -> str | None:
    why = find_missing_status(resource, now)
    return why.describe(now) if why else None


def test_application_without_a_status_for_a_minute_has_no_operator() -> None:
    assert describe(build_new_application(), CREATED + timedelta(seconds=75)) == (
        "it has had no status for 1 min: no operator seems to reconcile it. Check that an operator for "
        "spark.apache.org/v1 runs, that it watches the namespace jobs, and that its log shows no error"
    )


def test_spark_submit_of_kubeflow_is_a_possible_cause_of_a_missing_status() -> None:
    resource = build_new_application("sparkoperator.k8s.io/v1beta2")
    assert "1 min: the spark-submit of Kubeflow's operator takes long, or no operator reconciles it. Check" in str(
        describe(resource, CREATED + timedelta(seconds=75))
    )


@pytest.mark.parametrize(
    ("resource", "age"),
    [
        (build_new_application(), 59),
        (build_new_application(status={"currentState": {}}), 75),
        (build_new_application(metadata={"deletionTimestamp": "2026-01-01T00:00:01Z"}), 75),
        (build_new_application(metadata={"creationTimestamp": None}), 75),
    ],
    ids=["new", "status", "deletion", "no time"],
)
def test_status_is_not_missing(resource: dict[str, Any], age: int) -> None:
    assert find_missing_status(resource, CREATED + timedelta(seconds=age)) is None


def build_claimed(*states: str, **metadata: str) -> Any:
    """Build an application that the controller with the Lease jobs/controller claimed."""
    document = documents.build_application(*((state, number) for number, state in enumerate(states)))
    claims = {ANNOTATION_CLAIM: f"jobs/controller {document['metadata'].get('uid')}"}
    created = {"creationTimestamp": CREATED.isoformat(), **metadata}
    return {**document, "metadata": {**document["metadata"], "annotations": claims, **created}}


@pytest.mark.parametrize(
    ("resource", "age", "is_found"),
    [
        (build_claimed("Submitted", "RunningHealthy"), 60, True),
        (build_claimed("Submitted", "RunningHealthy"), 59, False),
        (build_claimed("Submitted", "Succeeded", "ResourceReleased"), 60, False),
        (
            build_claimed("Submitted", "Succeeded", "ResourceReleased", deletionTimestamp="2026-01-01T00:00:09Z"),
            60,
            True,
        ),
        (documents.build_application(("Submitted", 0)), 60, False),
    ],
    ids=["running", "new", "ended", "ended and being deleted", "not claimed"],
)
def test_claim_counts_while_the_controller_has_to_manage_the_application(
    resource: Any, age: int, is_found: bool
) -> None:
    assert find_claim(resource, CREATED + timedelta(seconds=age)) == (LEASE if is_found else None)


def test_controller_is_lost_if_no_process_holds_its_lease() -> None:
    held = Tenure("one", timedelta(seconds=15), CREATED, CREATED)
    assert judge_controller(LEASE, held, CREATED) is None
    assert judge_controller(LEASE, Tenure(), CREATED) == LostController(LEASE, None)
    # A controller that ends releases its Lease, and its successor takes the Lease soon.
    released = Tenure("", timedelta(seconds=1), CREATED, CREATED)
    assert judge_controller(LEASE, released, CREATED + timedelta(seconds=59)) is None
    assert judge_controller(LEASE, released, CREATED + timedelta(seconds=60)) == LostController(LEASE, CREATED)
    lost = judge_controller(LEASE, held, CREATED + timedelta(minutes=5))
    assert lost is not None
    assert "no process holds the Lease jobs/controller" in describe_ending_namespace("jobs", lost)
    assert "no process" not in describe_ending_namespace("jobs", None)
    assert "no process holds its Lease jobs/controller, last renewed 5 min ago. Start" in lost.describe(
        CREATED + timedelta(minutes=5)
    )


def build_event(reason: str, time: int, **fields: str) -> Any:
    subject = {"kind": "Pod", "name": "pi-0-driver", **fields}
    return {
        "type": "Warning",
        "reason": reason,
        "involvedObject": subject,
        "lastTimestamp": f"2026-01-01T00:00:0{time}Z",
    }


EVENTS = [
    build_event("FailedMount", 2),
    build_event("FailedScheduling", 1),
    build_event("BackOff", 3, name="pi-1-driver"),
]


@pytest.mark.parametrize(
    ("pod", "name"),
    [
        (build_pod(waiting="ContainerCreating"), "FailedMount"),
        (build_pod(waiting="ImagePullBackOff"), "ImagePullBackOff"),
        (build_pod(unscheduled=FULL), "Unschedulable"),
        (build_pod(phase="Running"), ""),
    ],
    ids=["volume", "image", "node", "running"],
)
def test_obstacle_of_a_driver_is_named_by_its_status_or_the_latest_warning(pod: Any, name: str) -> None:
    assert name_driver_obstacle({**pod, "metadata": {"name": "pi-0-driver"}}, EVENTS) == name


@pytest.mark.parametrize(
    ("executors", "name"),
    [
        ([build_pod(unscheduled=FULL), build_pod(waiting="ImagePullBackOff")], "ImagePullBackOff"),
        ([build_pod(phase="Running"), build_pod(unscheduled=FULL)], "Unschedulable"),
        ([build_pod(waiting="ContainerCreating")], ""),
    ],
    ids=["image", "node", "none"],
)
def test_obstacle_of_an_executor_is_named(executors: Any, name: str) -> None:
    assert name_executor_obstacle(executors) == name
