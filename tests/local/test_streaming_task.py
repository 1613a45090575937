"""A task with a streaming query and real Spark: progress, a graceful replacement, a lost checkpoint, and `stop`."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from airflow_provider_spark_operator.local.cluster import run_cluster
from tests.cli.process import start_command, wait_for_exit

from kubelet.running_node import wait_until_async

EXAMPLES = Path(__file__).parents[2] / "example_dags"
LOST = "its query clicks began with batch 0: the checkpoint is lost"
DEADLINE = 160


def run_example(folder: Path, run_id: str) -> Any:
    """Run the task of the example as Airflow does, in a run of its own."""
    from airflow_provider_spark_operator.testing.tasks import TaskInstance, run

    task = run_path(str(EXAMPLES / "spark_streaming.py"))["dag"].get_task("start_clicks")
    task.image, task.service_account, task.kubernetes_conn_id = "spark:4.3.0", "spark", None
    task.deferrable = False  # `run` limits the time of a trigger
    task.arguments = [str(folder / "output"), str(folder / "checkpoint")]
    task_instance = TaskInstance("start_clicks")
    task_instance.run_id = run_id
    return run(task, task_instance)


class _Recorder(logging.Handler):
    """Collects the lines of a log. Airflow replaces the handlers of the root logger when it is imported."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@pytest.fixture
def task_log() -> Iterator[list[str]]:
    """The lines that the provider writes to the log of a task."""
    recorder, log = _Recorder(), logging.getLogger("airflow_provider_spark_operator")
    log.addHandler(recorder)
    yield recorder.lines
    log.removeHandler(recorder)


@pytest.mark.spark
@pytest.mark.airflow
@pytest.mark.timeout(600)
async def test_new_versions_replace_the_running_one_and_stop_ends_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task_log: list[str]
) -> None:
    async with run_cluster(tmp_path / "home") as cluster:
        monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))

        async def read_uid() -> str:
            found = (await cluster.client.list(SPARK_APPLICATIONS, "default")).items
            assert len(found) == 1
            return str(found[0]["metadata"]["uid"])

        assert await asyncio.to_thread(run_example, tmp_path, "first") == "clicks"
        uids = [await read_uid()]
        commits = tmp_path / "checkpoint" / "commits"

        async def has_commits() -> bool:
            return len(list(commits.glob("[0-9]*"))) >= 2

        await wait_until_async(has_commits, seconds=DEADLINE)
        task_log.clear()
        assert await asyncio.to_thread(run_example, tmp_path, "second") == "clicks"
        uids.append(await read_uid())
        assert any("asked SparkApplication default/clicks to stop" in line for line in task_log)
        assert not any("did not stop within" in line or LOST in line for line in task_log)
        await asyncio.to_thread(run_example, tmp_path / "moved", "third")
        uids.append(await read_uid())
        assert len(set(uids)) == 3
        assert any(LOST in line for line in task_log)
        async with start_command("stop", "clicks", "--kubeconfig", str(cluster.kubeconfig), home=tmp_path) as process:
            code, _, err = await wait_for_exit(process, DEADLINE)
        assert code == ExitCode.SUCCESS, err
