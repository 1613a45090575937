"""The time for which the cluster keeps the driver pod of a failed application."""

from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.testing.cluster import ScriptedCluster
from tests.cluster import Cluster
from tests.operators.tasks import DOCUMENT, arguments_of, operator
from tests.task import TaskInstance, defer

KUBEFLOW: dict[str, Any] = {
    "apiVersion": "sparkoperator.k8s.io/v1beta2",
    "kind": "SparkApplication",
    "spec": {"type": "Java"},
}


def build_application(**tolerations: Any) -> dict[str, Any]:
    return DOCUMENT | {"spec": DOCUMENT["spec"] | {"applicationTolerations": tolerations}}


def build_retention(millis: int) -> dict[str, Any]:
    return {"resourceRetainPolicy": "OnFailure", "resourceRetainDurationMillis": millis}


def read_submitted_tolerations(cluster: ScriptedCluster, **parameters: Any) -> dict[str, Any]:
    """Return the retention fields of the application that the task submits."""
    defer(operator(**parameters), TaskInstance())
    return read_retention(cluster.application()["spec"])


def read_retention(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the retention fields that differ from the defaults of the definition."""
    tolerations = spec.get("applicationTolerations", {})
    return {field: value for field, value in tolerations.items() if field.startswith("resourceRetain") and value != -1}


def test_failed_driver_is_kept_for_five_minutes_by_default(cluster: Cluster) -> None:
    assert read_submitted_tolerations(cluster) == build_retention(300_000)


def test_retention_is_added_to_other_tolerations(cluster: Cluster) -> None:
    given = build_application(restartConfig={"restartPolicy": "Never"})
    assert read_submitted_tolerations(cluster, application=given) == build_retention(300_000)
    config = cluster.application()["spec"]["applicationTolerations"]["restartConfig"]
    assert config["restartPolicy"] == "Never"


@pytest.mark.parametrize("keep", [timedelta(hours=1), 3600])
def test_duration_is_a_parameter(cluster: Cluster, keep: timedelta | int) -> None:
    assert read_submitted_tolerations(cluster, keep_failed_driver=keep) == build_retention(3_600_000)


@pytest.mark.parametrize("keep", [None, timedelta(0), 0])
def test_retention_can_be_left_to_the_cluster(cluster: Cluster, keep: timedelta | int | None) -> None:
    assert read_submitted_tolerations(cluster, keep_failed_driver=keep) == {}


def test_every_driver_can_be_kept(cluster: Cluster) -> None:
    tolerations = read_submitted_tolerations(cluster, keep_driver=timedelta(hours=1))
    assert tolerations == {"resourceRetainPolicy": "Always", "resourceRetainDurationMillis": 3_600_000}


def test_policy_of_the_document_is_kept(cluster: Cluster) -> None:
    given = {"resourceRetainPolicy": "Never"}
    assert read_submitted_tolerations(cluster, application=build_application(**given)) == given


def test_duration_of_the_document_is_kept(cluster: Cluster) -> None:
    given = {"resourceRetainDurationMillis": 1000}
    assert read_submitted_tolerations(cluster, application=build_application(**given)) == given


@pytest.mark.needs_airflow("3.3")
def test_task_that_starts_in_the_triggerer_keeps_its_failed_driver() -> None:
    task = operator(start_from_trigger=True)
    document = arguments_of(task)["application"]
    assert read_retention(document["spec"]) == build_retention(300_000)


@pytest.mark.parametrize("document", [KUBEFLOW, DOCUMENT | {"apiVersion": "spark.apache.org/v1beta1"}])
@pytest.mark.needs_airflow("3.3")
def test_version_or_dialect_without_the_fields_is_not_changed(document: dict[str, Any]) -> None:
    task = operator(application=document, start_from_trigger=True)
    assert read_retention(arguments_of(task)["application"]["spec"]) == {}


@pytest.mark.parametrize("keep", [timedelta(seconds=-1), -1, True, "5m"])
def test_invalid_duration_is_rejected(keep: timedelta | int | str) -> None:
    with pytest.raises(ValueError, match="keep_failed_driver: must be a number of seconds"):
        operator(keep_failed_driver=keep)
    with pytest.raises(ValueError, match="keep_driver: must be a number of seconds"):
        operator(keep_driver=keep)
