"""Secrets of connections and variables in the log of a deferred task, and in the exception of its callback."""

from pathlib import Path

import pytest

from airflow_provider_spark_operator.testing.applications import Application
from tests.airflow.real_run import DEADLINE_SECONDS, run_real_dag
from tests.cluster import Cluster

pytestmark = [pytest.mark.airflow, pytest.mark.scheduler, pytest.mark.timeout(DEADLINE_SECONDS + 40)]

PASSWORD = "hunter2@of/the?database"
TOKEN = "token-of-the-service"
DAG_FILE = """
from datetime import timedelta
from pathlib import Path
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

def record(context):
    Path({folder!r}, context["ti"].task_id).write_text(f'{{context["exception"]}} {{context["exception"]!r}}')

with DAG("deferred", schedule=None, default_args={{"retry_delay": timedelta(seconds=1)}}):
    password, uri = "{{{{ conn.database.password }}}}", "{{{{ conn.database.get_uri() }}}}"
    for name, url in {{"first": f"jdbc:x://user:{{password}}@db", "second": uri}}.items():
        SparkApplicationOperator(
            task_id=name, name=name, py_file="local:///opt/job.py", spark_version="4.3.0", deferrable=True,
            conf={{"spark.job.url": url}},
            env_vars={{"SERVICE_TOKEN": "{{{{ var.value.service_token }}}}"}},
            on_failure_callback=record,
        )
"""


async def print_secrets_and_fail(application: Application) -> None:
    application.enter("Submitted", message=f"the webhook saw {PASSWORD}")
    application.start()
    application.log.write(f"connecting with {PASSWORD}")
    application.report("Connected", f"with {PASSWORD}", warning=True)
    application.log.write(f"Error: {TOKEN} was refused")
    application.fail(exit_code=3)


async def test_no_secret_is_in_the_log_of_a_deferred_task(cluster: Cluster, tmp_path: Path) -> None:
    cluster.script = print_secrets_and_fail
    (tmp_path / "exceptions").mkdir()
    database = f'{{"conn_type": "generic", "host": "db", "password": "{PASSWORD}"}}'
    async with run_real_dag(
        cluster,
        tmp_path,
        DAG_FILE.format(folder=str(tmp_path / "exceptions")),
        {"database": database},
        {"AIRFLOW_VAR_SERVICE_TOKEN": TOKEN},
    ) as run:
        assert await run.wait_for_end() == {"first": "failed", "second": "failed"}

    texts = {path: path.read_text() for path in (tmp_path / "airflow" / "logs").rglob("task_id=*/*.log*")}
    texts |= {path: path.read_text() for path in (tmp_path / "exceptions").iterdir()}
    assert [path for path, text in texts.items() if PASSWORD in text or TOKEN in text] == []
    # For each task: the log of the triggerer, the log of the worker, and the exception.
    assert sum("connecting with ***" in text for text in texts.values()) >= 4
    assert sum("*** was refused" in text for text in texts.values()) >= 4
