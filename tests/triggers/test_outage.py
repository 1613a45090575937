"""Triggers during an outage of the API server, and after its address and its credentials have changed."""

import asyncio
import json
import logging
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from airflow.sdk.bases.xcom import BaseXCom
from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_spark_operator.follow.access import outage_tolerance
from airflow_provider_spark_operator.follow.submission.stamp import TaskStamp
from airflow_provider_spark_operator.follow.watching import shared_watch, watch
from airflow_provider_spark_operator.kube import link, listwatch
from airflow_provider_spark_operator.kube.backoff import Backoff
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Unauthorized
from airflow_provider_spark_operator.kube.resources import ResourceType
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.testing.spark_clusters import ScriptedSparkCluster, stay_without_workers
from airflow_provider_spark_operator.triggers import kill, lifecycle, spark_application_runtime, start_runtime
from airflow_provider_spark_operator.triggers.spark_application import (
    SparkApplicationStateTrigger,
    SparkApplicationTrigger,
)
from airflow_provider_spark_operator.triggers.spark_cluster import SparkClusterTrigger
from airflow_provider_spark_operator.triggers.start import SparkApplicationStartTrigger
from airflow_provider_spark_operator.triggers.task_instance import Fate
from tests.cluster import NAMESPACE, Cluster, run_on
from tests.operators.tasks import DOCUMENT
from tests.relocation import relocate, shut_down
from tests.task import TaskInstance, call_when_logged, run_to_first_event

STAMP = TaskStamp("dag", "task", "run", -1, 1, "id-1")


@pytest.fixture(autouse=True)
def shorten_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "SHORTEST_READ_SECONDS", 0.0)
    for module in (outage_tolerance, watch, listwatch):
        monkeypatch.setattr(module, "Backoff", lambda longest=0.1: Backoff(first=0.01, longest=0.1))


