"""A streaming task on a real node: a new version, which continues from the checkpoint, and a stall."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.exceptions import SparkStreamStalled
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.parameters import Streaming, Volume
from tests.e2e.node import NEEDED, PARAMETERS, wait_until
from tests.task import TaskInstance, run

pytestmark = [
    *NEEDED,
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default", r"error:::airflow_provider_spark_operator"),
]

JOB = Path(__file__).parents[2] / "example_dags" / "jobs" / "clicks.py"
# The first batch takes a moment, and the second one does not end.
STALLING = """
import time
from pyspark.sql import SparkSession
from spark_task import report

clicks = SparkSession.builder.getOrCreate().readStream.format("rate").load()
writer = clicks.writeStream.foreachBatch(lambda rows, batch: time.sleep(3600 * batch))
report.run(writer.queryName("clicks").start())
"""


def start(run_id: str, py_file: Path, streaming: Streaming, **parameters: Any) -> Any:
    """Run a task with the application `clicks` to its end, in a DAG run of its own."""
    task_instance = TaskInstance()
    task_instance.run_id = run_id
    task = SparkApplicationOperator(
        task_id="run", name="clicks", py_file=str(py_file), streaming=streaming, **PARAMETERS, **parameters
    )
    return run(task, task_instance)


async def test_new_version_continues_from_the_checkpoint_of_the_version_that_it_stops(
    client: KubeClient,
    driven: str,
    connect_airflow: Callable[..., Awaitable[Path]],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    await connect_airflow("airflow", "command-line")
    caplog.set_level(logging.INFO, "airflow_provider_spark_operator")
    folder = {"path": str(tmp_path / "data"), "type": "DirectoryOrCreate"}  # on the node
    parameters = {
        "arguments": ["/data/output", "/data/checkpoint"],
        "volumes": [Volume("data", "/data", source={"hostPath": folder})],
    }
    goal = Streaming(wait_for="progress")

    async def read_first_batch() -> int:
        lines = [line async for line in client.logs(driven, "clicks-0-driver") if line.startswith("spark-task ")]
        reported = [json.loads(line.removeprefix("spark-task "))["queries"]["clicks"]["first"] for line in lines]
        return next(int(first) for first in reported if first is not None)

    assert await asyncio.to_thread(start, "first", JOB, goal, **parameters) == "clicks"
    first = await client.get(SPARK_APPLICATIONS, "clicks", driven)
    assert await read_first_batch() == 0
    caplog.clear()
    assert await asyncio.to_thread(start, "second", JOB, goal, **parameters) == "clicks"
    second = await client.get(SPARK_APPLICATIONS, "clicks", driven)
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    assert await read_first_batch() > 0
    assert "to stop" in caplog.text
    assert not any(text in caplog.text for text in ("did not stop within", "the checkpoint is lost", "gracefully"))


async def test_stall_ends_the_application_and_is_named(
    client: KubeClient, driven: str, connect_airflow: Callable[..., Awaitable[Path]], tmp_path: Path
) -> None:
    await connect_airflow("airflow")
    (tmp_path / "job.py").write_text(STALLING)
    goal = Streaming(stalled_after=30, on_stall="fail")
    with pytest.raises(SparkStreamStalled, match=r"clicks is stalled: its .* no progress .*for"):
        await asyncio.to_thread(start, "first", tmp_path / "job.py", goal)

    async def is_deleted() -> bool:
        return not (await client.list(SPARK_APPLICATIONS, driven)).items

    await wait_until(is_deleted)
