"""A Spark Connect server that tasks of a DAG run share, in real Airflow processes that are killed, with real Spark."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.follow.access.connect import find_missing_packages
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import PODS, SECRETS, SPARK_APPLICATIONS
from airflow_provider_spark_operator.local.cluster import run_cluster
from tests.airflow.real_run import DEADLINE_SECONDS, RealRun, run_real_dag
from tests.airflow.worker_processes import kill_tree

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.scheduler,
    pytest.mark.timeout(DEADLINE_SECONDS + 40),
    pytest.mark.skipif(bool(find_missing_packages()), reason="the extra `connect` is not installed"),
    pytest.mark.filterwarnings("default"),
]

# The times after which Airflow regards a killed process as dead, in seconds.
SHORT_TIMEOUTS = {
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "10",
    "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "20",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "30",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
    "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "15",
}
LIMITS = (1, 2, 3)
DAG_FILE = f"""
import os
import time
from datetime import timedelta
from pathlib import Path
from airflow.sdk import DAG, task
from airflow_provider_spark_operator.operators.spark_connect import DeleteSparkConnectOperator, SparkConnectOperator

# A task loses a try when its worker or the scheduler is killed.
with DAG("deferred", schedule=None, default_args={{"retries": 9, "retry_delay": timedelta(seconds=1)}}):
    server = SparkConnectOperator(
        task_id="start", image="apache/spark:4.3.0", executor_instances=1, deferrable=True, get_logs=False
    )
    stop = DeleteSparkConnectOperator(task_id="stop", server=server)

    @task.spark_connect(server=server)
    def count(limit, spark, ti):
        assert spark.range(limit).count() == limit
        Path(FOLDER, f"{{limit}}-{{ti.try_number}}").touch()
        while not Path(FOLDER, "end").exists():
            time.sleep(0.2)

    count.expand(limit={list(LIMITS)}) >> stop.as_teardown(setups=server)
"""


@dataclass
class ServerRun:
    """A run of the DAG, and the cluster on which its server runs."""

    run: RealRun
    client: KubeClient
    folder: Path

    async def wait_for_sessions(self, before: Sequence[int] = (0,) * len(LIMITS)) -> Sequence[int]:
        """Wait until each mapped task had more sessions than before. Return their numbers."""

        def count() -> list[int]:
            return [len(list(self.folder.glob(f"{limit}-*"))) for limit in LIMITS]

        await self.run.until(lambda: all(now > then for now, then in zip(count(), before, strict=True)))
        return count()

    async def kill(self, kind: str, name: str) -> None:
        """Kill a process of Airflow with its workers, as the loss of a machine does, and start another one."""
        kill_tree(self.run.processes[name])
        await self.run.start(f"{name} again", kind)

    async def wait_for_server(self, condition: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
        """Wait until a condition of the applications is true, and return them."""
        while not condition(found := (await self.client.list(SPARK_APPLICATIONS, "default")).items):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        return found


async def kill_processes(server: ServerRun) -> None:
    """Kill the triggerer while the server starts, and the scheduler with its workers during sessions and deletion."""
    await server.run.until(lambda: server.run.states.get("start") == "deferred")
    await server.kill("triggerer", "triggerer")
    sessions = await server.wait_for_sessions()
    await server.kill("scheduler", "scheduler")
    await server.wait_for_sessions(sessions)
    (server.folder / "end").touch()
    await server.wait_for_server(lambda found: all("deletionTimestamp" in one["metadata"] for one in found))
    await server.kill("scheduler", "scheduler again")


async def clear_twice(server: ServerRun) -> None:
    """Clear all tasks while the server starts, and again during sessions, in which the server must remain."""
    await server.run.until(lambda: server.run.states.get("start") == "deferred")
    await asyncio.to_thread(server.run.clear)
    sessions = await server.wait_for_sessions()
    (before,) = await server.wait_for_server(bool)
    await asyncio.to_thread(server.run.clear)
    await server.wait_for_sessions(sessions)
    (after,) = await server.wait_for_server(bool)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


@pytest.mark.parametrize("disturb", [kill_processes, clear_twice])
async def test_nothing_is_left_after_teardown(disturb: Callable[[ServerRun], Awaitable[None]], tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    async with run_cluster(tmp_path / "home") as cluster:
        extra = {"kube_config_path": str(cluster.kubeconfig)}
        connection = json.dumps({"conn_type": "kubernetes", "extra": extra})
        settings = SHORT_TIMEOUTS | {"AIRFLOW_CONN_KUBERNETES_DEFAULT": connection}
        dag_file = DAG_FILE.replace("FOLDER", repr(str(sessions)))
        async with run_real_dag(None, tmp_path, dag_file, settings=settings) as run:
            await disturb(ServerRun(run, cluster.client, sessions))
            (sessions / "end").touch()
            assert await run.wait_for_end() == dict.fromkeys(("start", "count", "stop"), "success")
        kinds = (SPARK_APPLICATIONS, PODS, SECRETS)
        async with asyncio.timeout(60):
            while any([(await cluster.client.list(kind, "default")).items for kind in kinds]):  # noqa: ASYNC110
                await asyncio.sleep(0.2)  # the garbage collector needs a moment
