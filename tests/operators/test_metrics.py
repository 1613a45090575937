"""The metrics of a run: received by a StatsD socket, and by a reader of OpenTelemetry."""

import json
import logging
import socket
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.exceptions import (
    SparkApplicationDeleted,
    SparkApplicationError,
    SparkApplicationTimedOut,
)
from airflow_provider_spark_operator.operators import run_record
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.triggers.event import ApplicationEvent, EventKind
from tests.cluster import Cluster, fail, run_on, succeed
from tests.operators.tasks import DOCUMENT, operator
from tests.task import TaskInstance, build_context, call_when_logged, run

PRICES = json.dumps({"currency": "EUR", "prices": [{"coreHour": 1, "gibHour": 0}]})
RECORD = {
    "application": {"team": "sales"},
    "totals": {
        "seconds": 120.5,
        "waitingSeconds": 30,
        "executorsAtOnce": 4,
        "requested": {
            "driver": {"coreHours": 0.25, "gibHours": 0.5, "pods": 1},
            "executor": {"coreHours": 1.5, "gibHours": 3, "pods": 4},
        },
        "cost": {"amount": 1.75, "currency": "EUR"},
    },
}
TAGS = "dag_id=dag,task_id=run,outcome=succeeded,team=sales"


def build_event(kind: EventKind = EventKind.ENDED, **values: Any) -> ApplicationEvent:
    return ApplicationEvent(kind, "jobs", "pi", "u1", **{"outcome": "Succeeded", "record": RECORD, **values})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A StatsD socket to which Airflow sends its metrics."""
    pytest.importorskip("statsd")
    from airflow.sdk._shared.observability.metrics import stats as shared
    from airflow.sdk._shared.observability.metrics.base_stats_logger import NoStatsLogger
    from airflow.sdk.observability import stats
    from airflow.sdk.observability.metrics.stats_utils import get_stats_factory

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(10)
        monkeypatch.setenv("AIRFLOW__METRICS__STATSD_ON", "True")
        monkeypatch.setenv("AIRFLOW__METRICS__STATSD_HOST", "127.0.0.1")
        monkeypatch.setenv("AIRFLOW__METRICS__STATSD_PORT", str(server.getsockname()[1]))
        monkeypatch.setenv("AIRFLOW__METRICS__STATSD_INFLUXDB_ENABLED", "True")
        stats.initialize(factory=get_stats_factory(), export_legacy_names=True)
        yield server
        backend: Any = shared._get_backend()
        backend.statsd.close()
        stats.initialize(factory=NoStatsLogger, export_legacy_names=True)


def receive(server: socket.socket, number: int) -> list[str]:
    received = [server.recv(1000).decode() for _ in range(number)]
    server.setblocking(False)
    with pytest.raises(BlockingIOError):
        server.recv(1000)
    return received


@pytest.mark.needs_airflow("3.3")
def test_statsd_receives_each_figure_with_its_tags(server: socket.socket) -> None:
    run_record.emit_metrics(build_context(TaskInstance()), build_event())
    assert receive(server, 6) == [
        f"airflow.spark_operator.application.core_hours,{TAGS}:1.75|c",
        f"airflow.spark_operator.application.gib_hours,{TAGS}:3.5|c",
        f"airflow.spark_operator.application.cost,{TAGS},currency=EUR:1.75|c",
        f"airflow.spark_operator.application.duration,{TAGS}:120500.000000|ms",
        f"airflow.spark_operator.application.waiting,{TAGS}:30000.000000|ms",
        f"airflow.spark_operator.application.executors,{TAGS}:4|g",
    ]


@pytest.mark.needs_airflow("3.3")
def test_opentelemetry_receives_each_figure_with_its_tags() -> None:
    export = pytest.importorskip("opentelemetry.sdk.metrics.export")
    from airflow.sdk._shared.observability.metrics.base_stats_logger import NoStatsLogger
    from airflow.sdk._shared.observability.metrics.otel_logger import SafeOtelLogger
    from airflow.sdk.observability import stats
    from opentelemetry.sdk.metrics import MeterProvider

    reader = export.InMemoryMetricReader()
    backend: Any = SafeOtelLogger(MeterProvider([reader]))
    stats.initialize(factory=lambda: backend, export_legacy_names=True)
    try:
        run_record.emit_metrics(build_context(TaskInstance()), build_event())
        (resource,) = reader.get_metrics_data().resource_metrics
    finally:
        stats.initialize(factory=NoStatsLogger, export_legacy_names=True)
    points = {
        each.name.removeprefix("airflow.spark_operator.application."): each.data.data_points[0]
        for scope in resource.scope_metrics
        for each in scope.metrics
    }
    assert {name: getattr(point, "value", None) or point.sum for name, point in points.items()} == {
        "core_hours": 1.75,
        "gib_hours": 3.5,
        "cost": 1.75,
        "duration": 120500,
        "waiting": 30000,
        "executors": 4,
    }
    assert points["cost"].attributes["currency"] == "EUR"
    assert points["core_hours"].attributes["team"] == "sales"


class Stats:
    """Keeps the metrics that are emitted."""

    def __init__(self) -> None:
        self.emitted: list[tuple[str, Any, dict[str, str]]] = []

    def incr(self, stat: str, value: Any, *, tags: dict[str, str]) -> None:
        self.emitted.append((stat.rpartition(".")[2], value, tags))

    gauge = timing = incr


@pytest.fixture
def stats(monkeypatch: pytest.MonkeyPatch) -> Stats:
    stats = Stats()
    monkeypatch.setattr(run_record, "load_stats", lambda: stats)
    return stats


def test_incomplete_amounts_have_a_tag(stats: Stats) -> None:
    missing = [{"what": "totals.cost.executor", "why": "no price matches 2 of 4 pods"}]
    run_record.emit_metrics(build_context(TaskInstance()), build_event(record=RECORD | {"missing": missing}))
    assert [name for name, _, tags in stats.emitted if tags.get("incomplete") == "true"] == ["cost"]


@pytest.mark.parametrize("deferrable", [True, False], ids=["deferred", "on the worker"])
@pytest.mark.parametrize(("script", "outcome"), [(succeed, "succeeded"), (fail, "application")])
def test_end_of_a_task_is_emitted_once(
    cluster: Cluster,
    deferrable: bool,
    script: Callable[[Application], Any],
    outcome: str,
    stats: Stats,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__PRICES", PRICES)
    cluster.script = script
    try:
        run(operator(deferrable, {**DOCUMENT, "metadata": {"labels": {"team": "sales"}}}), TaskInstance())
    except SparkApplicationError:
        assert script is fail
    names = [name for name, _, _ in stats.emitted]
    assert names[:5] == ["core_hours", "gib_hours", "cost", "duration", "waiting"]
    assert len(names) == len(set(names))
    assert all(tags["outcome"] == outcome and tags["team"] == "sales" for _, _, tags in stats.emitted)


def test_deleted_application_is_emitted(cluster: Cluster, stats: Stats) -> None:
    cluster.script = run_on
    with call_when_logged("RunningHealthy", lambda: cluster.delete("pi")), pytest.raises(SparkApplicationDeleted):
        run(operator(), TaskInstance())
    assert {tags["outcome"] for _, _, tags in stats.emitted} == {"deleted"}


@pytest.mark.parametrize("deleted", [True, False], ids=["deleted", "left running"])
def test_timed_out_application_is_emitted_only_if_it_was_deleted(cluster: Cluster, deleted: bool, stats: Stats) -> None:
    cluster.script, task_instance = run_on, TaskInstance()
    with pytest.raises(SparkApplicationTimedOut):
        run(operator(execution_timeout=timedelta(seconds=2), delete_on_kill=deleted, retries=1), task_instance)
    assert {tags["outcome"] for _, _, tags in stats.emitted} == ({"timed_out"} if deleted else set())


@pytest.mark.parametrize(
    ("event", "outcome"),
    [
        (build_event(failure_kind="infrastructure", outcome="Failed"), "infrastructure"),
        (build_event(EventKind.TIMED_OUT), "timed_out"),
        (build_event(EventKind.OVER_BUDGET), "budget"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_outcome_names_the_kind_of_the_end(event: ApplicationEvent, outcome: str, stats: Stats) -> None:
    run_record.emit_metrics(build_context(TaskInstance()), event)
    assert {tags["outcome"] for _, _, tags in stats.emitted} == {outcome}


@pytest.mark.parametrize(
    "event",
    [build_event(EventKind.LOST), build_event(EventKind.REPLACED), build_event(record=None), build_event(record={})],
    ids=["lost", "replaced", "not recorded", "without figures"],
)
def test_run_that_may_continue_or_is_not_known_is_not_emitted(event: ApplicationEvent, stats: Stats) -> None:
    run_record.emit_metrics(build_context(TaskInstance()), event)
    assert stats.emitted == []


def test_failing_backend_costs_a_warning(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def load() -> None:
        raise OSError("no route")

    monkeypatch.setattr(run_record, "load_stats", load)
    with caplog.at_level(logging.WARNING):
        run_record.emit_metrics(build_context(TaskInstance()), build_event())
    assert caplog.messages == ["could not emit the metrics of this run: no route"]
