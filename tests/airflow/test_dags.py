"""Whole DAG files, run by Airflow itself with its database; the cluster's applications act by a script."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from runpy import run_path
from typing import Any, TypeAlias

import pytest
from airflow.models.dagrun import DagRun

from airflow_provider_spark_operator.testing.applications import Application
from tests.cluster import Cluster, fail, succeed

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.usefixtures("airflow_database"),
    # Airflow and what it runs on warn about each other; our own modules may not.
    pytest.mark.filterwarnings("default", r"error:::airflow_provider_spark_operator"),
]

EXAMPLES = Path(__file__).parents[2] / "example_dags"

RunDag: TypeAlias = Callable[..., DagRun]


@pytest.fixture
def run_dag(dags_folder: Path) -> RunDag:
    """Run a DAG file and give back its run."""

    def run(source: Path | str, dag_id: str, **files: str) -> DagRun:
        path = dags_folder / f"{dag_id}.py"
        if isinstance(source, Path):
            shutil.copy(source, path)
        else:
            path.write_text(source)
        for name, text in files.items():
            (dags_folder / name.replace("__", ".")).write_text(text)
        dag_run: DagRun = run_path(str(path))["dag"].test()
        return dag_run

    return run


def states(dag_run: DagRun) -> dict[str, str | None]:
    return {task.task_id: task.state for task in dag_run.get_task_instances()}


def xcom(dag_run: DagRun, task_id: str, key: str) -> Any:
    task_instance = dag_run.get_task_instance(task_id)
    assert task_instance is not None
    return task_instance.xcom_pull(task_ids=task_id, key=key)


DAG_FILE = """
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.sensors.spark_application import SparkApplicationSensor

with DAG("{dag_id}", schedule=None) as dag:
    {body}
"""

APPLICATION = """\
apiVersion: spark.apache.org/v1
kind: SparkApplication
spec:
  pyFiles: local:///opt/job.py
  driverArgs: ["{{ run_id }}", settings.yaml]
  runtimeVersions: {sparkVersion: "4.3.0"}
"""


@pytest.mark.parametrize("deferrable", [True, False], ids=["deferred", "on the worker"])
def test_a_dag_runs_an_application_from_a_file_and_waits_for_it(
    cluster: Cluster, run_dag: RunDag, deferrable: bool
) -> None:
    body = (
        f"SparkApplicationOperator(task_id='pi', application='pi.yaml', name='pi', kubernetes_conn_id='spark',"
        f" deferrable={deferrable})"
        f" >> SparkApplicationSensor(task_id='seen', name=\"{{{{ ti.xcom_pull('pi') }}}}\", kubernetes_conn_id='spark',"
        f" deferrable={deferrable})"
    )
    dag_id = f"file_{deferrable}".lower()
    dag_run = run_dag(DAG_FILE.format(dag_id=dag_id, body=body), dag_id, pi__yaml=APPLICATION)
    assert states(dag_run) == {"pi": "success", "seen": "success"}
    assert cluster.application()["spec"]["driverArgs"] == [dag_run.run_id, "settings.yaml"]
    assert xcom(dag_run, "pi", "return_value") == "pi"
    assert xcom(dag_run, "pi", "uid") == cluster.application()["metadata"]["uid"]
    assert xcom(dag_run, "pi", "state") == "Succeeded"


def test_a_mapped_task_has_an_application_for_each_element(cluster: Cluster, run_dag: RunDag) -> None:
    body = (
        "SparkApplicationOperator.partial(task_id='pi', application='pi.yaml', kubernetes_conn_id='spark',"
        " deferrable=True).expand(namespace=['jobs', 'default'])"
    )
    dag_run = run_dag(DAG_FILE.format(dag_id="mapped", body=body), "mapped", pi__yaml=APPLICATION)
    assert dag_run.state == "success"
    assert sorted(one["metadata"]["namespace"] for one in cluster.applications()) == ["default", "jobs"]


CLUSTER_BODY = """create = SparkClusterOperator(
        task_id="create",
        namespace="default",  # not that of the connection
        kubernetes_conn_id="spark",
        cluster={
            "apiVersion": "spark.apache.org/v1",
            "kind": "SparkCluster",
            "spec": {
                "runtimeVersions": {"sparkVersion": "4.3.0"},
                "clusterTolerations": {"instanceConfig": {"initWorkers": 1, "minWorkers": 1, "maxWorkers": 1}},
            },
        },
    )
    create >> DeleteSparkClusterOperator(task_id="delete", cluster=create).as_teardown(setups=create)
"""


def test_a_teardown_finds_the_cluster_of_its_setup_in_another_namespace(cluster: Cluster, run_dag: RunDag) -> None:
    imports = "from airflow_provider_spark_operator.operators.spark_cluster import *"
    source = DAG_FILE.format(dag_id="clusters", body=CLUSTER_BODY).replace("with DAG", f"{imports}\n\nwith DAG")
    dag_run = run_dag(source, "clusters")
    assert states(dag_run) == {"create": "success", "delete": "success"}
    assert xcom(dag_run, "create", "namespace") == "default"
    assert cluster.spark_clusters() == []


@pytest.fixture
def stored_connection(cluster: Cluster) -> Iterator[str]:
    """A connection that only Airflow's database has, and no variable of the environment."""
    from airflow.models import Connection
    from airflow.utils.session import create_session

    with create_session() as session:
        session.add(Connection(conn_id="stored", conn_type="kubernetes", extra={"kube_config": cluster.kubeconfig}))
    yield "stored"
    with create_session() as session:
        session.query(Connection).filter_by(conn_id="stored").delete()


def test_a_deferred_task_finds_a_connection_of_the_database(
    cluster: Cluster, run_dag: RunDag, stored_connection: str
) -> None:
    body = (
        f"SparkApplicationOperator(task_id='pi', application='pi.yaml', kubernetes_conn_id='{stored_connection}',"
        " deferrable=True)"
    )
    dag_run = run_dag(DAG_FILE.format(dag_id="stored", body=body), "stored", pi__yaml=APPLICATION)
    assert states(dag_run) == {"pi": "success"}


def test_a_missing_file_fails_the_task(cluster: Cluster, run_dag: RunDag) -> None:
    body = "SparkApplicationOperator(task_id='pi', application='gone.yaml', kubernetes_conn_id='spark')"
    dag_run = run_dag(DAG_FILE.format(dag_id="gone", body=body), "gone")
    assert states(dag_run) == {"pi": "failed"}
    assert cluster.applications() == []


@pytest.fixture
def example(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the example needs around it: a connection of the default name."""
    import os

    monkeypatch.setenv("AIRFLOW_CONN_KUBERNETES_DEFAULT", os.environ["AIRFLOW_CONN_SPARK"])


def test_the_example_ends_as_it_says(cluster: Cluster, run_dag: RunDag, example: None) -> None:
    async def by_its_script(application: Application) -> None:
        document = cluster.store.get(cluster.kind, application.namespace, application.name)
        await (fail if document["spec"]["pyFiles"].endswith("fail.py") else succeed)(application)

    cluster.script = by_its_script
    dag_run = run_dag(EXAMPLES / "spark_pi.py", "spark_pi")
    assert states(dag_run) == {"compute_pi": "success", "fail_on_purpose": "failed"}
    (failing,) = [one for one in cluster.applications() if "configMapSpecs" in one["spec"]]
    (config_map,) = failing["spec"]["configMapSpecs"]
    volumes = failing["spec"]["driverSpec"]["podTemplateSpec"]["spec"]["volumes"]
    assert volumes[0]["configMap"]["name"] == config_map["name"]
    assert "{{" not in config_map["name"]
