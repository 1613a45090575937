"""Jobs on a real node that report: checks to a task and to the command line, a stream that stops, and SQL."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.kubernetes.pods import get_status, list_containers
from airflow_provider_spark_operator.core.report.job_report import parse_message
from airflow_provider_spark_operator.exceptions import SparkCheckFailed
from airflow_provider_spark_operator.follow.access.pods import read_driver_pod
from airflow_provider_spark_operator.follow.access.reference import ApplicationReference
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from tests.cli.process import start_command, wait_for_exit
from tests.e2e.node import CONF, DEADLINE, IMAGE, KUBECONFIG, NEEDED, PARAMETERS, wait_until
from tests.task import TaskInstance, run

pytestmark = NEEDED

JOBS = Path(__file__).parents[2] / "example_dags" / "jobs"


async def run_command(home: Path, namespace: str, *words: str) -> tuple[int | None, str, str]:
    async with start_command(*words, "--kubeconfig", str(KUBECONFIG), "-n", namespace, home=home) as process:
        return await wait_for_exit(process, DEADLINE)


async def submit(home: Path, namespace: str, file: Path, *words: str) -> tuple[int | None, str, str]:
    conf = [word for key, value in CONF.items() for word in ("--conf", f"{key}={value}")]
    options = ("--name", file.stem, "--image", IMAGE, "--spark-version", "4.3.0", *conf)
    limit = ("--timeout", "3m") if "--follow" in words else ()
    return await run_command(home, namespace, "submit", str(file), *words, *options, *limit)


async def test_failed_check_is_in_the_termination_message(client: KubeClient, driven: str, tmp_path: Path) -> None:
    code, out, err = await submit(tmp_path, driven, JOBS / "quality.py", "0", "--follow")
    assert code == ExitCode.CHECK_FAILED, err
    assert "check not_empty failed: 0 rows" in out
    assert "quality failed: check not_empty failed: 0 rows; the program itself succeeded" in err
    resource = await client.get(SPARK_APPLICATIONS, "quality", driven)
    pod = await read_driver_pod(client, ApplicationReference.of(resource, SPARK_APPLICATIONS))
    assert pod is not None
    (message,) = [container.message for container in list_containers(get_status(pod)) if container.message]
    assert parse_message(message).to_json() == {
        "checks": {"not_empty": {"passed": False, "detail": "0 rows"}},
        "metadata": {"rows": 0, "table": "orders"},
        "progress": 1.0,
    }


@pytest.mark.airflow
@pytest.mark.filterwarnings("default", r"error:::airflow_provider_spark_operator")
async def test_task_gets_the_report_and_fails_with_its_check(
    driven: str, connect_airflow: Callable[..., Awaitable[Path]], caplog: pytest.LogCaptureFixture
) -> None:
    await connect_airflow("airflow")
    caplog.set_level(logging.INFO, "airflow_provider_spark_operator")
    instances = [TaskInstance("rows_0"), TaskInstance("rows_1000")]

    def start(task_instance: TaskInstance) -> Any:
        rows = task_instance.task_id.removeprefix("rows_")
        file = str(JOBS / "quality.py")
        task = SparkApplicationOperator(task_id=task_instance.task_id, py_file=file, arguments=[rows], **PARAMETERS)
        return run(task, task_instance)

    failure, name = await asyncio.gather(
        *(asyncio.to_thread(start, each) for each in instances), return_exceptions=True
    )
    assert isinstance(failure, SparkCheckFailed), failure
    assert isinstance(name, str), name
    assert [each.xcoms["spark_report"] for each in instances] == [
        {
            "checks": {"not_empty": {"passed": rows > 0, "detail": f"{rows} rows"}},
            "metadata": {"rows": rows, "table": "orders"},
            "progress": 1.0,
        }
        for rows in (0, 1000)
    ]
    assert "driver | check not_empty passed: 1000 rows" in caplog.text


async def test_stream_reports_its_query_and_stops_on_request(client: KubeClient, driven: str, tmp_path: Path) -> None:
    code, _, err = await submit(tmp_path, driven, JOBS / "clicks.py", "/tmp/clicks/output", "/tmp/clicks/checkpoint")
    assert code == ExitCode.SUCCESS, err

    async def has_reported() -> bool:
        return '"batch": ' in (await run_command(tmp_path, driven, "logs", "clicks"))[1]

    await wait_until(has_reported)
    code, _, err = await run_command(tmp_path, driven, "stop", "clicks")
    assert code == ExitCode.SUCCESS, err
    _, log, _ = await run_command(tmp_path, driven, "logs", "clicks")
    assert 'spark-task {"queries": {"clicks": {"batch": ' in log


async def test_sql_prints_its_last_result(driven: str, tmp_path: Path) -> None:
    options = ("--sql-parameter", "day=2026-01-31", "--sql-format", "csv", "--follow")
    code, out, err = await submit(tmp_path, driven, JOBS / "totals.sql", *options)
    assert (code, out) == (ExitCode.SUCCESS, "name,orders,total\nann,2,4.50\nbob,1,2.25\n"), err
