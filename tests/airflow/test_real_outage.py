"""A real triggerer while the API server's address, certificate authority and token change; it is never restarted."""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from demo.task_log import find_log
from local_kubernetes.api.server.tls import issue_identity
from tests.airflow.test_real_triggerer import DEADLINE_SECONDS, _read_final_states
from tests.cluster import Cluster
from tests.relocation import relocate, shut_down

pytestmark = [pytest.mark.airflow, pytest.mark.scheduler, pytest.mark.timeout(DEADLINE_SECONDS + 40)]

DAG_FILE = """
import time
from pathlib import Path

from airflow.sdk import DAG, task
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

def application(name):
    # Without retries: a lost wait must not be repaired by another try.
    return SparkApplicationOperator(
        task_id=name, name=name, py_file="local:///opt/job.py", spark_version="4.3.0", retries=0,
        deferrable=name != "on-worker",
    )

with DAG("deferred", schedule=None):
    for name in {before}:
        application(name)

    @task
    def gate():
        while not Path({gate!r}).exists():
            time.sleep(0.2)

    if {after}:
        gate() >> [application(name) for name in {after}]
"""
MARK_FAILED = """
import sys
from airflow.models.taskinstance import TaskInstance
from airflow.utils.session import create_session
with create_session() as session:
    session.query(TaskInstance).filter(TaskInstance.task_id == sys.argv[1]).update({"state": "failed"})
"""


class DeferredDag:
    """The files of the DAG, the logs of its tasks, and the actions of a user."""

    def __init__(self, folder: Path, cluster: Any) -> None:
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"
        self.states: dict[str, str | None] = {}
        self._cluster = cluster
        self._gate = folder / "gate"

    def prepare(self, before: list[str], after: list[str]) -> None:
        """Write the DAG, with tasks that start immediately and tasks that wait for the gate."""
        (self.folder / "dags").mkdir()
        text = DAG_FILE.format(before=before, after=after, gate=str(self._gate))
        (self.folder / "dags" / "deferred.py").write_text(text)
        self.configure(self._cluster.kubeconfig)

    def configure(self, kubeconfig: dict[str, Any]) -> None:
        """Write the kubeconfig in one step, as tools that rotate credentials do."""
        written = self.folder / "kubeconfig.new"
        written.write_text(yaml.safe_dump(kubeconfig))
        written.replace(self.kubeconfig)

    def open_gate(self) -> None:
        self._gate.touch()

    def read_log(self, name: str) -> str:
        """Return the messages of the triggerer and the worker in the log of a task."""
        folder = find_log(self.folder / "airflow", "deferred", name).parent
        lines = [line for path in folder.glob("attempt=*.log*") for line in path.read_text().splitlines()]
        return "\n".join(str(json.loads(line).get("event")) for line in lines if line.startswith("{"))

    async def mark_failed(self, name: str) -> None:
        """Mark a task as failed, with the same effect on the triggerer as in the user interface."""
        environment = os.environ | {"AIRFLOW_HOME": str(self.folder / "airflow")}
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", MARK_FAILED, name, env=environment)
        assert await process.wait() == 0

    def end(self, *names: str) -> None:
        for name in names:
            self._cluster.play(_succeed, name)

    async def run(self, act: Callable[[], Any]) -> dict[str, str | None]:
        """Run the DAG and, at the same time, the actions. Return the final states."""
        actions = asyncio.create_task(act())
        try:
            run = asyncio.create_task(
                _read_final_states(self.folder, self.folder / "dags", self.kubeconfig, self.states.update)
            )
            await asyncio.wait({actions, run}, return_when=asyncio.FIRST_COMPLETED)
            if actions.done():
                actions.result()
            return await run
        finally:
            run.cancel()
            actions.cancel()
            await asyncio.gather(actions, run, return_exceptions=True)


async def _succeed(application: Any) -> None:
    application.enter("Succeeded", driver=application.end_driver(0))
    application.enter("ResourceReleased")


async def _run_on(application: Any) -> None:
    application.start(executors=2)


async def _wait_until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - files of other processes
        await asyncio.sleep(0.2)


async def test_tasks_end_after_address_authority_and_token_change(cluster: Cluster, tmp_path: Path) -> None:
    dag = DeferredDag(tmp_path, cluster)
    cluster.script = _run_on
    early = ["early", "killed-then", "killed-later"]
    dag.prepare(before=early, after=["late"])
    identity = issue_identity(tmp_path)

    def all_logged(words: str, *names: str) -> Callable[[], bool]:
        return lambda: all(words in dag.read_log(name) for name in names)

    async def act() -> None:
        await _wait_until(all_logged("RunningHealthy", *early))
        await asyncio.to_thread(shut_down, cluster)
        # Each waiting task logs the outage, not only the first task.
        await _wait_until(all_logged("the Kubernetes API is not available", *early))
        await dag.mark_failed("killed-then")
        await _wait_until(lambda: dag.states.get("killed-then") == "failed")
        with relocate(cluster, identity=identity) as kubeconfig:
            dag.configure(kubeconfig)
            await _wait_until(lambda: "killed-then" not in _list_names(cluster))
            dag.open_gate()
            await _wait_until(all_logged("RunningHealthy", "late"))
            await dag.mark_failed("killed-later")
            await _wait_until(lambda: "killed-later" not in _list_names(cluster))
            await asyncio.to_thread(dag.end, "early", "late")
            await _wait_until(lambda: {dag.states.get(name) for name in ("early", "late")} == {"success"})

    states = await dag.run(act)

    assert states == {
        "early": "success",
        "killed-then": "failed",
        "killed-later": "failed",
        "gate": "success",
        "late": "success",
    }
    assert _list_names(cluster) == {"early", "late"}


async def test_rotated_token_does_not_end_the_wait_in_triggerer_or_on_worker(cluster: Cluster, tmp_path: Path) -> None:
    dag = DeferredDag(tmp_path, cluster)
    cluster.script = _run_on
    tasks = ["one", "other", "on-worker"]
    dag.prepare(before=tasks, after=[])
    port = int(cluster.kubeconfig["clusters"][0]["cluster"]["server"].rpartition(":")[2])

    async def act() -> None:
        await _wait_until(lambda: all("RunningHealthy" in dag.read_log(name) for name in tasks))
        await asyncio.to_thread(shut_down, cluster)
        with relocate(cluster, port) as kubeconfig:
            rejected = "renew the token of user 'test' in kubeconfig"
            await _wait_until(lambda: all(rejected in dag.read_log(name) for name in tasks))
            dag.configure(kubeconfig)
            await asyncio.to_thread(dag.end, *tasks)
            await _wait_until(lambda: {dag.states.get(name) for name in tasks} == {"success"})

    assert await dag.run(act) == dict.fromkeys(tasks, "success")


def _list_names(cluster: Any) -> set[str]:
    return {one["metadata"]["name"] for one in cluster.applications()}
