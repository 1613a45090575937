"""Whole DAG files, run by Airflow with a database on a scripted cluster."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from runpy import run_path
from typing import Any, TypeAlias

import pytest
from airflow.models.asset import AssetEvent
from airflow.models.dagrun import DagRun
from airflow.utils.session import create_session
from sqlalchemy import select

from airflow_provider_spark_operator.testing.applications import Application
from tests.cluster import Cluster, fail, run_on, succeed
from tests.core.report.record_schema import VALIDATOR

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.usefixtures("airflow_database"),
    # Airflow and its dependencies emit warnings. The project's modules must not.
    pytest.mark.filterwarnings("default", r"error:::airflow_provider_spark_operator"),
]

EXAMPLES = Path(__file__).parents[2] / "example_dags"

RunDag: TypeAlias = Callable[..., DagRun]


@pytest.fixture
def run_dag(dags_folder: Path) -> RunDag:
    """A function that runs a DAG file and returns the DAG run."""

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


def read_states(dag_run: DagRun) -> dict[str, str | None]:
    return {task.task_id: task.state for task in dag_run.get_task_instances()}


def read_xcom(dag_run: DagRun, task_id: str, key: str) -> Any:
    task_instance = dag_run.get_task_instance(task_id)
    assert task_instance is not None
    return task_instance.xcom_pull(task_ids=task_id, key=key)


ALIAS_DAG_FILE = """
from airflow.sdk import DAG, AssetAlias
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

with DAG("alias", schedule=None) as dag:
    SparkApplicationOperator(
        task_id="write", py_file="local:///opt/job.py", spark_version="4.3.0", kubernetes_conn_id="spark",
        outlets=[AssetAlias("reports")], deferrable={deferrable},
    )
"""


@pytest.mark.parametrize("deferrable", [False, True])
def test_alias_in_outlets_has_an_event(cluster: Cluster, run_dag: RunDag, deferrable: bool) -> None:
    dag_run = run_dag(ALIAS_DAG_FILE.format(deferrable=deferrable), "alias")
    with create_session() as session:
        event = session.scalars(select(AssetEvent).where(AssetEvent.source_run_id == dag_run.run_id)).one()
        assert [alias.name for alias in event.source_aliases] == ["reports"]
        assert event.asset.uri == "spark-application://alias/write"
        assert event.extra["spark_application_uid"] == cluster.application()["metadata"]["uid"]
        assert event.extra["spark_outcome"] == "Succeeded"
        assert event.extra["spark_core_hours"] >= 0
        assert event.extra["spark_seconds"] >= 0


MAPPED_DAG_FILE = """
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

with DAG("mapped", schedule=None) as dag:
    SparkApplicationOperator.partial(
        task_id="report", py_file=__file__, spark_version="4.3.0", kubernetes_conn_id="spark",
        start_from_trigger=True,
    ).expand(arguments=[["one"], ["two"]])
"""


@pytest.mark.needs_airflow("3.3")
def test_mapped_task_that_starts_from_trigger_warns_and_defers(
    cluster: Cluster, run_dag: RunDag, caplog: pytest.LogCaptureFixture
) -> None:
    dag_run = run_dag(MAPPED_DAG_FILE, "mapped")
    assert [task.state for task in dag_run.get_task_instances()] == ["success"] * 2
    assert sorted(one["spec"]["driverArgs"] for one in cluster.applications()) == [["one"], ["two"]]
    assert "start_from_trigger has no effect on a mapped task" in caplog.text


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
def test_dag_runs_application_from_a_file(cluster: Cluster, run_dag: RunDag, deferrable: bool) -> None:
    body = (
        f"SparkApplicationOperator(task_id='pi', application='pi.yaml', name='pi', kubernetes_conn_id='spark',"
        f" deferrable={deferrable})"
        f" >> SparkApplicationSensor(task_id='seen', name=\"{{{{ ti.xcom_pull('pi') }}}}\", kubernetes_conn_id='spark',"
        f" deferrable={deferrable})"
    )
    dag_id = f"file_{deferrable}".lower()
    dag_run = run_dag(DAG_FILE.format(dag_id=dag_id, body=body), dag_id, pi__yaml=APPLICATION)
    assert read_states(dag_run) == {"pi": "success", "seen": "success"}
    assert cluster.application()["spec"]["driverArgs"] == [dag_run.run_id, "settings.yaml"]
    assert read_xcom(dag_run, "pi", "return_value") == "pi"
    assert read_xcom(dag_run, "pi", "uid") == cluster.application()["metadata"]["uid"]
    assert read_xcom(dag_run, "pi", "state") == "Succeeded"


def test_mapped_task_has_one_application_per_element(cluster: Cluster, run_dag: RunDag) -> None:
    body = (
        "SparkApplicationOperator.partial(task_id='pi', application='pi.yaml', kubernetes_conn_id='spark',"
        " deferrable=True).expand(namespace=['jobs', 'default'])"
    )
    dag_run = run_dag(DAG_FILE.format(dag_id="elements", body=body), "elements", pi__yaml=APPLICATION)
    assert dag_run.state == "success"
    assert sorted(one["metadata"]["namespace"] for one in cluster.applications()) == ["default", "jobs"]


LOOP_DAG_FILE = """
from airflow.sdk import DAG, task_group
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

with DAG("looped", schedule=None) as dag:
    @task_group
    def passes():
        SparkApplicationOperator(task_id="pi", application="pi.yaml", kubernetes_conn_id="spark", deferrable=True)

    passes.loop(max_iterations=3)
