"""The event of a trigger: when it may fire, and how Airflow logs and stores it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from airflow.triggers.base import DiscrimatedTriggerEvent, TriggerEvent
from pydantic import TypeAdapter
from structlog.processors import JSONRenderer

from airflow_provider_spark_operator.triggers import lifecycle
from airflow_provider_spark_operator.triggers.event import ApplicationEvent, EventKind
from airflow_provider_spark_operator.triggers.lifecycle import Lifecycle
from airflow_provider_spark_operator.triggers.spark_application import SparkApplicationTrigger
from tests.triggers.triggerer import TriggerRunner

EVENT = ApplicationEvent(kind=EventKind.ENDED, namespace="jobs", name="pi", uid="u-1")


@contextlib.asynccontextmanager
async def run_triggerer() -> AsyncIterator[None]:
    runner = TriggerRunner()
    running = asyncio.create_task(runner.arun())
    await asyncio.sleep(0)
    yield
    runner.stop()
    await running


async def wait() -> ApplicationEvent:
    return EVENT


async def fire(*, follows_worker: bool) -> asyncio.Task[TriggerEvent]:
    """Return the task that fires, after it had many chances to end."""
    trigger = SparkApplicationTrigger("jobs", "pi", "u-1")
    task = asyncio.create_task(Lifecycle(trigger, {}).fire(wait(), follows_worker=follows_worker))
    for _ in range(20):
        await asyncio.sleep(0)
    return task


async def test_trigger_holds_event_until_scheduler_knows_that_worker_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "SHORTEST_DEFERRAL_SECONDS", 3600.0)
    async with run_triggerer():
        task = await fire(follows_worker=True)
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_held_event_is_fired_after_shortest_deferral() -> None:
    async with run_triggerer():
        event = await asyncio.wait_for(await fire(follows_worker=True), 60)
    assert event.payload == EVENT.to_payload()


async def test_trigger_without_worker_fires_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "SHORTEST_DEFERRAL_SECONDS", 3600.0)
    async with run_triggerer():
        event = await asyncio.wait_for(await fire(follows_worker=False), 60)
    assert event.payload == EVENT.to_payload()


async def test_trigger_outside_of_triggerer_fires_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "SHORTEST_DEFERRAL_SECONDS", 3600.0)
    event = await asyncio.wait_for(await fire(follows_worker=True), 60)
    assert event.payload == EVENT.to_payload()


async def test_event_has_a_short_text_in_the_log_and_its_payload_for_the_task() -> None:
    event = await asyncio.wait_for(await fire(follows_worker=True), 60)
    text = "SparkApplication jobs/pi ended"
    # Airflow's triggerers log the event as a field, which the JSON renderer writes, and send it as this type.
    assert f'"result": "{text}"' in JSONRenderer()(None, "info", {"event": "Trigger fired event", "result": event})
    assert str(event) == text
    stored = TypeAdapter(DiscrimatedTriggerEvent)
    assert stored.validate_json(stored.dump_json(stored.validate_python(event))).payload == EVENT.to_payload()
