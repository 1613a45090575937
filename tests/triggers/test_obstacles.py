"""The task log and the timeout message of an application that does not run."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from airflow.triggers.base import BaseTrigger

from airflow_provider_spark_operator.core.verdict import obstacles as verdict_obstacles
from airflow_provider_spark_operator.follow.narration import narrator, obstacles
from airflow_provider_spark_operator.follow.narration.obstacles import Pauses
from airflow_provider_spark_operator.follow.submission.stamp import TaskStamp
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.triggers.spark_application import SparkApplicationTrigger
from local_kubernetes.api.kinds.kinds import EVENTS, PODS
from tests.cluster import NAMESPACE, Cluster, stay_submitted
from tests.task import call_when_logged, fire, run_to_first_event

STAMP = TaskStamp("dag", "task", "run", -1, 1, "id-1")
PULL = 'Back-off pulling image "spark:9"'
FULL = "0/3 nodes are available: 3 Insufficient memory."
# The long last check prevents that a slow machine decides the result.
PAUSES = Pauses(driver=(0.01, 0.05), executors=(0.01, 0.05), request=0.0, suspension=0.1, last_check=600.0)
MOUNT = 'MountVolume.SetUp failed for volume "data": configmap "data" not found'


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrator, "BACKGROUND", PAUSES)
    monkeypatch.setattr(verdict_obstacles, "UNRECONCILED", timedelta(seconds=-5))


def build_trigger(application: dict[str, Any], **parameters: Any) -> SparkApplicationTrigger:
    metadata = application["metadata"]
    parameters = {"kubernetes_conn_id": "spark", "stamp": asdict(STAMP), **parameters}
    return SparkApplicationTrigger(NAMESPACE, metadata["name"], metadata["uid"], **parameters)


def build_pending_status(
    waiting: str | None = None, message: str = "", unscheduled: str | None = None
) -> dict[str, Any]:
    container = {
        "name": "spark-kubernetes-driver",
        "ready": False,
        "restartCount": 0,
        "image": "spark:9",
        "imageID": "",
    }
    container["state"] = {"waiting": {"reason": waiting or "ContainerCreating", "message": message}}
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": unscheduled}
    return {
        "phase": "Pending",
        "conditions": [condition] if unscheduled else [],
        "containerStatuses": [] if unscheduled else [container],
    }


def request_driver(cluster: Cluster, status: dict[str, Any]) -> dict[str, Any]:
    """Return an application whose driver is requested and has this status."""

    async def request(application: Application) -> None:
        application.enter("Submitted", "DriverRequested")
        application.start_driver()
        application.set_driver_status(status)

    cluster.script = stay_submitted
    application = cluster.create("pi")
    cluster.play(request)
    return application


def warn(cluster: Cluster, reason: str, message: str) -> None:
    """Create a warning event of the driver pod."""
    (pod,) = cluster.do(lambda: list(cluster.store.objects.list(PODS, NAMESPACE)[0]))
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{pod['metadata']['name']}.1", "namespace": NAMESPACE},
        "involvedObject": {"kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]},
        "type": "Warning",
        "reason": reason,
        "message": message,
        "lastTimestamp": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
    }
    cluster.do(lambda: cluster.store.create(EVENTS, NAMESPACE, event))


async def run_until_logged(trigger: BaseTrigger, text: str, act: Callable[[], object] = lambda: None) -> None:
    """Run the trigger until its log contains `text`."""
    seen = asyncio.Event()
    with call_when_logged(text, seen.set):
        task = asyncio.create_task(run_to_first_event(trigger))
        await asyncio.to_thread(act)
        await asyncio.wait_for(seen.wait(), 60)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def list_warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (build_pending_status("ImagePullBackOff", PULL), "is waiting: the image spark:9 of the driver's container"),
        (build_pending_status("CreateContainerConfigError", "secret not found"), "is waiting: the driver's container"),
        (
            build_pending_status(unscheduled=FULL),
            f"is waiting: the driver pod could not be scheduled: {FULL.rstrip('.')}",
        ),
    ],
    ids=["image", "container", "no node"],
)
async def test_obstacle_of_the_pod_is_logged_while_the_task_waits(
    cluster: Cluster, status: dict[str, Any], text: str
) -> None:
    application = await asyncio.to_thread(request_driver, cluster, status)
    await run_until_logged(build_trigger(application), text)


async def test_warning_about_the_pod_is_logged_while_the_task_waits(cluster: Cluster) -> None:
    application = await asyncio.to_thread(request_driver, cluster, build_pending_status())
    await asyncio.to_thread(warn, cluster, "FailedMount", MOUNT)
    await run_until_logged(build_trigger(application), f"is waiting: the driver pod is pending: FailedMount: {MOUNT}")


async def test_obstacle_is_logged_once_per_change(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    application = await asyncio.to_thread(request_driver, cluster, build_pending_status(unscheduled=FULL))

    async def change(present: Application) -> None:
        present.set_driver_status(build_pending_status("ImagePullBackOff", PULL))

    trigger, first = build_trigger(application), asyncio.Event()
    with call_when_logged("could not be scheduled", first.set):
        task = asyncio.create_task(run_to_first_event(trigger))
        await asyncio.wait_for(first.wait(), 60)
    second = asyncio.Event()
    with call_when_logged("could not be pulled", second.set):
        await asyncio.to_thread(cluster.play, change)
        await asyncio.wait_for(second.wait(), 60)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    waits = [line for line in list_warnings(caplog) if " is waiting: " in line]
    assert ["be scheduled" in line for line in waits] == [True, False]


def test_timeout_names_the_state_and_the_obstacle(cluster: Cluster) -> None:
    application = request_driver(cluster, build_pending_status(unscheduled=FULL))
    deadline = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    sentence = fire(build_trigger(application, deadline=deadline))["sentence"]
    assert sentence.startswith(
        "SparkApplication jobs/pi had not ended (DriverRequested: the driver pod could not be scheduled: 0/3 nodes"
    )


async def test_application_without_a_status_is_reported(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    cluster.script = stay_submitted
    application = await asyncio.to_thread(cluster.create, "pi")
    await run_until_logged(build_trigger(application), "no operator seems to reconcile it")
    (line,) = [line for line in list_warnings(caplog) if "no status" in line]
    assert "Check that an operator for spark.apache.org/v1 runs, that it watches the namespace jobs" in line


async def test_application_without_a_status_is_named_in_the_timeout(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.script = stay_submitted
    application = await asyncio.to_thread(cluster.create, "pi")
    trigger = build_trigger(application, deadline=(datetime.now(UTC) + timedelta(hours=1)).isoformat())
    loop = asyncio.get_running_loop()
    read_time = loop.time

    def pass_the_deadline() -> None:
        monkeypatch.setattr(loop, "time", lambda: read_time() + timedelta(hours=2).total_seconds())

    with call_when_logged("no operator seems to reconcile it", pass_the_deadline):
        event = (await asyncio.wait_for(run_to_first_event(trigger), timedelta(hours=3).total_seconds())).payload
    assert event["sentence"] == (
        "SparkApplication jobs/pi had not ended (Submitted: no operator seems to reconcile it)"
    )


def create_suspended(cluster: Cluster, script: Callable[[Application], Awaitable[None]]) -> dict[str, Any]:
    def suspend(old: dict[str, Any]) -> dict[str, Any]:
        old["spec"]["suspend"] = True
        return old

    cluster.script = stay_submitted
    application = cluster.create("pi")
    cluster.do(lambda: cluster.store.update(cluster.kind, NAMESPACE, "pi", suspend))
    cluster.play(script)
    return application


async def test_suspended_application_is_reported(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    application = await asyncio.to_thread(create_suspended, cluster, stay_submitted)
    await run_until_logged(
        build_trigger(application), "is waiting: spec.suspend is true; set spec.suspend to false to start it"
    )
    assert [line for line in list_warnings(caplog) if "no operator" in line] == []


async def test_operator_that_ignores_a_suspension_is_reported(cluster: Cluster) -> None:
    async def run_all_the_same(application: Application) -> None:
        application.start()

    application = await asyncio.to_thread(create_suspended, cluster, run_all_the_same)
    await run_until_logged(
        build_trigger(application), "runs although spec.suspend is true: the operator of this cluster ignores"
    )


async def test_executors_without_a_node_are_reported(cluster: Cluster) -> None:
    def without_node(status: dict[str, Any]) -> dict[str, Any]:
        return {**status, **build_pending_status(unscheduled=FULL)}

    async def run_short(application: Application) -> None:
        application.start(executors=2)
        for pod in cluster.store.objects.list(PODS, NAMESPACE)[0]:
            if "exec" in pod["metadata"]["name"]:
                cluster.resources.set_pod_status(NAMESPACE, pod["metadata"]["name"], without_node(pod["status"]))

    cluster.script = stay_submitted
    application = await asyncio.to_thread(cluster.create, "pi")
    await asyncio.to_thread(cluster.play, run_short)
    await run_until_logged(build_trigger(application), f"2 executors wait for a node: {FULL}")


async def test_timeout_does_not_wait_for_pauses_of_other_tasks(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(narrator, "BACKGROUND", replace(PAUSES, request=3600.0))
    application = await asyncio.to_thread(request_driver, cluster, build_pending_status(unscheduled=FULL))
    deadline = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    triggers = [build_trigger(application, deadline=deadline) for _ in range(5)]
    events = await asyncio.wait_for(asyncio.gather(*(anext(trigger.run()) for trigger in triggers)), 60)
    assert all(FULL.rstrip(".") in event.payload["sentence"] for event in events)


async def test_timeout_reports_the_state_if_the_obstacle_cannot_be_read_in_time(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def hang(*_: Any) -> None:
        await asyncio.Event().wait()

    application = await asyncio.to_thread(request_driver, cluster, build_pending_status(unscheduled=FULL))
    monkeypatch.setattr(obstacles, "read_driver_pod", hang)
    monkeypatch.setattr(narrator, "BACKGROUND", replace(PAUSES, last_check=0.5))
    deadline = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    event = (await asyncio.wait_for(anext(build_trigger(application, deadline=deadline).run()), 60)).payload
    assert "had not ended (DriverRequested)" in event["sentence"]
    assert list_warnings(caplog) == []


async def test_silent_api_at_the_timeout_is_named_as_the_cause(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def hang(*_: Any, **__: Any) -> None:
        await asyncio.Event().wait()

    application = await asyncio.to_thread(request_driver, cluster, build_pending_status())
    monkeypatch.setattr("airflow_provider_spark_operator.triggers.spark_application_runtime.read_end", hang)
    monkeypatch.setattr("airflow_provider_spark_operator.triggers.spark_application_runtime.LAST_READ_SECONDS", 0.1)
    deadline = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    await asyncio.wait_for(anext(build_trigger(application, deadline=deadline).run()), 60)
    expected = "could not read SparkApplication jobs/pi again: the Kubernetes API did not answer within 0 s"
    assert list_warnings(caplog) == [expected]
