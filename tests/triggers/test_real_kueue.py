"""Ten deferred tasks through a queue of a real Kueue with room for two. The test plays the kubelet.

KUEUE_KUBECONFIG names the kubeconfig of a cluster on which Kueue runs.
"""

import asyncio
import json
import logging
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.exceptions import SparkApplicationFailed
from airflow_provider_spark_operator.follow.narration import narrator
from airflow_provider_spark_operator.follow.narration.obstacles import Pauses
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import NotFound
from airflow_provider_spark_operator.kube.resources import PODS, SPARK_APPLICATIONS
from tests.operators.tasks import operator
from tests.reconcile.harness import state_of
from tests.reconcile.kueue_harness import CLUSTER_QUEUES, KUBECONFIG, QueuedNamespace, client, pytestmark, queued
from tests.task import TaskInstance, build_context, defer, reload, run_to_first_event

__all__ = ["client", "pytestmark", "queued"]

NAMES = [f"job-{number}" for number in range(10)]
FAILED = {"job-3", "job-7"}
ROOM = 2
DOCUMENT: dict[str, Any] = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkApplication",
    "spec": {
        "pyFiles": "local:///opt/job.py",
        "runtimeVersions": {"sparkVersion": "4.3.0"},
        "sparkConf": {"spark.executor.instances": "1", "spark.kubernetes.container.image": "spark:4.3.0"},
    },
}


class Kubelet:
    """Runs the drivers that the controller creates, until all applications have ended.

    Attributes:
        most: How many drivers had not ended at the same time.
    """

    def __init__(self, queued: QueuedNamespace) -> None:
        self.most = 0
        self._queued = queued

    async def run(self) -> None:
        while True:
            states = await self._read_states()
            drivers = [name for name, state in states.items() if state == ApplicationState.DRIVER_REQUESTED]
            pods = await self._queued.api.client.list(PODS, self._queued.api.namespace)
            # A failed driver is kept, and its Workload is finished.
            alive = [pod for pod in pods.items if pod["status"].get("phase") not in ("Succeeded", "Failed")]
            self.most = max(self.most, len(alive))
            for name in drivers:
                with suppress(NotFound):
                    end = "failed" if name in FAILED else "succeeded"
                    await self._queued.api.set_pod(f"{name}-0-driver", "ready")
                    await self._queued.api.set_pod(f"{name}-0-driver", end)
            await asyncio.sleep(0.2)

    async def _read_states(self) -> dict[str, str | None]:
        found = await self._queued.api.client.list(SPARK_APPLICATIONS, self._queued.api.namespace)
        return {item["metadata"]["name"]: state_of(item) for item in found.items}


@pytest.fixture
async def room(queued: QueuedNamespace, client: KubeClient) -> QueuedNamespace:
    """A namespace whose queue has room for two applications."""
    queue = await client.get(CLUSTER_QUEUES, queued.name, None)
    for resource, quota in zip(queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"], (4, "8Gi"), strict=True):
        resource["nominalQuota"] = quota
    patch = {"spec": {"resourceGroups": queue["spec"]["resourceGroups"]}}
    await client.patch(CLUSTER_QUEUES, queued.name, None, patch)
    return queued


@pytest.mark.parametrize("queued", [False], indirect=True, ids=["running"])
async def test_ten_deferred_tasks_end_as_their_applications_do(
    room: QueuedNamespace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(narrator, "BACKGROUND", Pauses((0.05, 0.5), (0.05, 0.5), request=0.0))
    kubeconfig = yaml.safe_load(await asyncio.to_thread(Path(str(KUBECONFIG)).read_text))
    access = {"kube_config": kubeconfig, "namespace": room.api.namespace}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps({"conn_type": "kubernetes", "extra": access}))
    tasks = {name: operator(True, DOCUMENT, name=name, kueue_queue=room.name, get_logs=False) for name in NAMES}
    instances = {name: TaskInstance(task_id=name) for name in NAMES}
    kubelet = Kubelet(room)
    with caplog.at_level(logging.INFO):
        deferrals = {name: await asyncio.to_thread(defer, tasks[name], instances[name]) for name in NAMES}
        running = asyncio.create_task(kubelet.run())
        async with asyncio.timeout(240):
            events = await asyncio.gather(*(run_to_first_event(reload(deferrals[name].trigger)) for name in NAMES))
        running.cancel()
        await asyncio.wait([running])
    for name, event in zip(NAMES, events, strict=True):
        method, context = deferrals[name].method_name, build_context(instances[name])
        resume = asyncio.to_thread(tasks[name].resume_execution, method, {"event": event.payload}, context)
        if name in FAILED:
            with pytest.raises(SparkApplicationFailed):
                await resume
        else:
            assert await resume == name
    assert 1 <= kubelet.most <= ROOM
    waits = f"is waiting: it waits for Kueue admission in queue {room.name}"
    assert waits in caplog.text
    assert "quota" in caplog.text
