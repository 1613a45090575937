"""Executors that run one task at a time, on a real node."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from tests.e2e.node import NEEDED, PARAMETERS
from tests.task import TaskInstance, run

pytestmark = [
    *NEEDED,
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default", r"error:::airflow_provider_spark_operator"),
]

# Eight tasks of half a second, and the largest number of them at the same time.
JOB = """
import time
from pyspark.sql import SparkSession
from spark_task import report

def work(number):
    begin = time.time()
    time.sleep(0.5)
    return begin, time.time()

context = SparkSession.builder.getOrCreate().sparkContext
times = context.parallelize(range(8), 8).map(work).collect()
report.metadata(most=max(sum(begin <= time < end for begin, end in times) for time, _ in times))
"""


def start(folder: Path, task_instance: TaskInstance, **parameters: Any) -> Any:
    (folder / "job.py").write_text(JOB)
    task = SparkApplicationOperator(
        task_id="run", name="work", py_file=str(folder / "job.py"), executor_cores=4, **PARAMETERS, **parameters
    )
    return run(task, task_instance)


async def test_executor_in_recovery_mode_runs_one_task_at_a_time(
    driven: str, connect_airflow: Callable[..., Awaitable[Path]], tmp_path: Path
) -> None:
    await connect_airflow("airflow")
    task_instance = TaskInstance()
    await asyncio.to_thread(start, tmp_path, task_instance, executor_recovery=True)
    assert task_instance.xcoms["spark_report"]["metadata"] == {"most": 1}