"""


@pytest.mark.needs_airflow("3.4")
def test_each_iteration_of_a_loop_has_its_own_application(cluster: Cluster, run_dag: RunDag) -> None:
    dag_run = run_dag(LOOP_DAG_FILE, "looped", pi__yaml=APPLICATION)
    assert dag_run.state == "success"
    found = [one["metadata"]["annotations"] for one in cluster.applications()]
    assert sorted(notes["airflow.spark-operator/loop-index"] for notes in found) == ["0", "1", "2"]


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


def test_teardown_deletes_cluster_of_setup_in_another_namespace(cluster: Cluster, run_dag: RunDag) -> None:
    imports = "from airflow_provider_spark_operator.operators.spark_cluster import *"
    source = DAG_FILE.format(dag_id="clusters", body=CLUSTER_BODY).replace("with DAG", f"{imports}\n\nwith DAG")
    dag_run = run_dag(source, "clusters")
    assert read_states(dag_run) == {"create": "success", "delete": "success"}
    assert read_xcom(dag_run, "create", "namespace") == "default"
    assert cluster.spark_clusters() == []


@pytest.fixture
def stored_connection(cluster: Cluster) -> Iterator[str]:
    """A connection that exists only in the database of Airflow, and not in an environment variable."""
    from airflow.models import Connection
    from airflow.utils.session import create_session

    with create_session() as session:
        session.add(Connection(conn_id="stored", conn_type="kubernetes", extra={"kube_config": cluster.kubeconfig}))
    yield "stored"
    with create_session() as session:
        session.query(Connection).filter_by(conn_id="stored").delete()


def test_deferred_task_uses_connection_of_the_database(
    cluster: Cluster, run_dag: RunDag, stored_connection: str
) -> None:
    body = (
        f"SparkApplicationOperator(task_id='pi', application='pi.yaml', kubernetes_conn_id='{stored_connection}',"
        " deferrable=True)"
    )
    dag_run = run_dag(DAG_FILE.format(dag_id="stored", body=body), "stored", pi__yaml=APPLICATION)
    assert read_states(dag_run) == {"pi": "success"}


def test_missing_file_fails_the_task(cluster: Cluster, run_dag: RunDag) -> None:
    body = "SparkApplicationOperator(task_id='pi', application='gone.yaml', kubernetes_conn_id='spark')"
    dag_run = run_dag(DAG_FILE.format(dag_id="gone", body=body), "gone")
    assert read_states(dag_run) == {"pi": "failed"}
    assert cluster.applications() == []


@pytest.fixture
def example(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection that the example needs, with the default id."""
    import os

    monkeypatch.setenv("AIRFLOW_CONN_KUBERNETES_DEFAULT", os.environ["AIRFLOW_CONN_SPARK"])


def test_example_has_the_documented_states(cluster: Cluster, run_dag: RunDag, example: None) -> None:
    async def by_its_script(application: Application) -> None:
        document = cluster.store.objects.get(cluster.kind, application.namespace, application.name)
        await (fail if document["spec"]["pyFiles"].endswith("fail.py") else succeed)(application)

    cluster.script = by_its_script
    dag_run = run_dag(EXAMPLES / "spark_pi.py", "spark_pi")
    assert read_states(dag_run) == {"compute_pi": "success", "fail_on_purpose": "failed"}
    (failing,) = [one for one in cluster.applications() if "configMapSpecs" in one["spec"]]
    (config_map,) = failing["spec"]["configMapSpecs"]
    volumes = failing["spec"]["driverSpec"]["podTemplateSpec"]["spec"]["volumes"]
    assert volumes[0]["configMap"]["name"] == config_map["name"]
    assert "{{" not in config_map["name"]


RECORD_DAG_FILE = """
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

with DAG("record", schedule=None) as dag:
    SparkApplicationOperator.partial(
        task_id="report", py_file="local:///opt/job.py", spark_version="4.3.0", kubernetes_conn_id="spark",
        deferrable={deferrable},
    ).expand(arguments=[["one"], ["two"]])
"""


@pytest.mark.parametrize("deferrable", [False, True])
def test_record_of_each_mapped_task_is_an_xcom(
    cluster: Cluster, run_dag: RunDag, deferrable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    dag_run = run_dag(RECORD_DAG_FILE.format(deferrable=deferrable), "record")
    for task in dag_run.get_task_instances():
        found = task.xcom_pull(task_ids="report", key="spark_run", map_indexes=task.map_index)
        record = next(iter(found)) if isinstance(found, list) else found
        VALIDATOR.validate(record)
        assert (record["live"], record["verdict"]["outcome"]) == (False, "Succeeded")
        assert record["application"]["task"]["mapIndex"] == str(task.map_index)
    assert "could not store" not in caplog.text


@pytest.mark.parametrize("deferrable", [True, False], ids=["deferred", "on the worker"])
def test_task_that_exceeds_its_budget_is_not_retried(
    cluster: Cluster, run_dag: RunDag, monkeypatch: pytest.MonkeyPatch, deferrable: bool
) -> None:
    monkeypatch.setattr("airflow_provider_spark_operator.follow.recording.budget.FIRST_SECONDS", 0.05)
    cluster.script = run_on
    body = (
        "SparkApplicationOperator(task_id='pi', application='pi.yaml', name='pi', kubernetes_conn_id='spark',"
        f" deferrable={deferrable}, retries=2, retry_delay=0, max_core_hours=1e-9, on_budget_exceeded='fail')"
    )
    dag_id = f"budget_{deferrable}".lower()
    dag_run = run_dag(DAG_FILE.format(dag_id=dag_id, body=body), dag_id, pi__yaml=APPLICATION)
    (task_instance,) = dag_run.get_task_instances()
    assert (task_instance.state, task_instance.try_number) == ("failed", 1)
    assert read_xcom(dag_run, "pi", "spark_run")["verdict"]["failureKind"] == "budget"
    assert cluster.applications() == []
