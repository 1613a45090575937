"""A document in v1alpha1, from the first documentation of the Apache operator, in a DAG that Airflow runs."""

import json
import logging
from pathlib import Path
from runpy import run_path

import pytest

from tests.cluster import Cluster
from tests.definitions import build_definitions

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.usefixtures("airflow_database"),
    pytest.mark.filterwarnings("default", r"error:::airflow_provider_spark_operator"),
]

DOCUMENT = Path(__file__).parents[1] / "golden" / "apache_operator" / "documents" / "pi-v1alpha1.yaml"
DAG_FILE = f"""
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

with DAG("DAG_ID", schedule=None) as dag:
    SparkApplicationOperator(task_id="pi", application={str(DOCUMENT)!r}, kubernetes_conn_id="spark", deferrable=True)
"""


@pytest.mark.parametrize(
    ("served", "is_reported"),
    [(("v1", "v1beta1", "v1alpha1"), False), (("v1",), True), (("v1", "v1beta1"), True)],
    ids=["where it is served", "where v1 alone is", "where v1 and v1beta1 are"],
)
def test_first_documents_run_unchanged(
    monkeypatch: pytest.MonkeyPatch,
    dags_folder: Path,
    caplog: pytest.LogCaptureFixture,
    served: tuple[str, ...],
    is_reported: bool,
) -> None:
    dag_id = f"first_documents_{'_'.join(served)}"
    path = dags_folder / f"{dag_id}.py"
    path.write_text(DAG_FILE.replace("DAG_ID", dag_id))
    with Cluster(build_definitions(*served)).serve() as cluster, caplog.at_level(logging.INFO):
        document = {"conn_type": "kubernetes", "extra": {"kube_config": cluster.kubeconfig}}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps(document))
        dag_run = run_path(str(path))["dag"].test()
        (application,) = cluster.applications()
    assert dag_run.state == "success"
    assert application["metadata"]["name"] == "pi"
    assert application["spec"]["runtimeVersions"] == {"scalaVersion": "2.13", "sparkVersion": "4.0.0-preview2"}
    sentence = "this cluster does not serve SparkApplication in version spark.apache.org/v1alpha1; using version "
    assert any(message.startswith(sentence) for message in caplog.messages) == is_reported
