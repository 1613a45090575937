"""The triggers: stored arguments, kills, moves to other triggerers, and an unavailable API."""

import asyncio
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from airflow_provider_spark_operator.follow.recording import budget
from airflow_provider_spark_operator.follow.submission.stamp import TaskStamp
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import ServerError
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.triggers import kill, lifecycle, spark_application_runtime
from airflow_provider_spark_operator.triggers.spark_application import (
    SparkApplicationStateTrigger,
    SparkApplicationTrigger,
)
from airflow_provider_spark_operator.triggers.task_instance import Fate
from tests.cluster import NAMESPACE, Cluster, run_on, stay_submitted, succeed
from tests.task import call_when_logged, fire, reload, run_to_first_event, start_trigger, stop_trigger

if TYPE_CHECKING:
    from local_kubernetes.api.kinds.kinds import Kind

SetFate: TypeAlias = Callable[[Fate | Callable[[TaskStamp], Fate]], None]
STAMP = TaskStamp("dag", "task", "run", -1, 1, "id-1")


@pytest.fixture
def application(cluster: Cluster) -> dict[str, Any]:
    """A running application of the try with the stamp."""
    cluster.script = run_on
    return cluster.create("pi", labels=STAMP.build_labels(), annotations=STAMP.build_annotations())


def build_trigger(application: dict[str, Any], **parameters: Any) -> SparkApplicationTrigger:
    metadata = application["metadata"]
    parameters = {"kubernetes_conn_id": "spark", "stamp": asdict(STAMP), **parameters}
    return SparkApplicationTrigger(NAMESPACE, metadata["name"], metadata["uid"], **parameters)


@pytest.fixture
def fate(monkeypatch: pytest.MonkeyPatch) -> SetFate:
    """A function that sets the state of the task in Airflow."""

    def decide(answer: Fate | Callable[[TaskStamp], Fate]) -> None:
        ask = answer if callable(answer) else lambda stamp: answer
        monkeypatch.setattr(spark_application_runtime, "read_fate", ask)
        monkeypatch.setattr(kill, "read_fate_of_deferred", ask)

    return decide


def test_arguments_of_later_and_earlier_releases_are_accepted() -> None:
    later = SparkApplicationTrigger("jobs", "pi", "u-1", colour="red", version=7)
    assert reload(later).serialize() == later.serialize()
    assert later.serialize()[1]["colour"] == "red"
    earliest = SparkApplicationTrigger(namespace="jobs", name="pi", uid="u-1")
    assert reload(earliest).serialize() == earliest.serialize()


async def test_kill_deletes_the_application(cluster: Cluster, application: dict[str, Any], fate: SetFate) -> None:
    """apache/airflow#44014: the application of another provider continued to run."""
    fate(Fate.KILLED)
    trigger = build_trigger(application)
    await stop_trigger(trigger, await start_trigger(trigger))
    assert cluster.applications() == []


async def test_moved_trigger_deletes_nothing(cluster: Cluster, application: dict[str, Any], fate: SetFate) -> None:
    fate(Fate.MOVED)
    trigger = build_trigger(application)
    await stop_trigger(trigger, await start_trigger(trigger))
    assert len(cluster.applications()) == 1


async def test_application_adopted_by_next_try_is_kept(
    cluster: Cluster, application: dict[str, Any], fate: SetFate
) -> None:
    """After a clear, Airflow starts the next try before it stops the previous one."""
    fate(Fate.KILLED)
    trigger = build_trigger(application)
    task = await start_trigger(trigger)
    cluster.annotate("pi", task_instance_id="id-2", try_number="2")
    await stop_trigger(trigger, task)
    assert len(cluster.applications()) == 1


async def test_other_application_of_the_same_name_is_kept(
    cluster: Cluster, application: dict[str, Any], fate: SetFate
) -> None:
    fate(Fate.KILLED)
    trigger = build_trigger(application, delete_on_kill=True)
    task = await start_trigger(trigger)
    cluster.delete("pi")
    cluster.create("pi", labels=STAMP.build_labels(), annotations=STAMP.build_annotations())
    task.cancel("user-action")
    await asyncio.gather(task, return_exceptions=True)
    await trigger.on_kill()
    assert len(cluster.applications()) == 1


@pytest.mark.parametrize("parameters", [{"delete_on_kill": False}, {"stamp": None}], ids=["not wanted", "no stamp"])
async def test_kill_deletes_nothing_if_not_allowed(
    cluster: Cluster, application: dict[str, Any], fate: SetFate, parameters: dict[str, Any]
) -> None:
    fate(Fate.KILLED)
    await build_trigger(application, **parameters).on_kill()
    assert len(cluster.applications()) == 1


