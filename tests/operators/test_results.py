"""The asset events and the OpenLineage properties of a task."""

from typing import Any

import pytest
from airflow.sdk import Asset

from airflow_provider_spark_operator.operators import tries
from airflow_provider_spark_operator.operators.results import record_on_assets
from airflow_provider_spark_operator.triggers.event import ApplicationEvent, EventKind
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
    extra: dict[str, Any] = dict(context["outlet_events"][REPORT].extra)
    assert extra.pop("spark_seconds") >= 0
    assert extra.pop("spark_core_hours") >= 0
    assert extra == {
        "spark_application": "jobs/pi",
        "spark_application_id": "pi-0",
        "spark_application_uid": cluster.application()["metadata"]["uid"],
        "spark_outcome": "Succeeded",
    }


def test_asset_event_has_the_cost_and_keeps_extras_of_the_user(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "AIRFLOW__SPARK_OPERATOR__PRICES", '{"currency": "EUR", "prices": [{"coreHour": 1, "gibHour": 0}]}'
    )
    context = build_context(TaskInstance(), outlet_events=OutletEvents())
    context["outlet_events"][REPORT].extra.update(spark_core_hours="mine", rows=3)
    operator(False, outlets=[REPORT]).execute(context)
    extra: dict[str, Any] = dict(context["outlet_events"][REPORT].extra)
    assert (extra["spark_core_hours"], extra["rows"], extra["spark_currency"]) == ("mine", 3, "EUR")
    assert extra["spark_cost"] >= 0


def test_asset_event_without_a_record_has_no_figures(cluster: Cluster) -> None:
    context = build_context(TaskInstance(), outlet_events=OutletEvents())
    operator(False, outlets=[REPORT], do_xcom_push=False).execute(context)
    assert sorted(context["outlet_events"][REPORT].extra) == [
        "spark_application",
        "spark_application_id",
        "spark_application_uid",
        "spark_outcome",
    ]


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


def test_asset_event_names_incomplete_figures() -> None:
    context = build_context(TaskInstance(), outlet_events=OutletEvents())
    record = {
        "totals": {"requested": {"driver": {"coreHours": 0.5}}},
        "missing": [{"what": "pods", "why": "not permitted"}],
    }
    record_on_assets(context, [REPORT], ApplicationEvent(EventKind.ENDED, "jobs", "pi", "u1", record=record))
    extra = context["outlet_events"][REPORT].extra
    assert (extra["spark_core_hours"], extra["spark_incomplete"]) == (0.5, ["spark_core_hours"])
