"""Documents in a version that the cluster does not serve, because its operator is older or newer."""

import json
import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.exceptions import SparkApplicationError, SparkApplicationTimedOut
from airflow_provider_spark_operator.sensors.spark_application import SparkApplicationSensor
from local_kubernetes.api.kinds.kinds import CUSTOM_RESOURCE_DEFINITIONS
from tests.cluster import NAMESPACE, Cluster, run_on, stay_submitted, succeed
from tests.definitions import build_definitions
from tests.operators.tasks import DOCUMENT, operator
from tests.task import TaskInstance, build_context, defer, fire, reload, run

ONLY = ["v1", "v1beta1", "v1alpha1"]
OTHER = {"v1": "v1alpha1", "v1beta1": "v1", "v1alpha1": "v1beta1"}


@pytest.fixture(params=[True, False], ids=["deferred", "on the worker"])
def deferrable(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(params=ONLY, ids=[f"only {version} is served" for version in ONLY])
def served(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def cluster(served: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with Cluster(build_definitions(served)).serve() as cluster:
        document = {"conn_type": "kubernetes", "extra": {"kube_config": cluster.kubeconfig}}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps(document))
        yield cluster


def build_document(version: str) -> dict[str, Any]:
    return {**DOCUMENT, "apiVersion": f"spark.apache.org/{version}"}


def test_application_runs_in_served_version(
    cluster: Cluster, served: str, deferrable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    first = TaskInstance()
    with caplog.at_level(logging.INFO):
        assert run(operator(deferrable, build_document(OTHER[served])), first) == "pi"
    assert (
        f"this cluster does not serve SparkApplication in version spark.apache.org/{OTHER[served]}; "
        f"using version spark.apache.org/{served}"
    ) in caplog.messages
    assert "driver | Pi is roughly 3.14" in caplog.text
    taken = cluster.application()["metadata"]["annotations"]["airflow.spark-operator/result-taken-by"]
    assert taken == str(first.id)


def test_timeout_cancels_application_in_served_version(cluster: Cluster, served: str) -> None:
    cluster.script = run_on
    with pytest.raises(SparkApplicationTimedOut, match="it was deleted"):
        run(
            operator(False, build_document(OTHER[served]), execution_timeout=timedelta(milliseconds=300)),
            TaskInstance(),
        )
    assert cluster.applications() == []


def test_sensor_reads_served_version(cluster: Cluster, served: str, deferrable: bool) -> None:
    cluster.create("pi")
    sensor = SparkApplicationSensor(
        task_id="wait",
        name="pi",
        namespace=NAMESPACE,
        kubernetes_conn_id="spark",
        api_version=f"spark.apache.org/{OTHER[served]}",
        deferrable=deferrable,
    )
    assert run(sensor, TaskInstance()) == "Succeeded"


@pytest.mark.parametrize("served", ["v1beta1"])
def test_deferred_task_survives_replaced_definitions(cluster: Cluster, served: str) -> None:
    cluster.script = stay_submitted
    task_instance = TaskInstance()
    task = operator(True, build_document(served))
    deferred = defer(task, task_instance)
    (later,) = build_definitions("v1", served, kinds=("SparkApplication",))
    later["spec"]["versions"][1]["served"] = False

    def replace() -> None:
        name = later["metadata"]["name"]
        cluster.store.update(CUSTOM_RESOURCE_DEFINITIONS, None, name, lambda old: {**old, "spec": later["spec"]})

    cluster.do(replace)
    cluster.play(succeed)
    event = fire(reload(deferred.trigger))
    assert task.resume_execution(deferred.method_name, {"event": event}, build_context(task_instance)) == "pi"


@pytest.mark.parametrize("served", ["v2"])
def test_unknown_served_version_fails_the_submission(cluster: Cluster, served: str) -> None:
    with pytest.raises(
        SparkApplicationError,
        match=r"^could not submit the application: .* serves SparkApplication of spark\.apache\.org only as v2, "
        r"not as v1\. Install the CustomResourceDefinitions with `spark-operator crds \| kubectl apply",
    ):
        run(operator(False), TaskInstance())
    assert cluster.applications() == []


@pytest.mark.parametrize("served", ["v2"])
def test_sensor_fails_if_only_an_unknown_version_is_served(cluster: Cluster, served: str, deferrable: bool) -> None:
    sensor = SparkApplicationSensor(task_id="wait", name="pi", kubernetes_conn_id="spark", deferrable=deferrable)
    with pytest.raises(SparkApplicationError, match=r"could not follow .* only as v2"):
        run(sensor, TaskInstance())


def test_sensor_rejects_unknown_version_at_parse_time() -> None:
    with pytest.raises(ValueError, match=r"api_version: must be one of spark\.apache\.org/v1, .* not 'v1'"):
        SparkApplicationSensor(task_id="wait", name="pi", api_version="v1")
