"""The same DAG with the recorded Apache operator and with `spark-operator reconcile`.

Each task has the application of a recorded scenario. The tests compare its state, its number of tries, and the number
of attempts by the operator.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from airflow.models.taskinstance import TaskInstance

from tests.airflow.scenario_operators import manage_with_controller, replay_recording
from tests.cluster import Cluster
from tests.core.scenario import read_scenario

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.usefixtures("airflow_database"),
    # Airflow and its dependencies emit warnings. The project's modules must not.
    pytest.mark.filterwarnings("default", r"error:::airflow_provider_spark_operator"),
]

# The task's state, its tries of two, and the XComs `state` and `attempts`.
ENDS = {
    "success": ("success", 1, "Succeeded", 1),
    "build-user-app-id": ("success", 1, "Succeeded", 2),
    "restart-always-succeed": ("success", 1, "Succeeded", 2),
    "fail-exit1": ("failed", 1, "Failed", 1),
    "driver-oomkilled": ("failed", 1, "Failed", 1),
    "retain-onfailure-fail": ("failed", 1, "Failed", 1),
    "restart-onfailure-fail": ("failed", 1, "Failed", 2),
    "driver-deleted-while-requested": ("failed", 2, "Failed", 1),
    "driver-evicted": ("failed", 2, "DriverEvicted", 1),
    "timeout-executor-start": ("failed", 2, "ExecutorsStartTimedOut", 1),
    "sched-failure-configmap": ("failed", 2, "SchedulingFailure", 1),
}

DAG_FILE = """
import json
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy

APPLICATIONS = json.loads(Path(__file__).with_name("applications.json").read_text())

with DAG("{dag_id}", schedule=None) as dag:
    for name, application in APPLICATIONS.items():
        SparkApplicationOperator(
            task_id=name,
            name=name,
            application=application,
            kubernetes_conn_id="spark",
            deferrable=True,
            keep_failed_driver=None,  # the recorded documents contain their own retention
            retries=1,
            retry_delay=timedelta(0),
            retry_policy=SparkRetryPolicy(),
        )
"""

End: TypeAlias = tuple[str | None, int, str | None, int | None]
Ends: TypeAlias = Callable[[str], dict[str, End]]


@pytest.fixture
def ends(cluster: Cluster, dags_folder: Path) -> Ends:
    """Run the DAG, and return how each of its tasks ended."""

    def run(dag_id: str) -> dict[str, End]:
        from runpy import run_path

        (dags_folder / f"{dag_id}.py").write_text(DAG_FILE.format(dag_id=dag_id))
        applications = {name: read_scenario(name)["resources"][0] for name in ENDS}
        (dags_folder / "applications.json").write_text(json.dumps(applications))
        dag_run = run_path(str(dags_folder / f"{dag_id}.py"))["dag"].test()
        return {task.task_id: _read_end(task) for task in dag_run.get_task_instances()}

    return run


def _read_end(task: TaskInstance) -> End:
    state, attempts = (task.xcom_pull(task_ids=task.task_id, key=key) for key in ("state", "attempts"))
    return task.state, task.try_number, state, attempts


def test_tasks_end_as_their_applications_with_the_apache_operator(cluster: Cluster, ends: Ends) -> None:
    with replay_recording(cluster) as problems:
        assert ends("recorded") == ENDS
    assert problems == []


def test_tasks_end_alike_with_the_controller(cluster: Cluster, ends: Ends) -> None:
    with manage_with_controller(cluster) as problems:
        assert ends("reconciled") == ENDS
    assert problems == []