async def test_unknown_task_state_deletes_nothing_and_is_logged(
    cluster: Cluster, application: dict[str, Any], fate: SetFate, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(stamp: TaskStamp) -> Fate:
        raise LookupError("no answer")

    fate(refuse)
    await build_trigger(application).on_kill()
    assert len(cluster.applications()) == 1
    assert "could not delete SparkApplication jobs/pi, which may still be running: no answer" in caplog.text


@pytest.mark.parametrize("stamp", [asdict(STAMP), None], ids=["stamp", "no stamp"])
async def test_application_above_its_budget_is_deleted(
    cluster: Cluster, application: dict[str, Any], stamp: dict[str, Any] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "FIRST_SECONDS", 0.05)
    limits = {"max_core_hours": 1e-9, "ends_application": True}
    event = await run_to_first_event(build_trigger(application, stamp=stamp, budget=limits))
    assert event.payload["kind"] == "over-budget"
    assert cluster.applications() == []


async def test_fired_trigger_deletes_nothing(cluster: Cluster, application: dict[str, Any], fate: SetFate) -> None:
    fate(Fate.KILLED)
    trigger = build_trigger(application, deadline=datetime.now(UTC).isoformat())
    assert (await anext(trigger.run())).payload["kind"] == "timed-out"
    await trigger.on_kill()
    assert len(cluster.applications()) == 1


async def test_deletion_continues_if_airflow_cancels_on_kill(
    cluster: Cluster, application: dict[str, Any], fate: SetFate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Airflow cancels the `on_kill` of a trigger once a second while it runs."""
    asked, answer = asyncio.Event(), asyncio.Event()
    monkeypatch.setattr(lifecycle.Lifecycle, "_is_shutting_down", lambda _: asked.is_set())
    loop = asyncio.get_running_loop()

    def slowly(stamp: TaskStamp) -> Fate:
        loop.call_soon_threadsafe(asked.set)
        asyncio.run_coroutine_threadsafe(answer.wait(), loop).result(60)
        return Fate.KILLED

    fate(slowly)
    killing = asyncio.create_task(build_trigger(application).on_kill())
    await asyncio.wait_for(asked.wait(), 60)
    killing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await killing
    (deletion,) = lifecycle._tasks
    answer.set()
    await asyncio.wait_for(deletion, 60)
    assert cluster.applications() == []


async def test_many_triggers_share_one_watch(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[Kind, ...]] = []
    original = cluster.store.changes.subscribe

    def subscribe(*arguments: Any, **options: Any) -> Any:
        opened.append(arguments)
        return original(*arguments, **options)

    monkeypatch.setattr(cluster.store.changes, "subscribe", subscribe)
    cluster.script = stay_submitted
    applications = [cluster.create(f"pi-{number}") for number in range(20)]
    triggers = [build_trigger(one, stamp=None) for one in applications]
    tasks = [asyncio.create_task(run_to_first_event(trigger)) for trigger in triggers]
    for one in applications:
        await asyncio.to_thread(cluster.play, succeed, one["metadata"]["name"])
    events = await asyncio.wait_for(asyncio.gather(*tasks), 100)
    assert {event.payload["outcome"] for event in events} == {"Succeeded"}
    watched = [kind.plural for kind, *_ in opened]
    assert watched.count("sparkapplications") == 1


def test_passed_deadline_fires_at_once(application: dict[str, Any]) -> None:
    deadline = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    event = fire(build_trigger(application, deadline=deadline))
    assert event["kind"] == "timed-out"


def test_end_before_deadline_decides_the_result(cluster: Cluster) -> None:
    succeeded = cluster.create("pi")
    cluster.wait_for_state("ResourceReleased")
    event = fire(build_trigger(succeeded, deadline=datetime.now(UTC).isoformat()))
    assert (event["kind"], event["outcome"]) == ("ended", "Succeeded")


def test_missing_connection_becomes_an_event(application: dict[str, Any]) -> None:
    event = fire(build_trigger(application, kubernetes_conn_id="gone"))
    assert event["kind"] == "lost"
    assert "connection 'gone' is not defined" in event["sentence"]


def test_missing_default_connection_is_not_replaced_by_default_cluster(application: dict[str, Any]) -> None:
    event = fire(build_trigger(application, kubernetes_conn_id="kubernetes_default", connection_required=True))
    assert event["kind"] == "lost"
    assert "connection 'kubernetes_default' is no longer defined" in event["sentence"]


def test_missing_application_is_reported_as_deleted(cluster: Cluster, application: dict[str, Any]) -> None:
    cluster.delete("pi")
    assert fire(build_trigger(application))["kind"] == "deleted"


def test_new_application_of_the_same_name_is_another_application(cluster: Cluster, application: dict[str, Any]) -> None:
    cluster.delete("pi")
    cluster.script = succeed
    cluster.create("pi")
    assert fire(build_trigger(application))["kind"] == "deleted"


@pytest.mark.parametrize("expects", [["DriverReady"], ["Succeeded", "Failed"], ["ResourceReleased"]])
def test_earlier_state_in_the_history_counts(cluster: Cluster, expects: list[str]) -> None:
    cluster.create("pi")
    cluster.wait_for_state("ResourceReleased")
    event = fire(reload(SparkApplicationStateTrigger("pi", expects, kubernetes_conn_id="spark")))
    assert event["kind"] == "reached"
    assert event["state"] in expects


def test_trigger_waits_for_application_that_does_not_exist(cluster: Cluster) -> None:
    trigger = SparkApplicationStateTrigger("pi", ["Succeeded"], kubernetes_conn_id="spark", poke_interval=0.01)
    with call_when_logged("does not exist yet", lambda: cluster.create("pi")):
        assert fire(trigger)["state"] == "Succeeded"


def test_api_errors_are_tolerated_while_application_does_not_exist(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    get = KubeClient.get
    failed: list[bool] = []

    async def fail_at_first(*arguments: Any) -> Any:
        if not failed:
            failed.append(True)
            raise ServerError(503, "ServiceUnavailable", "starting")
        return await get(*arguments)

    monkeypatch.setattr(KubeClient, "get", fail_at_first)
    cluster.create("pi")
    assert fire(SparkApplicationStateTrigger("pi", ["Succeeded"], kubernetes_conn_id="spark"))["kind"] == "reached"


def test_state_trigger_can_be_stored_and_loaded() -> None:
    trigger = SparkApplicationStateTrigger("pi", {"Succeeded", "Failed"}, "jobs", "spark", poke_interval=5.0)
    assert reload(trigger).serialize() == trigger.serialize()


async def test_next_triggerer_continues_the_log(
    cluster: Cluster, application: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    def write_line(line: str) -> None:
        async def act(present: Application) -> None:
            present.log.write(line)

        cluster.play(act)

    async def end(present: Application) -> None:
        present.enter("Succeeded", driver=present.end_driver(0))
        present.enter("ResourceReleased")

    first = await start_trigger(build_trigger(application))
    logged = asyncio.Event()
    with call_when_logged("driver | before", logged.set):
        await asyncio.to_thread(write_line, "before")
        await asyncio.wait_for(logged.wait(), 60)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    await asyncio.to_thread(write_line, "between")
    caplog.clear()
    logged = asyncio.Event()
    with call_when_logged("driver | between", logged.set):
        second = asyncio.create_task(run_to_first_event(build_trigger(application)))
        await asyncio.wait_for(logged.wait(), 60)
    await asyncio.to_thread(cluster.play, end)
    assert (await second).payload["outcome"] == "Succeeded"
    assert "the driver's log, continued from" in caplog.text
    assert "driver | before" not in caplog.text


async def test_another_try_shows_the_whole_log(
    cluster: Cluster, application: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    await asyncio.to_thread(cluster.play, lambda present: read_logged(present, "before"))
    cluster.annotate("pi", log_position="id-0 some-pod 2126-01-01T00:00:00.000000000Z 1")
    logged = asyncio.Event()
    with call_when_logged("driver | before", logged.set):
        task = asyncio.create_task(run_to_first_event(build_trigger(application)))
        await asyncio.wait_for(logged.wait(), 60)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize(("streams", "logged"), [("0", "0 driver logs"), ("1", "driver | ")])
async def test_the_number_of_streams_is_configured(
    cluster: Cluster,
    application: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    streams: str,
    logged: str,
) -> None:
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__DRIVER_LOG_STREAMS", streams)
    await asyncio.to_thread(cluster.play, lambda present: read_logged(present, "line"))
    seen = asyncio.Event()
    with call_when_logged(logged, seen.set):
        task = asyncio.create_task(run_to_first_event(build_trigger(application)))
        await asyncio.wait_for(seen.wait(), 60)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def read_logged(application: Application, line: str) -> None:
    application.log.write(line)
