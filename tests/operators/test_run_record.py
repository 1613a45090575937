"""The record of a run as an XCom of its task: live and final, deferred and on a worker."""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, cast

import aiohttp
import pytest
from airflow.sdk.bases.xcom import BaseXCom
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import SetXCom

from airflow_provider_spark_operator.core.spark_metrics.advice import MAX_RUNS
from airflow_provider_spark_operator.exceptions import SparkApplicationDeleted, SparkApplicationFailed
from airflow_provider_spark_operator.follow.recording import recorder
from airflow_provider_spark_operator.operators.run_record import store_final_record
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.triggers.run_record import XCOM_KEY
from tests.cluster import Cluster, fail, run_on, stay_submitted, succeed
from tests.core.report.record_schema import VALIDATOR
from tests.core.spark_metrics.test_advice import build_run
from tests.core.spark_metrics.test_event_log import LOG
from tests.operators.tasks import operator
from tests.task import TaskInstance, build_context, call_when_logged, defer, fire, reload, run

DEADLINE = 60


class Supervisor:
    """The connection of a task or a triggerer to Airflow, as far as XComs need it."""

    def __init__(self) -> None:
        self.stored: list[SetXCom] = []
        self.problem: Exception | None = None
        self.has_record = Event()

    def send(self, message: Any) -> None:
        if self.problem is not None:
            raise self.problem
        if isinstance(message, SetXCom):
            self.stored.append(message)
        if getattr(message, "key", None) == XCOM_KEY:
            self.has_record.set()

    async def succeed_when_recorded(self, application: Application) -> None:
        """Succeed after a record is stored: the record of a run that ends before is abandoned."""
        application.start(executors=2)
        assert await asyncio.to_thread(self.has_record.wait, DEADLINE)
        application.succeed()

    @property
    def records(self) -> list[dict[str, Any]]:
        """The records that were stored while the application ran."""
        return [cast("dict[str, Any]", each.value) for each in self.stored if each.key == XCOM_KEY]


class Store(dict[str, Any]):
    """The state store of a task."""

    def set(self, key: str, value: Any) -> None:
        self[key] = json.loads(json.dumps(value))


