"""The `cleanup` of triggers, which replaces `on_kill` before Airflow 3.3."""

import asyncio
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_spark_operator.follow.submission.stamp import TaskStamp
from airflow_provider_spark_operator.triggers import kill, lifecycle
from airflow_provider_spark_operator.triggers.spark_application import (
    SparkApplicationStateTrigger,
    SparkApplicationTrigger,
)
from airflow_provider_spark_operator.triggers.spark_cluster import SparkClusterTrigger
from airflow_provider_spark_operator.triggers.task_instance import Fate
from tests.cluster import NAMESPACE, Cluster, run_on
from tests.task import run_to_first_event, start_trigger
from tests.triggers.triggerer import TriggerRunner

STAMP = TaskStamp("dag", "task", "run", -1, 1, "id-1")
NOW = datetime.now(UTC)


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow reports that a user has stopped the task."""
    monkeypatch.setattr(kill, "read_fate_of_deferred", lambda stamp: Fate.KILLED)


@pytest.fixture
def without_on_kill(monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow does not call `on_kill`."""
    monkeypatch.setattr(lifecycle, "HAS_ON_KILL", False)


@pytest.fixture
def trigger(cluster: Cluster) -> SparkApplicationTrigger:
    """The trigger of a running application."""
    cluster.script = run_on
    metadata = cluster.create("pi", labels=STAMP.build_labels(), annotations=STAMP.build_annotations())["metadata"]
    return SparkApplicationTrigger(
        NAMESPACE, metadata["name"], metadata["uid"], kubernetes_conn_id="spark", stamp=asdict(STAMP)
    )


async def cancel(trigger: BaseTrigger, task: asyncio.Task[TriggerEvent]) -> None:
    """Cancel the trigger and clean up, as each triggerer does."""
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await trigger.cleanup()


@pytest.mark.usefixtures("killed", "without_on_kill")
async def test_cleanup_deletes_application_of_stopped_task(cluster: Cluster, trigger: SparkApplicationTrigger) -> None:
    await cancel(trigger, await start_trigger(trigger))
    assert cluster.applications() == []


@pytest.mark.usefixtures("killed")
async def test_cleanup_deletes_nothing_if_airflow_calls_on_kill(
    cluster: Cluster, trigger: SparkApplicationTrigger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "HAS_ON_KILL", True)
    await cancel(trigger, await start_trigger(trigger))
    assert len(cluster.applications()) == 1


@pytest.mark.usefixtures("without_on_kill")
async def test_cleanup_keeps_application_of_moved_trigger(
    cluster: Cluster, trigger: SparkApplicationTrigger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kill, "read_fate_of_deferred", lambda stamp: Fate.MOVED)
    await cancel(trigger, await start_trigger(trigger))
    assert len(cluster.applications()) == 1


@pytest.mark.usefixtures("killed", "without_on_kill")
async def test_cleanup_of_fired_trigger_deletes_nothing(cluster: Cluster, trigger: SparkApplicationTrigger) -> None:
    trigger.deadline = NOW.isoformat()
    assert (await run_to_first_event(trigger)).payload["kind"] == "timed-out"
    await trigger.cleanup()
    assert len(cluster.applications()) == 1


@pytest.mark.usefixtures("killed", "without_on_kill")
@pytest.mark.parametrize(
    ("timeout_after", "remaining"),
    [
        (NOW - timedelta(hours=1), 1),
        ((NOW - timedelta(hours=1)).replace(tzinfo=None), 1),
        (NOW + timedelta(hours=1), 0),
        (None, 0),
    ],
    ids=["past", "past without time zone", "future", "none"],
)
async def test_cleanup_after_deferral_timeout_deletes_nothing(
    cluster: Cluster, trigger: SparkApplicationTrigger, timeout_after: datetime | None, remaining: int
) -> None:
    vars(trigger)["timeout_after"] = timeout_after
    await cancel(trigger, await start_trigger(trigger))
    assert len(cluster.applications()) == remaining


@pytest.mark.usefixtures("killed", "without_on_kill")
@pytest.mark.parametrize(("is_stopped", "remaining"), [(True, 1), (False, 0)])
async def test_cleanup_of_triggerer_that_shuts_down_deletes_nothing(
    cluster: Cluster, trigger: SparkApplicationTrigger, is_stopped: bool, remaining: int
) -> None:
    runner = TriggerRunner()
    running = asyncio.create_task(runner.arun())
    await asyncio.sleep(0)
    task = await start_trigger(trigger)
    if is_stopped:
        runner.stop()
        await running
    await cancel(trigger, task)
    assert len(cluster.applications()) == remaining
    runner.stop()
    await running


@pytest.mark.usefixtures("without_on_kill")
async def test_deletion_continues_if_airflow_cancels_cleanup(
    cluster: Cluster, trigger: SparkApplicationTrigger, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answer = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def read_slowly(stamp: TaskStamp) -> Fate:
        loop.call_soon_threadsafe(asked.set)
        asyncio.run_coroutine_threadsafe(answer.wait(), loop).result(60)
        return Fate.KILLED

    monkeypatch.setattr(kill, "read_fate_of_deferred", read_slowly)
    monkeypatch.setattr(lifecycle.Lifecycle, "_is_shutting_down", lambda _: asked.is_set())
    cleaning = asyncio.create_task(cancel(trigger, await start_trigger(trigger)))
    await asyncio.wait_for(asked.wait(), 60)
    cleaning.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cleaning
    (deletion,) = lifecycle._tasks
    answer.set()
    await asyncio.wait_for(deletion, 60)
    assert cluster.applications() == []


@pytest.mark.usefixtures("without_on_kill")
@pytest.mark.parametrize(
    "build",
    [
        lambda: SparkApplicationTrigger(NAMESPACE, "pi", "u-1"),
        lambda: SparkApplicationStateTrigger("pi", ["Succeeded"]),
        lambda: SparkClusterTrigger("cluster"),
    ],
    ids=["application", "state", "cluster"],
)
async def test_cleanup_of_each_cancelled_trigger_calls_on_kill(
    build: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    trigger, calls = build(), list[BaseTrigger]()

    async def wait() -> None:
        await asyncio.Event().wait()

    async def on_kill(self: BaseTrigger) -> None:
        calls.append(self)

    monkeypatch.setattr(type(trigger), "on_kill", on_kill)
    monkeypatch.setattr(
        type(trigger), "_watch", type("Watch", (), {"run": staticmethod(wait), "delete": staticmethod(wait)})
    )
    task = asyncio.create_task(run_to_first_event(trigger))
    await asyncio.sleep(0)
    await cancel(trigger, task)
    assert calls == [trigger]