@pytest.fixture(params=["file", "connection"])
def point_at(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cluster: Cluster
) -> Callable[[dict[str, Any]], None]:
    """A function that sets the kubeconfig of the connection `spark`: in a file, or in the connection itself."""

    def connect(extra: dict[str, Any]) -> None:
        monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps({"conn_type": "kubernetes", "extra": extra}))

    def point(kubeconfig: dict[str, Any]) -> None:
        if request.param == "connection":
            connect({"kube_config": kubeconfig})
        else:
            (tmp_path / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
            connect({"kube_config_path": str(tmp_path / "kubeconfig")})

    point(cluster.kubeconfig)
    return point


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow reports that a user has killed the task."""
    monkeypatch.setattr(kill, "read_fate_of_deferred", lambda stamp: Fate.KILLED)
    monkeypatch.setattr(spark_application_runtime, "read_fate", lambda stamp: Fate.KILLED)


def create_running_application(cluster: Cluster, name: str = "pi") -> dict[str, Any]:
    cluster.script = run_on
    return cluster.create(name, labels=STAMP.build_labels(), annotations=STAMP.build_annotations())


async def end(application: Application) -> None:
    """Let a running application succeed."""
    application.enter("Succeeded", driver=application.end_driver(0))
    application.enter("ResourceReleased")


def build_trigger(application: dict[str, Any], **parameters: Any) -> SparkApplicationTrigger:
    metadata = application["metadata"]
    return SparkApplicationTrigger(
        NAMESPACE, metadata["name"], metadata["uid"], kubernetes_conn_id="spark", stamp=asdict(STAMP), **parameters
    )


async def start_until_logged(trigger: BaseTrigger, text: str = "RunningHealthy") -> asyncio.Task[TriggerEvent]:
    """Run the trigger as the triggerer does, until its log contains the text."""
    seen = asyncio.Event()
    with call_when_logged(text, seen.set):
        task = asyncio.create_task(run_to_first_event(trigger))
        await asyncio.wait_for(seen.wait(), 60)
    return task


async def act_until_logged(
    text: str, act: Callable[[], object], logger: logging.Logger = spark_application_runtime.logger
) -> None:
    """Call `act`, and wait until the log contains the text."""
    seen = asyncio.Event()
    with call_when_logged(text, seen.set, logger):
        await asyncio.to_thread(act)
        await asyncio.wait_for(seen.wait(), 60)


async def test_tasks_end_correctly_after_address_and_token_change(
    cluster: Cluster, point_at: Callable[[dict[str, Any]], None]
) -> None:
    early = await start_until_logged(build_trigger(create_running_application(cluster, "early")))
    await act_until_logged("is not available", lambda: shut_down(cluster))
    with relocate(cluster) as kubeconfig:
        point_at(kubeconfig)
        late = await start_until_logged(build_trigger(create_running_application(cluster, "late")))
        for name in ("early", "late"):
            await asyncio.to_thread(cluster.play, end, name)
        events = await asyncio.wait_for(asyncio.gather(early, late), 60)
    assert [event.payload["outcome"] for event in events] == ["Succeeded", "Succeeded"]


@pytest.mark.parametrize("kind", ["application", "state", "cluster"])
async def test_reassigned_trigger_continues_the_outage_of_the_previous_triggerer(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    # The outage began 15 minutes ago, in another triggerer.
    latest = time.time()
    since = latest - outage_tolerance.OUTAGE_TOLERANCE_SECONDS
    monkeypatch.setattr(BaseXCom, "get_one", lambda key, **task: [since, latest])
    extra = {"kube_config": cluster.kubeconfig}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps({"conn_type": "kubernetes", "extra": extra}))
    trigger = _build_trigger_of_kind(kind, cluster)
    trigger.stamp = asdict(STAMP)  # type: ignore[attr-defined]
    await asyncio.to_thread(shut_down, cluster)
    event = await asyncio.wait_for(run_to_first_event(trigger), 60)
    assert event.payload["kind"] == "lost"
    lines = [line for line in caplog.messages if "retrying" in line]
    subject = f"Spark{'Cluster' if kind == 'cluster' else 'Application'} jobs/pi: the Kubernetes API is not available"
    assert [line.startswith(subject) and line.endswith("for up to 0 s") for line in lines] == [True]


@pytest.mark.parametrize("kind", ["application", "state", "cluster", "start"])
async def test_trigger_with_invalid_kubeconfig_waits_until_restored(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    file = tmp_path / "kubeconfig"
    extra = {"kube_config_path": str(file)}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps({"conn_type": "kubernetes", "extra": extra}))
    file.write_text("")
    trigger = _build_trigger_of_kind(kind, cluster)
    seen = asyncio.Event()
    with call_when_logged("it has no current-context", seen.set, shared_watch.logger):
        task = asyncio.create_task(run_to_first_event(trigger))
        await asyncio.wait([task, asyncio.ensure_future(seen.wait())], timeout=60, return_when="FIRST_COMPLETED")
    assert not task.done()
    file.write_text(yaml.safe_dump(cluster.kubeconfig))
    event = await asyncio.wait_for(task, 60)
    assert event.payload["kind"] in {"ended", "reached"}


async def stay_empty(_: ScriptedSparkCluster) -> None:
    """Start no pod."""


def _build_trigger_of_kind(kind: str, cluster: Cluster) -> BaseTrigger:
    if kind == "start":
        trigger = SparkApplicationStartTrigger(DOCUMENT, name="pi", kubernetes_conn_id="spark")
        trigger.task_instance = cast("Any", TaskInstance())
        return trigger
    if kind == "cluster":
        document = {"apiVersion": "spark.apache.org/v1", "kind": "SparkCluster", "metadata": {"name": "pi"}, "spec": {}}
        cluster.cluster_script = stay_without_workers
        made = cluster.do(lambda: cluster.store.create(cluster.cluster_kind, NAMESPACE, document))
        return SparkClusterTrigger("pi", NAMESPACE, made["metadata"]["uid"], kubernetes_conn_id="spark")
    application = cluster.create("pi", labels=STAMP.build_labels(), annotations=STAMP.build_annotations())
    if kind == "state":
        return SparkApplicationStateTrigger("pi", ["Succeeded"], kubernetes_conn_id="spark")
    return build_trigger(application)


async def test_rotated_token_does_not_end_the_wait(
    cluster: Cluster, point_at: Callable[[dict[str, Any]], None], caplog: pytest.LogCaptureFixture
) -> None:
    port = int(cluster.kubeconfig["clusters"][0]["cluster"]["server"].rpartition(":")[2])
    task = await start_until_logged(build_trigger(create_running_application(cluster)))
    shut_down(cluster)
    with relocate(cluster, port) as kubeconfig:
        await act_until_logged("renew the token of user 'test'", lambda: None)
        point_at(kubeconfig)
        await asyncio.to_thread(cluster.play, end)
        event = await asyncio.wait_for(task, 60)
    assert event.payload["outcome"] == "Succeeded"
    assert "connection 'spark'" in caplog.text


@pytest.mark.usefixtures("killed")
async def test_kill_during_outage_deletes_application_after_it(
    cluster: Cluster, point_at: Callable[[dict[str, Any]], None], caplog: pytest.LogCaptureFixture
) -> None:
    trigger = build_trigger(create_running_application(cluster))
    task = await start_until_logged(trigger)
    shut_down(cluster)
    task.cancel("user-action")
    await asyncio.gather(task, return_exceptions=True)
    seen = asyncio.Event()
    with call_when_logged("deletion of SparkApplication jobs/pi: the Kubernetes API is not available", seen.set):
        killing = asyncio.create_task(trigger.on_kill())
        await asyncio.wait_for(seen.wait(), 60)
    killing.cancel()  # as Airflow does after a second, and then repeatedly
    with relocate(cluster) as kubeconfig:
        point_at(kubeconfig)
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(killing, 60)
    assert "the task was stopped; SparkApplication jobs/pi is being deleted" in caplog.text
    assert cluster.applications() == []


@pytest.mark.usefixtures("killed")
async def test_deletion_continues_after_the_longest_stay_of_its_trigger(
    cluster: Cluster,
    point_at: Callable[[dict[str, Any]], None],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lifecycle, "LONGEST_KILL_SECONDS", 0.0)
    trigger = build_trigger(create_running_application(cluster))
    shut_down(cluster)
    await trigger.on_kill()
    assert "deletion of SparkApplication jobs/pi continues in the triggerer after the end of this log" in caplog.text
    (deletion,) = lifecycle._tasks
    with relocate(cluster) as kubeconfig:
        point_at(kubeconfig)
        await asyncio.wait_for(deletion, 60)
    assert cluster.applications() == []


async def test_evidence_is_read_after_credentials_were_rejected(
    cluster: Cluster, point_at: Callable[[dict[str, Any]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    rejecting = asyncio.Event()
    for verb in ("get", "list"):
        original = getattr(KubeClient, verb)

        async def reject(
            self: KubeClient, resource: ResourceType, *arguments: Any, original: Any = original, **options: Any
        ) -> Any:
            if rejecting.is_set():
                raise Unauthorized(401, "Unauthorized", "Unauthorized", "get", resource.qualified_name)
            return await original(self, resource, *arguments, **options)

        monkeypatch.setattr(KubeClient, verb, reject)

    async def fail_now(application: Application) -> None:
        application.log.write("something went wrong")
        application.enter("Failed", driver=application.end_driver(3))
        application.enter("ResourceReleased")

    task = await start_until_logged(build_trigger(create_running_application(cluster), driver_log=False))
    rejecting.set()
    with call_when_logged("is not available", rejecting.clear, watch.logger):
        await asyncio.to_thread(cluster.play, fail_now)
        event = await asyncio.wait_for(task, 60)
    assert not rejecting.is_set()
    assert event.payload["outcome"] == "Failed"
    assert event.payload["sentence"].endswith("\nLast lines of the driver's log:\n  something went wrong")


def _build_state_trigger(cluster: Cluster) -> SparkApplicationStateTrigger:
    create_running_application(cluster)
    return SparkApplicationStateTrigger(
        "pi", ["Succeeded"], kubernetes_conn_id="spark", stamp=asdict(STAMP), delete_on_kill=True
    )


def _build_cluster_trigger(cluster: Cluster) -> SparkClusterTrigger:
    cluster.cluster_script = stay_empty
    document = {
        "apiVersion": "spark.apache.org/v1",
        "kind": "SparkCluster",
        "metadata": {"name": "pi", "labels": STAMP.build_labels(), "annotations": STAMP.build_annotations()},
        "spec": {},
    }
    made = cluster.do(lambda: cluster.store.create(cluster.cluster_kind, NAMESPACE, document))
    uid = made["metadata"]["uid"]
    return SparkClusterTrigger("pi", NAMESPACE, uid, kubernetes_conn_id="spark", stamp=asdict(STAMP))


@pytest.mark.usefixtures("killed")
@pytest.mark.parametrize("make", [_build_state_trigger, _build_cluster_trigger], ids=["state", "cluster"])
async def test_each_trigger_deletes_after_outage(
    cluster: Cluster,
    point_at: Callable[[dict[str, Any]], None],
    make: Callable[[Cluster], SparkApplicationStateTrigger | SparkClusterTrigger],
) -> None:
    trigger = make(cluster)
    shut_down(cluster)
    deletion = asyncio.create_task(trigger.on_kill())
    with relocate(cluster) as kubeconfig:
        point_at(kubeconfig)
        await asyncio.wait_for(deletion, 60)
    assert [one for one in cluster.applications() + cluster.spark_clusters() if _is_left(one)] == []


def _is_left(resource: dict[str, Any]) -> bool:
    return not resource["metadata"].get("deletionTimestamp")


async def test_application_of_start_trigger_is_deleted_after_outage(
    cluster: Cluster, point_at: Callable[[dict[str, Any]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kill, "read_fate_of_deferred", lambda stamp: Fate.KILLED)
    cluster.script = run_on
    trigger = SparkApplicationStartTrigger(DOCUMENT, name="pi", kubernetes_conn_id="spark")
    trigger.task_instance = cast("Any", TaskInstance())
    task = await start_until_logged(trigger)
    shut_down(cluster)
    task.cancel("user-action")
    await asyncio.gather(task, return_exceptions=True)
    seen = asyncio.Event()
    with call_when_logged("deletion of the resources of this task: the Kubernetes API", seen.set, start_runtime.logger):
        deletion = asyncio.create_task(trigger.on_kill())
        await asyncio.wait_for(seen.wait(), 60)
    with relocate(cluster) as kubeconfig:
        point_at(kubeconfig)
        await asyncio.wait_for(deletion, 60)
    assert cluster.applications() == []
