"""The asset events and the OpenLineage properties of a task."""

from typing import Any

import pytest
from airflow.sdk import Asset

from airflow_provider_spark_operator.operators import tries
from tests.cluster import Cluster
from tests.operators.tasks import operator
from tests.task import TaskInstance, build_context, defer, fire, reload

REPORT = Asset("s3://reports/daily")


class OutletEvents:
    """The `outlet_events` that Airflow puts into a task's context."""

    def __init__(self) -> None:
        self._accessors: dict[str, Any] = {}

    def __getitem__(self, asset: Asset) -> Any:
        return self._accessors.setdefault(asset.uri, type("Accessor", (), {"extra": {}})())


@pytest.mark.parametrize("deferrable", [True, False], ids=["deferred", "on the worker"])
def test_asset_event_names_the_application(cluster: Cluster, deferrable: bool) -> None:
    task_instance = TaskInstance()
    context = build_context(task_instance, outlet_events=OutletEvents())
    task = operator(deferrable, outlets=[REPORT])
    if deferrable:
        event = fire(reload(defer(task, task_instance).trigger))
        operator(outlets=[REPORT]).resume_execution("execute_complete", {"event": event}, context)
    else:
        task.execute(context)
    assert context["outlet_events"][REPORT].extra == {
        "spark_application": "jobs/pi",
        "spark_application_id": "pi-0",
        "spark_application_uid": cluster.application()["metadata"]["uid"],
    }


@pytest.fixture
def lineage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands for Airflow's OpenLineage provider, which need not be installed."""
    from airflow.providers.common.compat.openlineage.utils import spark

    def parent(properties: dict[str, str], context: dict[str, TaskInstance]) -> dict[str, str]:
        return {**properties, "spark.openlineage.parentJobName": context["ti"].task_id}

    def transport(properties: dict[str, Any], context: dict[str, TaskInstance]) -> dict[str, str]:
        return {**properties, "spark.openlineage.transport.type": "http"}

    monkeypatch.setattr(spark, "inject_parent_job_information_into_spark_properties", parent)
    monkeypatch.setattr(spark, "inject_transport_information_into_spark_properties", transport)


def test_parent_job_is_injected_if_enabled(cluster: Cluster, lineage: None) -> None:
    operator(False, openlineage_inject_parent_job_info=True).execute(build_context(TaskInstance()))
    conf = cluster.application()["spec"]["sparkConf"]
    assert conf["spark.openlineage.parentJobName"] == "run"
    assert "spark.openlineage.transport.type" not in conf
    assert conf["spark.executor.instances"] == "2"


def test_transport_is_injected_only_if_its_switch_is_on(lineage: None) -> None:
    context = build_context(TaskInstance())
    assert tries.create_lineage({"a": "b"}, context, parent=False, transport=False) == {}
    created = tries.create_lineage({"a": "b"}, context, parent=False, transport=True)
    assert created == {"spark.openlineage.transport.type": "http"}


def test_lineage_is_off_by_default() -> None:
    task = operator()
    assert not task.openlineage_inject_parent_job_info
    assert not task.openlineage_inject_transport_info
