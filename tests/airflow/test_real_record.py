"""The record of a run in the database of a real Airflow: live from the triggerer, and final from the worker."""

import json
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.testing.applications import Application
from tests.airflow.real_run import DEADLINE_SECONDS, run_real_dag
from tests.cluster import Cluster, run_on
from tests.core.report.record_schema import VALIDATOR

pytestmark = [pytest.mark.airflow, pytest.mark.scheduler, pytest.mark.timeout(DEADLINE_SECONDS + 40)]

DAG_FILE = """
from datetime import timedelta
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

with DAG("deferred", schedule=None, default_args={"retries": 3, "retry_delay": timedelta(seconds=1)}):
    SparkApplicationOperator(
        task_id="pi", name="pi", py_file="local:///opt/job.py", spark_version="4.3.0", deferrable=True
    )
"""


def read_record(database: Path) -> dict[str, Any]:
    """Return the stored record; empty if there is none."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        found = connection.execute("SELECT value FROM xcom WHERE key = 'spark_run'").fetchone()
    value = json.loads(found[0]) if found else {}
    record: dict[str, Any] = json.loads(value) if isinstance(value, str) else value
    return record


async def end(application: Application) -> None:
    application.enter("Succeeded", "ResourceReleased", driver=application.end_driver(0))


async def test_record_is_live_while_the_task_is_deferred_and_final_at_its_end(cluster: Cluster, tmp_path: Path) -> None:
    cluster.script = run_on
    database = tmp_path / "airflow" / "airflow.db"
    async with run_real_dag(cluster, tmp_path, DAG_FILE) as run:
        await run.until(lambda: read_record(database).get("state") == "RunningHealthy")
        live = read_record(database)
        VALIDATOR.validate(live)
        assert (live["live"], len(live["executors"])) == (True, 2)
        await run.until(lambda: run.has_noted_end("pi"))
        cluster.play(end)
        history = cluster.application("pi")["status"]["stateTransitionHistory"].values()
        assert await run.wait_for_end() == {"pi": "success"}
    final = read_record(database)
    VALIDATOR.validate(final)
    assert (final["live"], final["verdict"]["outcome"]) == (False, "Succeeded")
    recorded = [(state["state"], datetime.fromisoformat(state["begin"])) for state in final["attempts"][0]["states"]]
    entries = [(one["currentStateSummary"], datetime.fromisoformat(one["lastTransitionTime"])) for one in history]
    assert recorded == [(state, time.replace(microsecond=time.microsecond // 1000 * 1000)) for state, time in entries]
