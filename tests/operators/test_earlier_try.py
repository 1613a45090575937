"""Retries that Airflow 3.0 resumes with the event of an earlier try, in place of starting them."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from airflow.sdk import BaseOperator

from airflow_provider_spark_operator.airflow_compat import TaskDeferred
from airflow_provider_spark_operator.exceptions import SparkApplicationError, SparkApplicationTimedOut
from airflow_provider_spark_operator.operators import current_try
from airflow_provider_spark_operator.sensors.spark_application import SparkApplicationSensor
from airflow_provider_spark_operator.sensors.spark_cluster import SparkClusterSensor
from airflow_provider_spark_operator.testing.spark_clusters import be_refused
from tests.cluster import Cluster, fail, run_on
from tests.operators.tasks import operator
from tests.operators.test_spark_cluster import create
from tests.task import TaskInstance, build_context, defer, fire, reload

Create = Callable[[], BaseOperator]


def wait_for_application() -> SparkApplicationSensor:
    return SparkApplicationSensor(task_id="run", name="pi", kubernetes_conn_id="spark", deferrable=True)


def wait_for_cluster() -> SparkClusterSensor:
    return SparkClusterSensor(task_id="run", name="shared", kubernetes_conn_id="spark", deferrable=True)


def resume(task: BaseOperator, task_instance: TaskInstance, method: str, arguments: Mapping[str, Any]) -> TaskDeferred:
    """Resume a task that defers again."""
    with pytest.raises(TaskDeferred) as caught:
        task.resume_execution(method, dict(arguments), build_context(task_instance))
    return caught.value


@pytest.mark.parametrize("create_task", [operator, create, wait_for_application, wait_for_cluster])
def test_retry_with_event_of_earlier_try_starts_anew(cluster: Cluster, create_task: Create) -> None:
    cluster.script, cluster.cluster_script = fail, be_refused
    if create_task is wait_for_application:
        defer(operator(), TaskInstance("other"))
    if create_task is wait_for_cluster:
        defer(create(), TaskInstance("other"))
    first = TaskInstance()
    arguments = {"event": fire(reload(defer(create_task(), first).trigger))}
    with pytest.raises(SparkApplicationError):
        create_task().resume_execution("execute_complete", dict(arguments), build_context(first))
    deferred = resume(create_task(), first.next_try(), "execute_complete", arguments)
    assert fire(reload(deferred.trigger))["try_number"] == 2


@pytest.mark.parametrize("create_task", [operator, create])
@pytest.mark.parametrize("error", ["Trigger timeout", "Trigger failure"])
def test_retry_with_failed_deferral_of_earlier_try_starts_anew(
    cluster: Cluster, create_task: Create, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(current_try, "KEEPS_DEFERRALS", True)
    cluster.script = run_on
    first = TaskInstance()
    defer(create_task(), first)
    with pytest.raises(SparkApplicationError):
        create_task().resume_execution("__fail__", {"error": error}, build_context(first))
    second = first.next_try()
    resume(create_task(), second, "__fail__", {"error": error})
    with pytest.raises(SparkApplicationError):  # now the second try itself has deferred
        create_task().resume_execution("__fail__", {"error": error}, build_context(second))


@pytest.mark.parametrize(("keeps", "try_number"), [(True, 1), (False, 2)], ids=["first try", "a newer Airflow"])
def test_failed_deferral_of_this_try_is_reported_without_an_application(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, keeps: bool, try_number: int
) -> None:
    monkeypatch.setattr(current_try, "KEEPS_DEFERRALS", keeps)
    context = build_context(TaskInstance(try_number=try_number))
    with pytest.raises(SparkApplicationTimedOut, match="there was nothing to delete"):
        operator().resume_execution("__fail__", {"error": "Trigger timeout"}, context)


def test_failed_deferral_is_reported_if_applications_cannot_be_listed(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(current_try, "KEEPS_DEFERRALS", True)
    monkeypatch.delenv("AIRFLOW_CONN_SPARK")
    with pytest.raises(SparkApplicationTimedOut, match="no triggerer reported the end of the application"):
        operator().resume_execution("__fail__", {"error": "Trigger timeout"}, build_context(TaskInstance(try_number=2)))
