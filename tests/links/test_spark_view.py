"""The link to the page of a task in the Spark view."""

from typing import TYPE_CHECKING, cast

import pytest

from airflow_provider_spark_operator.links.spark_view import VIEW_LINK
from tests.cluster import Cluster, succeed
from tests.operators.tasks import operator
from tests.task import TaskInstance, run

if TYPE_CHECKING:
    from airflow_provider_spark_operator.airflow_compat import TaskInstanceKey


@pytest.mark.parametrize(
    ("base", "prefix"),
    [
        ("", ""),
        ("http://localhost:8080", "http://localhost:8080/"),
        ("https://a.example/air/", "https://a.example/air/"),
    ],
)
def test_link_names_the_task_instance(base: str, prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", base)
    instance = TaskInstance()
    instance.run_id, instance.map_index = "scheduled__2026-11-27T08:00:00+00:00", 3
    url = VIEW_LINK.get_link(operator(), ti_key=cast("TaskInstanceKey", instance))
    run_id = "scheduled__2026-11-27T08%3A00%3A00%2B00%3A00"
    query = f"dag_id={instance.dag_id}&run_id={run_id}&task_id={instance.task_id}&map_index=3"
    assert url == f"{prefix}spark-view/?{query}"


def test_link_is_stored_while_the_task_runs_on_a_worker(cluster: Cluster) -> None:
    cluster.script = succeed
    task, instance = operator(deferrable=False), TaskInstance()
    run(task, instance)
    assert str(instance.xcoms["_link_SparkViewLink"]).endswith(f"&task_id={instance.task_id}&map_index=-1")
