import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import pytest

from airflow_provider_spark_operator.kube.errors import AlreadyExists, ServerError
from airflow_provider_spark_operator.reconcile import events
from airflow_provider_spark_operator.reconcile.events import NORMAL, EventRecorder, ResourceEvent

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class SlowApi:
    """Takes events in the end; while `held`, they are under way."""

    def __init__(self) -> None:
        self.under_way: list[str] = []
        self.written: list[str] = []
        self.free = asyncio.Event()
        self.free.set()
        self.errors: list[Exception] = []

    async def create(self, _: object, document: dict[str, Any], namespace: str) -> None:
        told = f"{namespace}/{document['involvedObject']['name']} {document['reason']}"
        self.under_way.append(told)
        await self.free.wait()
        self.under_way.remove(told)
        if self.errors:
            raise self.errors.pop()
        self.written.append(told)


def happening(name: str, reason: str, kind: str = "SparkApplication") -> ResourceEvent:
    metadata = {"name": name, "namespace": "jobs", "uid": name, "resourceVersion": "1"}
    return ResourceEvent({"kind": kind, "metadata": metadata}, NORMAL, reason, "It is so.", reason, NOW)


@asynccontextmanager
async def running(recorder: EventRecorder) -> AsyncIterator[None]:
    writing = asyncio.create_task(recorder.run())
    try:
        yield
    finally:
        writing.cancel()
        with suppress(asyncio.CancelledError):
            await writing


async def test_events_of_one_resource_are_written_in_order_and_those_of_others_beside_them() -> None:
    api = SlowApi()
    recorder = EventRecorder(api, "operator")  # type: ignore[arg-type]
    api.free.clear()
    names = [f"app-{number}" for number in range(100)]
    async with running(recorder):
        for name in names:
            for reason in ("First", "Second", "Third"):
                recorder.record(happening(name, reason))
        async with asyncio.timeout(30):
            while len(api.under_way) < events.WRITERS:  # noqa: ASYNC110 - a list is no Event
                await asyncio.sleep(0)
            assert all(told.endswith("First") for told in api.under_way)
            api.free.set()
            await recorder.drain()
    for name in names:
        told = [entry.split()[1] for entry in api.written if entry.startswith(f"jobs/{name} ")]
        assert told == ["First", "Second", "Third"]


@pytest.mark.parametrize(
    "error",
    [
        AlreadyExists(409, "AlreadyExists", "", "create", "events", "jobs", "x"),
        ServerError(500, "InternalError", "", "create", "events", "jobs", "x"),
        RuntimeError("a defect"),
    ],
)
async def test_an_event_that_cannot_be_written_holds_up_no_other(error: Exception) -> None:
    api = SlowApi()
    recorder = EventRecorder(api, "operator")  # type: ignore[arg-type]
    api.errors.append(error)
    async with running(recorder), asyncio.timeout(30):
        recorder.record(happening("app", "First"))
        recorder.record(happening("app", "Second"))
        await recorder.drain()
    assert api.written == ["jobs/app Second"]


async def test_more_than_can_wait_are_dropped_with_a_word(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(events, "_MOST_WAITING", 1)
    recorder = EventRecorder(SlowApi(), "operator")  # type: ignore[arg-type]
    recorder.record(happening("app", "First"))
    recorder.record(happening("app", "Second"))
    assert [record.getMessage() for record in caplog.records] == ["event dropped, too many wait: Second"]
    assert caplog.records[0].application == "jobs/app"  # type: ignore[attr-defined]


@pytest.mark.parametrize(("kind", "noun"), [("SparkApplication", "application"), ("SparkCluster", "cluster")])
async def test_what_cannot_be_written_is_logged_with_the_key_of_its_resource(
    caplog: pytest.LogCaptureFixture, kind: str, noun: str
) -> None:
    api = SlowApi()
    api.errors = [ServerError(500, "InternalError", "out of order")]
    recorder = EventRecorder(api, "operator")  # type: ignore[arg-type]
    async with running(recorder):
        recorder.record(happening("pi", "First", kind))
        await recorder.drain()
    (warning,) = caplog.records
    assert getattr(warning, noun) == "jobs/pi"
