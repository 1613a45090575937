"""The parameters of pods, packages and the lifecycle in a task: checks, templates, files and the submitted manifest."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from airflow.sdk import DAG, Context, task

from airflow_provider_spark_operator.airflow_compat import AirflowFailException
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.parameters import DynamicAllocation, Secret, Volume
from tests.cluster import Cluster, succeed
from tests.every_parameter import EVERY, PODS, PROGRAM, TIMEOUTS
from tests.operators.tasks import DOCUMENT, arguments_of, operator
from tests.task import TaskInstance, run

KUBEFLOW = "sparkoperator.k8s.io/v1beta2"


@pytest.fixture
def dag(tmp_path: Path) -> Iterator[DAG]:
    with DAG("pods", schedule=None, template_searchpath=str(tmp_path)) as dag:
        yield dag


def render(task: SparkApplicationOperator) -> SparkApplicationOperator:
    dag = task.get_dag()
    params = {"size": "9Gi", "file": "pod.yaml", "max": 7, "team": "data"}
    context = cast("Context", {"ds": "2026-01-02", "params": params})
    task.render_template_fields(context, dag.get_template_env() if dag else None)
    return task


def submit(cluster: Cluster, **parameters: Any) -> dict[str, Any]:
    """Run a task and return its application as the cluster has it."""
    cluster.script = succeed
    run(operator(False, **parameters), TaskInstance())
    return cluster.application()


def test_every_parameter_is_submitted(cluster: Cluster) -> None:
    application = submit(cluster, application=None, **EVERY)
    assert parse_application(application).to_document()["spec"] == application["spec"]
    spec = application["spec"]
    assert spec["proxyUser"] == "alice"
    assert spec["driverSpec"]["podTemplateSpec"]["spec"]["priorityClassName"] == "batch"
    assert spec["sparkConf"]["spark.kubernetes.driver.secretKeyRef.DB_PASSWORD"] == "database:password"
    assert spec["applicationTolerations"]["applicationTimeoutConfig"]["executorStartTimeoutMillis"] == 0
    assert application["metadata"]["labels"]["team"] == "data"


def test_typed_values_are_stored_as_objects() -> None:
    task = operator(secrets=[Secret("s", path="/s")], dynamic_allocation=DynamicAllocation(max=3))
    assert task.secrets == [{"name": "s", "path": "/s"}]
    assert task.dynamic_allocation == {"max": 3}


def test_templates_in_parameters_are_rendered(dag: DAG) -> None:
    volume = Volume("v", "/v", size="{{ params.size }}", storage_class="fast")
    limits = DynamicAllocation(max="{{ params.max }}")
    task = render(operator(volumes=[volume], dynamic_allocation=limits, labels={"team": "{{ params.team }}"}))
    assert task.volumes == [{"name": "v", "path": "/v", "size": "9Gi", "storage_class": "fast"}]
    assert task.dynamic_allocation == {"max": "7"}
    assert task.labels == {"team": "data"}
    assert volume.size == "{{ params.size }}"


def test_rendered_value_is_checked_before_the_submission(cluster: Cluster, dag: DAG) -> None:
    task = render(operator(False, timeouts={"driver_start": "{{ params.team }}"}))
    with pytest.raises(AirflowFailException, match=r"timeouts\.driver_start: must be a number of seconds"):
        run(task, TaskInstance())


@pytest.mark.parametrize(
    "path", ["pod.yaml", "{{ params.file }}", Path("pod.yaml")], ids=["plain", "templated", "path"]
)
def test_file_with_a_pod_template_is_read_and_rendered(
    cluster: Cluster, dag: DAG, tmp_path: Path, path: str | Path
) -> None:
    (tmp_path / "pod.yaml").write_text("spec: {nodeName: 'node-{{ ds }}'}")
    cluster.script = succeed
    run(render(operator(False, driver_template=path, arguments=["pod.yaml"])), TaskInstance())
    spec = cluster.application()["spec"]
    assert spec["driverSpec"]["podTemplateSpec"]["spec"]["nodeName"] == "node-2026-01-02"
    assert "executorSpec" not in spec
    assert spec["driverArgs"] == ["pod.yaml"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("spec: {", "driver_template: invalid YAML at line 1"),
        ("[a]", "driver_template: must contain exactly one object"),
        ("a: 1", "driver_template: unknown key a"),
    ],
)
def test_malformed_file_with_a_pod_template_is_reported(
    cluster: Cluster, dag: DAG, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "pod.yaml").write_text(text)
    with pytest.raises(AirflowFailException, match=message):
        run(render(operator(False, driver_template="pod.yaml")), TaskInstance())


def test_missing_file_with_a_pod_template_is_reported(cluster: Cluster, dag: DAG) -> None:
    with pytest.raises(AirflowFailException, match=r"could not find pod template file 'absent\.yaml'"):
        run(render(operator(False, executor_template="absent.yaml")), TaskInstance())


def test_results_of_tasks_are_accepted_at_parse_time(dag: DAG) -> None:
    @task
    def choose() -> str:
        return "data"

    result = choose()
    secret = Secret(cast("str", result), path="/s")
    created = operator(labels=result, secrets=[secret], volumes=result, driver_template=result)
    assert created.upstream_task_ids == {"choose"}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"volumes": [Volume("v", "v", claim="c")]}, r"volumes\[0\]\.path: must be an absolute path"),
        ({"labels": {"spark-role": "x"}}, "labels: 'spark-role' is reserved"),
        ({"restart_policy": "Sometimes"}, "restart_policy: must be one of"),
        ({**TIMEOUTS, "application": None, **PROGRAM, "api_version": KUBEFLOW}, "timeouts: is not supported"),
        (
            {**TIMEOUTS, "application": {"apiVersion": KUBEFLOW, "spec": {}}},
            "timeouts: is not supported by Kubeflow's operator",
        ),
    ],
)
def test_invalid_parameters_are_rejected_at_parse_time(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        operator(**parameters)


def test_every_parameter_of_kubeflow_is_accepted_at_parse_time() -> None:
    assert operator(application=None, **PROGRAM, **PODS, api_version=KUBEFLOW).proxy_user == "alice"


@pytest.mark.needs_airflow("3.3")
def test_start_in_the_triggerer_supports_the_parameters() -> None:
    labels = {"day": "{{ ds }}"}
    task = operator(**{**EVERY, "labels": labels}, start_from_trigger=True)
    document = arguments_of(task)["application"]
    assert document["metadata"]["labels"]["day"] == "{{ ds }}"
    assert document["spec"]["applicationTolerations"]["restartConfig"]["maxRestartAttempts"] == 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"labels": "{{ params.labels }}"}, "labels: the entire value must not be one template"),
        ({"dynamic_allocation": {"max": "{{ params.max }}"}}, "dynamic_allocation: only a worker can render templates"),
        ({"driver_template": "pod.yaml"}, "driver_template: only a worker can read a file or YAML text"),
    ],
)
@pytest.mark.needs_airflow("3.3")
def test_start_in_the_triggerer_rejects_what_needs_a_worker(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        operator(application=DOCUMENT, start_from_trigger=True, **parameters)
