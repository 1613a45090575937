"""Tasks that a real scheduler starts in a real triggerer, without a worker. A script changes the application states."""

from pathlib import Path

import pytest
import yaml

from airflow_provider_spark_operator.testing.applications import Application
from demo.task_log import find_log, read_failure
from tests.airflow.test_real_triggerer import DEADLINE_SECONDS, _read_final_states
from tests.cluster import Cluster, fail, succeed

pytestmark = [pytest.mark.airflow, pytest.mark.scheduler, pytest.mark.timeout(DEADLINE_SECONDS + 40)]

DAG_FILE = """
from datetime import timedelta
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy

with DAG("deferred", schedule=None, default_args={"retry_delay": timedelta(seconds=1)}):
    # Airflow fails a task whose trigger fires before the scheduler has recorded the deferral. The retries handle that.
    SparkApplicationOperator(
        task_id="good", name="good", py_file="local:///opt/job.py", spark_version="4.3.0", arguments=["{{ run_id }}"],
        start_from_trigger=True, retries=3,
    )
    SparkApplicationOperator(
        task_id="bad", name="bad", py_file="local:///opt/job.py", spark_version="4.3.0",
        start_from_trigger=True, retries=3, retry_policy=SparkRetryPolicy(),
    )
"""


async def test_task_starts_in_triggerer_and_policy_judges_its_end(cluster: Cluster, tmp_path: Path) -> None:
    async def by_name(application: Application) -> None:
        await (fail if application.name == "bad" else succeed)(application)

    cluster.script = by_name
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "deferred.py").write_text(DAG_FILE)
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(cluster.kubeconfig))

    states = await _read_final_states(tmp_path, tmp_path / "dags", kubeconfig, lambda states: None)

    assert states == {"good": "success", "bad": "failed"}
    (good,) = [one for one in cluster.applications() if one["metadata"]["name"] == "good"]
    annotations = good["metadata"]["annotations"]
    assert good["spec"]["driverArgs"] == [annotations["airflow.spark-operator/run-id"]]
    assert "exit code 3" in read_failure(find_log(tmp_path / "airflow", "deferred", "bad"))
