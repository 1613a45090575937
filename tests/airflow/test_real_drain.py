"""A worker process of a real Airflow that is stopped gracefully, as by the drain of its node."""

import asyncio
import signal
from pathlib import Path

import psutil
import pytest
import yaml

from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_TRY_NUMBER
from airflow_provider_spark_operator.testing.applications import Application
from demo.task_log import find_log
from tests.airflow.test_real_triggerer import DEADLINE_SECONDS, _read_final_states
from tests.cluster import Cluster

pytestmark = [pytest.mark.airflow, pytest.mark.scheduler, pytest.mark.timeout(DEADLINE_SECONDS + 40)]

# The time after which Airflow regards the worker as dead, and the interval of this check, in seconds.
SHORT_TIMEOUTS = {
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "40",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
}
DAG_FILE = """
from datetime import timedelta
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

with DAG("deferred", schedule=None):
    SparkApplicationOperator(
        task_id="run", name="pi", py_file="local:///opt/job.py", spark_version="4.3.0", deferrable=False,
        retries=1, retry_delay=timedelta(seconds=1),
    )
"""


async def test_next_try_adopts_application_of_drained_worker(cluster: Cluster, tmp_path: Path) -> None:
    goes_on = asyncio.Event()

    async def wait_until_logged(words: str) -> None:
        log = find_log(tmp_path / "airflow", "deferred", "run").with_name("attempt=1.log")
        while not log.exists() or words not in log.read_text():  # noqa: ASYNC110 - a file of another process
            await asyncio.sleep(0.2)

    async def run_until_logged(application: Application) -> None:
        application.start(executors=2)
        await goes_on.wait()
        application.succeed()

    async def drain() -> None:
        await wait_until_logged("RunningHealthy")
        titles = {one: " ".join(one.cmdline()) for one in psutil.Process().children(recursive=True)}
        (worker,) = [one for one, title in titles.items() if "LocalExecutor: " in title and "<idle>" not in title]
        processes = [worker, *worker.children(recursive=True)]
        worker.send_signal(signal.SIGTERM)
        # Airflow signals the operator, and leaves the task running until the process is killed.
        await wait_until_logged("the next try of the task adopts the application")
        for process in processes:
            process.kill()

    seen: list[str | None] = []
    draining: list[asyncio.Task[None]] = []

    def act(states: dict[str, str | None]) -> None:
        seen.append(states.get("run"))
        if seen.count("running") == 1 and not draining:
            draining.append(asyncio.create_task(drain()))
        if seen.count("running") == 2:
            cluster.do(goes_on.set)

    cluster.script = run_until_logged
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "deferred.py").write_text(DAG_FILE)
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(cluster.kubeconfig))
    states = await _read_final_states(tmp_path, tmp_path / "dags", kubeconfig, act, **SHORT_TIMEOUTS)
    await asyncio.gather(*draining)

    assert states == {"run": "success"}
    (application,) = cluster.applications()
    assert application["metadata"]["annotations"][ANNOTATION_TRY_NUMBER] == "2"