@pytest.fixture(params=[True, False], ids=["deferred", "on the worker"])
def deferrable(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def supervisor(monkeypatch: pytest.MonkeyPatch) -> Supervisor:
    supervisor = Supervisor()
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", supervisor, raising=False)
    return supervisor


def read_final(task_instance: TaskInstance) -> dict[str, Any]:
    record: dict[str, Any] = task_instance.xcoms[XCOM_KEY]
    VALIDATOR.validate(json.loads(json.dumps(record)))
    return record


def test_live_and_final_records_of_a_success(cluster: Cluster, deferrable: bool, supervisor: Supervisor) -> None:
    cluster.script = supervisor.succeed_when_recorded
    task_instance = TaskInstance()
    run(operator(deferrable), task_instance)
    (first, *_) = supervisor.records
    VALIDATOR.validate(first)
    where = supervisor.stored[0]
    assert (where.dag_id, where.task_id, where.run_id, where.map_index) == ("dag", "run", task_instance.run_id, -1)
    final = read_final(task_instance)
    assert (final["live"], final["verdict"]["outcome"]) == (False, "Succeeded")
    assert final["application"]["uid"] == cluster.application()["metadata"]["uid"]
    assert final["application"]["task"]["taskId"] == "run"
    assert [each["name"].rpartition("-exec-")[2] for each in final["executors"]] == ["0", "1"]
    assert {each["what"] for each in final["missing"]} >= {"events"}


def test_final_record_of_a_failure_has_its_cause(cluster: Cluster, deferrable: bool, supervisor: Supervisor) -> None:
    cluster.script = fail
    task_instance = TaskInstance()
    with pytest.raises(SparkApplicationFailed):
        run(operator(deferrable), task_instance)
    verdict = read_final(task_instance)["verdict"]
    assert (verdict["outcome"], verdict["failureKind"]) == ("Failed", "application")
    assert verdict["retryWorthy"] is True


def test_deleted_application_has_a_final_record_with_an_unknown_outcome(
    cluster: Cluster, deferrable: bool, supervisor: Supervisor
) -> None:
    cluster.script = run_on
    task_instance = TaskInstance()
    with call_when_logged("RunningHealthy", lambda: cluster.delete("pi")), pytest.raises(SparkApplicationDeleted):
        run(operator(deferrable), task_instance)
    record = read_final(task_instance)
    assert (record["live"], record["verdict"]["outcome"]) == (False, "Unknown")
    assert "was deleted" in record["verdict"]["sentence"]


def test_deferral_that_timed_out_closes_the_stored_record(
    cluster: Cluster, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.script = run_on
    task_instance = TaskInstance()
    task = operator(execution_timeout=timedelta(hours=1))
    defer(task, task_instance)
    live = {"version": 1, "live": True, "state": "RunningHealthy"}
    monkeypatch.setattr("airflow_provider_spark_operator.operators.run_record.read_xcom", lambda *_, **__: live)
    with pytest.raises(Exception, match="no triggerer reported the end"):
        task.resume_execution("__fail__", {"error": "Trigger timeout"}, build_context(task_instance))
    record = task_instance.xcoms[XCOM_KEY]
    assert (record["live"], record["state"], record["verdict"]["outcome"]) == (False, "RunningHealthy", "Unknown")
    assert "it was deleted" in record["verdict"]["sentence"]


def test_nothing_is_recorded_without_xcoms(cluster: Cluster, deferrable: bool, supervisor: Supervisor) -> None:
    task_instance, store = TaskInstance(), Store()
    task = operator(deferrable, do_xcom_push=False)
    context: Any = build_context(task_instance, task_state_store=store)
    if deferrable:
        trigger = defer(task, task_instance).trigger
        payload = fire(reload(trigger))
        assert payload["record"] is None
        task.execute_complete(context, payload)
    else:
        task.execute(context)
    assert (supervisor.records, task_instance.xcoms.get(XCOM_KEY), store) == ([], None, {})


def test_custom_xcom_backend_stores_the_live_record(
    cluster: Cluster, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket: dict[str, str] = {}

    class Bucket(BaseXCom):
        @staticmethod
        def serialize_value(value: Any, *, key: str | None = None, **where: Any) -> str:
            bucket[f"{where['task_id']}/{key}"] = json.dumps(value)
            return f"bucket://{where['task_id']}/{key}"

    monkeypatch.setattr("airflow.sdk.execution_time.xcom.XCom", Bucket)
    cluster.script = supervisor.succeed_when_recorded
    run(operator(), TaskInstance())
    VALIDATOR.validate(json.loads(bucket[f"run/{XCOM_KEY}"]))
    assert {each.value for each in supervisor.stored if each.key == XCOM_KEY} == {f"bucket://run/{XCOM_KEY}"}


def test_failing_store_warns_once_and_the_task_succeeds(
    cluster: Cluster, deferrable: bool, supervisor: Supervisor, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(TaskInstance):
        def xcom_push(self, key: str, value: Any) -> None:
            if key == XCOM_KEY:
                raise OSError("no space")
            super().xcom_push(key, value)

    supervisor.problem = OSError("no space")
    cluster.script = supervisor.succeed_when_recorded
    failed = call_when_logged("could not store the record", supervisor.has_record.set, recorder.logger)
    with caplog.at_level(logging.INFO), failed:
        assert run(operator(deferrable), Failing()) == "pi"
    assert "could not store the record of SparkApplication jobs/pi while it runs: no space" in caplog.text
    warnings = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert [each for each in warnings if "no space" in each] == [
        f"could not store the XCom {XCOM_KEY}, so other tasks cannot read it: no space"
    ]


def test_mapped_task_is_recorded_with_its_index(cluster: Cluster, supervisor: Supervisor) -> None:
    cluster.script = supervisor.succeed_when_recorded
    task_instance = TaskInstance()
    task_instance.map_index = 3
    run(operator(), task_instance)
    assert {each.map_index for each in supervisor.stored if each.key == XCOM_KEY} == {3}


def test_record_that_is_not_stored_by_airflow_itself_is_silent(
    cluster: Cluster, deferrable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Outside of Airflow, for example in the tests of a user, there is no supervisor."""
    with caplog.at_level(logging.INFO):
        run(operator(deferrable), TaskInstance())
    assert "record" not in caplog.text


def count_requests(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> Counter[str]:
    original, counted = aiohttp.ClientSession._request, Counter[str]()

    async def count(session: Any, method: str, url: Any, **options: Any) -> Any:
        counted[str(url).partition("?")[0].rpartition("/")[2]] += 1
        return await original(session, method, url, **options)

    with monkeypatch.context() as patched:
        patched.setattr(aiohttp.ClientSession, "_request", count)
        act()
    return counted


@pytest.mark.parametrize(("script", "more"), [(succeed, 1), (fail, 0)], ids=["success", "failure"])
def test_record_needs_at_most_one_more_list_of_pods_for_a_short_run(
    cluster: Cluster,
    supervisor: Supervisor,
    monkeypatch: pytest.MonkeyPatch,
    script: Callable[[Application], Any],
    more: int,
) -> None:
    cluster.script = stay_submitted
    found = {}
    for recorded in (False, True):
        name = f"pi-{recorded}".lower()
        task_instance = TaskInstance(task_id=name)
        trigger = reload(defer(operator(name=name, do_xcom_push=recorded), task_instance).trigger)
        cluster.play(script, name)
        found[recorded] = count_requests(monkeypatch, partial(fire, trigger))
    assert found[True]["pods"] - found[False]["pods"] == more


def test_later_try_has_the_summary_of_the_earlier_one(cluster: Cluster, supervisor: Supervisor) -> None:
    store, first, second = Store(), TaskInstance(), TaskInstance(try_number=2)
    record = {"version": 1, "begin": "2026-01-01T00:00:00Z", "verdict": {"outcome": "Failed", "reason": "OOMKilled"}}
    for task_instance in (first, second):
        store_final_record(build_context(task_instance, task_state_store=store), record, None)
    assert "earlierTries" not in first.xcoms[XCOM_KEY]
    assert second.xcoms[XCOM_KEY]["earlierTries"] == [
        {"tryNumber": 1, "begin": "2026-01-01T00:00:00Z", "verdict": {"outcome": "Failed", "reason": "OOMKilled"}}
    ]
    assert "missing" not in second.xcoms[XCOM_KEY]


def test_later_try_has_the_sums_of_all_tries(cluster: Cluster, supervisor: Supervisor) -> None:
    store, first, second = Store(), TaskInstance(), TaskInstance(try_number=2)
    for hour, task_instance in enumerate((first, second)):
        totals = {"requested": {"driver": {"coreHours": 0.5, "gibHours": 1, "pods": 1}}}
        record = {"version": 1, "live": False, "begin": f"2026-01-01T0{hour}:00:00Z", "totals": totals}
        store_final_record(build_context(task_instance, task_state_store=store), record, None)
    assert "allTries" not in first.xcoms[XCOM_KEY]
    assert second.xcoms[XCOM_KEY]["allTries"] == {"coreHours": 1, "gibHours": 2}


def test_cleared_try_that_is_recorded_again_is_kept_once(supervisor: Supervisor) -> None:
    store = Store()
    for _ in range(2):
        store_final_record(build_context(TaskInstance(), task_state_store=store), {"version": 1}, None)
    assert [each["tryNumber"] for (tries,) in [store.values()] for each in tries] == [1]


def test_store_of_tries_that_fails_costs_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Store):
        def set(self, key: str, value: Any) -> None:
            raise OSError("the database is locked")

    task_instance = TaskInstance(try_number=2)
    store_final_record(build_context(task_instance, task_state_store=Broken()), {"version": 1}, None)
    assert task_instance.xcoms[XCOM_KEY]["missing"][0]["what"] == "earlierTries"
    assert caplog.messages == ["could not keep the record of this try for later tries: the database is locked"]


def test_airflow_without_a_state_store_is_named_in_the_record() -> None:
    task_instance = TaskInstance(try_number=3)
    store_final_record(build_context(task_instance), {"version": 1}, None)
    assert task_instance.xcoms[XCOM_KEY]["missing"][0]["what"] == "earlierTries"


def test_configured_prices_yield_the_cost(cluster: Cluster, deferrable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    prices = {"currency": "EUR", "prices": [{"coreHour": 3_600_000, "gibHour": 0}]}
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__PRICES", json.dumps(prices))
    task_instance = TaskInstance()
    run(operator(deferrable), task_instance)
    record = read_final(task_instance)
    assert record["totals"]["cost"]["currency"] == "EUR"
    milliseconds = record["totals"]["cost"]["executor"] / record["requests"]["executor"]["cores"]
    assert 0 <= milliseconds <= 2 * 1000 * record["totals"]["seconds"], "two executors run at most as long as the run"


def test_invalid_prices_cost_a_warning_and_not_the_task(
    cluster: Cluster, deferrable: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__PRICES", "0.04")
    task_instance = TaskInstance()
    run(operator(deferrable), task_instance)
    assert "cost" not in read_final(task_instance)["totals"]
    warning = "the record of this run contains no cost: [spark_operator] prices: must be a JSON object"
    assert caplog.text.count(warning) == 1


def test_event_log_replaces_the_figures_of_the_interface(
    cluster: Cluster, deferrable: bool, supervisor: Supervisor, tmp_path: Path
) -> None:
    (tmp_path / "pi-0").write_bytes(b"\n".join(LOG))
    task_instance = TaskInstance()
    run(operator(deferrable, spark_metrics=f"file://{tmp_path}"), task_instance)

    spark = read_final(task_instance)["spark"]
    assert (spark["source"], spark["tasks"]["done"]) == ("eventLog", 5)


def test_missing_event_log_is_logged_and_recorded(
    cluster: Cluster, deferrable: bool, supervisor: Supervisor, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    task_instance = TaskInstance()
    run(operator(deferrable, spark_metrics=f"file://{tmp_path}"), task_instance)

    record = read_final(task_instance)
    [why] = [each["why"] for each in record["missing"] if each["what"] == "spark"]
    assert why.startswith("its final figures are missing: ")
    assert "the final figures of Spark are missing: " in caplog.text


def test_what_a_run_used_is_kept_for_later_runs(
    cluster: Cluster, deferrable: bool, supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pi-0").write_bytes(b"\n".join(LOG))
    ends = [datetime.now(UTC) - timedelta(hours=hours) for hours in range(MAX_RUNS, 0, -1)]
    earlier = [build_run(end=end.isoformat()) for end in ends]
    monkeypatch.setattr("airflow_provider_spark_operator.operators.run_record.read_xcom", lambda *_, **__: earlier)
    task_instance = TaskInstance()
    run(operator(deferrable, spark_metrics=f"file://{tmp_path}"), task_instance)

    runs = task_instance.xcoms["spark_runs_measured"]
    assert runs[:-1] == earlier[1:]
    assert runs[-1]["taskSeconds"] == pytest.approx(4.4)
    assert "advice" not in read_final(task_instance), "the last run had other requests"


def test_advice_is_logged_and_recorded(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    runs = [build_run(end=f"2026-11-2{day}T08:00:00Z") for day in range(3)]
    task_instance = TaskInstance()
    monkeypatch.setattr("airflow_provider_spark_operator.operators.run_record.read_xcom", lambda *_, **__: runs[:2])
    monkeypatch.setattr("airflow_provider_spark_operator.operators.run_record.measure_run", lambda _: runs[2])
    store_final_record(build_context(task_instance), {"version": 1, "spark": {"source": "ui"}}, None)

    (advice,) = task_instance.xcoms[XCOM_KEY]["advice"]
    assert advice["parameter"] == "executor_memory"
    assert f"advice: {advice['text']}" in caplog.messages


OUT_OF_MEMORY = {
    "version": 1,
    "end": "2026-11-27T08:00:00Z",
    "verdict": {"outcome": "Failed", "outOfMemory": ["driver"]},
}


def test_run_out_of_memory_is_kept_for_later_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    earlier, task_instance = [build_run(end="2026-11-26T08:00:00Z")], TaskInstance()
    monkeypatch.setattr("airflow_provider_spark_operator.operators.run_record.read_xcom", lambda *_, **__: earlier)
    store_final_record(build_context(task_instance), OUT_OF_MEMORY, None)

    assert [run["outOfMemory"] for run in task_instance.xcoms["spark_runs_measured"]] == [False, True]


def test_run_out_of_memory_without_measured_runs_is_not_kept() -> None:
    task_instance = TaskInstance()
    store_final_record(build_context(task_instance), OUT_OF_MEMORY, None)

    assert "spark_runs_measured" not in task_instance.xcoms
