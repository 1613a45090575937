"""Run Spark Connect servers on a real node: from rendered resources, and shared by the tasks of a DAG run."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Semaphore
from typing import Any

import pytest
from airflow.sdk import DAG, task

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.exceptions import SparkInfrastructureFailed
from airflow_provider_spark_operator.follow.access.connect import find_missing_packages
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import PODS, SECRETS, SPARK_APPLICATIONS, resource_type_of
from airflow_provider_spark_operator.operators.spark_connect import DeleteSparkConnectOperator, SparkConnectOperator
from tests.cli.process import run_command
from tests.e2e.node import DEADLINE, NEEDED, PARAMETERS, build_application, wait_for_pod, wait_until
from tests.task import TaskInstance, run

pytestmark = NEEDED
TASKS = 20
SCRIPT = """
import sys
from pyspark.sql import SparkSession

print("rows", SparkSession.builder.getOrCreate().range(int(sys.argv[1])).count())
"""

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
STARTED = "Spark Connect server started at"


def has_begun(pod: dict[str, Any]) -> bool:
    return any("waiting" not in each["state"] for each in pod["status"].get("containerStatuses", ()))


async def test_rendered_connect_server_answers(
    client: KubeClient, namespace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "app.json"
    file.write_text(json.dumps(build_application("connect", {}, mainClass=SERVER)))
    assert main(["render", str(file), "-n", namespace, "-o", "json"]) == 0
    rendered = json.loads(capsys.readouterr().out)["items"]
    for each in rendered:
        await client.create(resource_type_of(each), each, namespace)
    driver = next(each["metadata"]["name"] for each in rendered if each["kind"] == "Pod")
    seen: list[str] = []
    async with asyncio.timeout(DEADLINE):
        await wait_for_pod(client, namespace, driver, has_begun)
        async for line in client.logs(namespace, driver, follow=True):
            seen.append(line)
            if STARTED in line:
                break
    assert any(STARTED in line and ":15002" in line for line in seen), "\n".join(seen[-50:])


def count(number: int, spark: Any) -> int:
    return int(spark.range(number).count())


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a function as a task with a session of the server `shared`."""
    with DAG("etl"):
        called: Any = task.spark_connect(name="shared", kubernetes_conn_id="spark")(function)(*arguments)
    return run(called.operator, TaskInstance(f"{function.__name__}_{arguments[0]}"))


@pytest.mark.airflow
@pytest.mark.skipif(bool(find_missing_packages()), reason="the extra `connect` is not installed")
@pytest.mark.filterwarnings("default", r"error:::airflow_provider_spark_operator")
async def test_tasks_and_scripts_share_a_server_until_it_is_lost(
    client: KubeClient, driven: str, tmp_path: Path, connect_airflow: Callable[..., Awaitable[Path]]
) -> None:
    kubeconfig = await connect_airflow("airflow", "connect")
    server = SparkConnectOperator(task_id="start", name="shared", **PARAMETERS)
    url = await asyncio.to_thread(run, server, TaskInstance("start"))
    assert url == f"sc://shared-0-driver-svc.{driven}.svc:15002"
    loop, busy = asyncio.get_running_loop(), Semaphore(0)

    def run_for_hours(number: int, spark: Any) -> None:
        busy.release()
        spark.range(10**15).selectExpr(f"sum(id % {number + 7})").collect()

    with ThreadPoolExecutor(TASKS) as pool:
        counts = [loop.run_in_executor(pool, call, count, number) for number in range(TASKS)]
        assert await asyncio.gather(*counts) == [*range(TASKS)]

        script = tmp_path / "report.py"
        script.write_text(SCRIPT)
        words = ("connect", "shared", "--exec", str(script), "1000", "--kubeconfig", str(kubeconfig), "-n", driven)
        code, out, err = await run_command(*words, home=tmp_path)
        assert (code, out) == (ExitCode.SUCCESS, "rows 1000\n"), err

        lost = [loop.run_in_executor(pool, call, run_for_hours, number) for number in range(TASKS)]
        for _ in range(TASKS):
            await asyncio.to_thread(busy.acquire)
        await client.delete(PODS, "shared-0-driver", driven, grace_seconds=0)
        results = await asyncio.gather(*lost, return_exceptions=True)
    assert [type(each) for each in results] == [SparkInfrastructureFailed] * TASKS, results
    assert all("SparkApplication" in str(each) and "was lost during the task" in str(each) for each in results)
    delete = DeleteSparkConnectOperator(task_id="stop", name="shared", kubernetes_conn_id="spark")
    await asyncio.to_thread(run, delete, TaskInstance("stop"))

    async def is_empty() -> bool:
        found = [await client.list(kind, driven) for kind in (SPARK_APPLICATIONS, PODS, SECRETS)]
        return not any(each.items for each in found)

    await wait_until(is_empty)
