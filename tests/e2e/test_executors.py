"""Executors that run one task at a time, and executors on a spot node, on a real node."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import PODS, ResourceType
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from tests.e2e.node import NEEDED, PARAMETERS, wait_until
from tests.task import TaskInstance, run

pytestmark = [
    *NEEDED,
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default", r"error:::airflow_provider_spark_operator"),
]

NODES = ResourceType("", "v1", "nodes", "Node")
SPOT = "example.com/spot"
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


@pytest.fixture
async def set_spot(client: KubeClient) -> AsyncIterator[Callable[[str | None], Awaitable[None]]]:
    """A function that sets the label of spot nodes on the first node, or removes it."""
    name = (await client.list(NODES, None)).items[0]["metadata"]["name"]

    async def label(value: str | None) -> None:
        await client.patch(NODES, name, None, {"metadata": {"labels": {SPOT: value}}})

    yield label
    await label(None)


async def test_driver_avoids_spot_nodes_and_executors_wait_for_one(
    client: KubeClient,
    driven: str,
    connect_airflow: Callable[..., Awaitable[Path]],
    set_spot: Callable[[str | None], Awaitable[None]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await connect_airflow("airflow")
    spot = {"nodeSelector": {SPOT: "true"}, "spot": True, "coreHour": 1, "gibHour": 0}
    prices = {"currency": "EUR", "prices": [spot, {"coreHour": 3, "gibHour": 0}]}
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__PRICES", json.dumps(prices))

    async def is_scheduled(role: str, expected: str) -> bool:
        pods = (await client.list(PODS, driven, label_selector=f"spark-role={role}")).items
        conditions = [each for pod in pods for each in pod["status"].get("conditions", ())]
        return any((each["type"], each["status"]) == ("PodScheduled", expected) for each in conditions)

    async def driver_waits() -> bool:
        return await is_scheduled("driver", "False")

    async def driver_runs_and_executor_waits() -> bool:
        return await is_scheduled("driver", "True") and await is_scheduled("executor", "False")

    task_instance = TaskInstance()
    await set_spot("true")
    running = asyncio.create_task(asyncio.to_thread(start, tmp_path, task_instance, executors_on_spot={SPOT: "true"}))
    await wait_until(driver_waits)
    await set_spot(None)
    await wait_until(driver_runs_and_executor_waits)
    await set_spot("true")
    await running
    totals = task_instance.xcoms["spark_run"]["totals"]
    assert 0 < totals["cost"]["spot"] < totals["cost"]["amount"], totals
