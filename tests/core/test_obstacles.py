"""Descriptions of the obstacles that keep an application waiting."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.progress import Phase, Progress
from airflow_provider_spark_operator.core.obstacles import (
    describe_driver_wait,
    describe_executor_wait,
    describe_pod_wait,
    ignores_suspension,
    wants_suspension,
)
from airflow_provider_spark_operator.core.reasons import SUSPENDED

REQUESTED = Progress("DriverRequested", Phase.WAITING, driver_expected=True)
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
        (build_pod(waiting="ContainerCreating"), (MOUNT,), f"the driver pod is pending: {MOUNT}"),
        (build_pod(waiting="ContainerCreating"), (), None),
        (build_pod(waiting="CrashLoopBackOff"), (), "the driver pod cannot start: CrashLoopBackOff"),
        (build_pod(phase="Running"), (MOUNT,), None),
    ],
    ids=["image", "unschedulable", "volume", "creating", "container", "running"],
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
