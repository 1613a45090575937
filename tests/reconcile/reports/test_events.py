import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.lifecycle.decisive_fields import is_shortened, shorten_resource
from airflow_provider_spark_operator.kube.errors import ServerError
from airflow_provider_spark_operator.kube.resources import EVENTS
from airflow_provider_spark_operator.reconcile.reports import events
from airflow_provider_spark_operator.reconcile.reports.event_filter import EventSettings
from airflow_provider_spark_operator.reconcile.reports.events import (
    NORMAL,
    EventRecorder,
    ResourceEvent,
    find_ignored_edit,
)
from tests.reconcile.harness import Api

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class SlowApi:
    """An API whose requests wait until `is_open` is set.

    Attributes:
        in_progress: The events of the waiting requests.
        written: The events of the completed requests.
        errors: The errors of the next requests.
    """

    def __init__(self) -> None:
        self.in_progress: list[str] = []
        self.written: list[str] = []
        self.is_open = asyncio.Event()
        self.is_open.set()
        self.errors: list[Exception] = []

    async def create(self, _: object, document: dict[str, Any], namespace: str) -> None:
        event = f"{namespace}/{document['involvedObject']['name']} {document['reason']}"
        self.in_progress.append(event)
        await self.is_open.wait()
        self.in_progress.remove(event)
        if self.errors:
            raise self.errors.pop()
        self.written.append(event)


def build_event(
    name: str, reason: str, kind: str = "SparkApplication", *, message: str = "A message.", time: datetime = NOW
) -> ResourceEvent:
    metadata = {"name": name, "namespace": "jobs", "uid": name, "resourceVersion": "1"}
    return ResourceEvent({"kind": kind, "metadata": metadata}, NORMAL, reason, message, time)


@asynccontextmanager
async def run(recorder: EventRecorder) -> AsyncIterator[None]:
    task = asyncio.create_task(recorder.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_events_of_one_resource_are_written_in_order_and_other_events_concurrently() -> None:
    api = SlowApi()
    recorder = EventRecorder(api, "operator")  # type: ignore[arg-type]
    api.is_open.clear()
    names = [f"app-{number}" for number in range(100)]
    async with run(recorder):
        for name in names:
            for reason in ("First", "Second", "Third"):
                recorder.record(build_event(name, reason))
        async with asyncio.timeout(30):
            while len(api.in_progress) < events.WRITERS:  # noqa: ASYNC110 - a list is not an Event
                await asyncio.sleep(0)
            assert all(event.endswith("First") for event in api.in_progress)
            api.is_open.set()
            await recorder.drain()
    for name in names:
        reasons = [event.split()[1] for event in api.written if event.startswith(f"jobs/{name} ")]
        assert reasons == ["First", "Second", "Third"]


async def test_waiting_events_are_written_at_the_shutdown() -> None:
    api = SlowApi()
    recorder = EventRecorder(api, "operator")  # type: ignore[arg-type]
    reasons = [f"Reason{number}" for number in range(10)]
    async with asyncio.timeout(30), run(recorder):
        await asyncio.sleep(0)
        for reason in reasons:
            recorder.record(build_event("app", reason))
    assert api.written == [f"jobs/app {reason}" for reason in reasons]


async def test_shutdown_does_not_wait_for_an_api_without_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(events, "_DRAIN_SECONDS", 0.05)
    api = SlowApi()
    api.is_open.clear()
    recorder = EventRecorder(api, "operator")  # type: ignore[arg-type]
    async with asyncio.timeout(30), run(recorder):
        recorder.record(build_event("app", "First"))
        await asyncio.sleep(0)
    assert api.written == []
    assert [record.getMessage() for record in caplog.records] == [
        "could not send the last Events to the API within 0.05 s after the shutdown began"
    ]


@pytest.mark.parametrize(
    "error", [ServerError(500, "InternalError", "", "create", "events", "jobs", "x"), RuntimeError("unexpected")]
)
async def test_later_events_are_written_after_an_error(error: Exception) -> None:
    api = SlowApi()
    recorder = EventRecorder(api, "operator")  # type: ignore[arg-type]
    api.errors.append(error)
    async with run(recorder), asyncio.timeout(30):
        recorder.record(build_event("app", "First"))
        recorder.record(build_event("app", "Second"))
        await recorder.drain()
    assert api.written == ["jobs/app Second"]


async def test_excess_events_are_dropped_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(events, "_MAX_WAITING", 1)
    recorder = EventRecorder(SlowApi(), "operator")  # type: ignore[arg-type]
    recorder.record(build_event("app", "First"))
    recorder.record(build_event("app", "Second"))
    assert [record.getMessage() for record in caplog.records] == [
        "dropped event Second: too many events are waiting to be written"
    ]
    assert caplog.records[0].application == "jobs/app"  # type: ignore[attr-defined]


@pytest.mark.parametrize(("kind", "noun"), [("SparkApplication", "application"), ("SparkCluster", "cluster")])
async def test_write_error_is_logged_with_the_key_of_the_resource(
    caplog: pytest.LogCaptureFixture, kind: str, noun: str
) -> None:
    api = SlowApi()
    api.errors = [ServerError(500, "InternalError", "no storage")]
    recorder = EventRecorder(api, "operator")  # type: ignore[arg-type]
    async with run(recorder):
        recorder.record(build_event("pi", "First", kind))
        await recorder.drain()
    (warning,) = caplog.records
    assert getattr(warning, noun) == "jobs/pi"


async def record(api: Api, *recorded: ResourceEvent, settings: EventSettings | None = None) -> None:
    """Record events as a controller that is started for them."""
    recorder = EventRecorder(api.client, "operator", settings)
    async with run(recorder), asyncio.timeout(30):
        for event in recorded:
            recorder.record(event)
        await recorder.drain()


async def list_events(api: Api) -> list[tuple[str, str, int, str]]:
    found = [(each["reason"], each["message"], each["count"], each["lastTimestamp"]) for each in await read(api)]
    return sorted(found)


async def read(api: Api) -> list[dict[str, Any]]:
    return await api.list_objects(EVENTS)


@pytest.mark.parametrize("restarts", [False, True], ids=["one controller", "after a restart"])
async def test_event_with_another_message_replaces_the_message_and_increases_the_count(
    api: Api, restarts: bool
) -> None:
    first = build_event("app", "Pending", message="Position 2.")
    second = build_event("app", "Pending", message="Position 1.", time=NOW + timedelta(seconds=1))
    if restarts:
        await record(api, first)
        await record(api, second)
    else:
        await record(api, first, second)
    assert await list_events(api) == [("Pending", "Position 1.", 2, "2026-01-01T00:00:01Z")]
    (event,) = await read(api)
    assert event["firstTimestamp"] == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize("restarts", [False, True], ids=["one controller", "after a restart"])
@pytest.mark.parametrize(
    ("seconds", "limit", "count"),
    [(299, 300, 1), (300, 300, 2), (0, 0, 2), (-1, 300, 2)],
    ids=["within the interval", "after the interval", "no limit", "clock set back"],
)
async def test_repeated_event_is_written_again_after_the_minimum_interval(
    api: Api, seconds: int, limit: int, count: int, restarts: bool
) -> None:
    settings = EventSettings(min_interval=timedelta(seconds=limit))
    first, second = build_event("app", "Held"), build_event("app", "Held", time=NOW + timedelta(seconds=seconds))
    if restarts:
        await record(api, first, settings=settings)
        await record(api, second, settings=settings)
    else:
        await record(api, first, second, settings=settings)
    assert [event[2] for event in await list_events(api)] == [count]


async def test_events_of_different_resources_and_reasons_are_separate(api: Api) -> None:
    await record(api, build_event("app", "Held"), build_event("app", "Failed"), build_event("other", "Held"))
    assert [event[2] for event in await list_events(api)] == [1, 1, 1]


async def test_excluded_reasons_are_not_written(api: Api) -> None:
    settings = EventSettings(excluded_reasons=("Kueue.*", "Driver"))
    reasons = ("KueueAdmitted", "Driver", "DriverReady", "NotKueue")
    await record(api, *(build_event("app", reason) for reason in reasons), settings=settings)
    assert [event[0] for event in await list_events(api)] == ["DriverReady", "NotKueue"]


async def test_disabled_events_are_not_written(api: Api) -> None:
    await record(api, build_event("app", "Failed"), settings=EventSettings(is_enabled=False))
    assert await list_events(api) == []


async def test_changed_settings_apply_to_later_events(api: Api) -> None:
    recorder = EventRecorder(api.client, "operator", EventSettings(is_enabled=False))
    async with run(recorder), asyncio.timeout(30):
        recorder.record(build_event("app", "First"))
        recorder.settings = EventSettings()
        recorder.record(build_event("app", "Second"))
        await recorder.drain()
    assert [event[0] for event in await list_events(api)] == ["Second"]


async def test_long_messages_are_cut_after_1024_characters(api: Api) -> None:
    await record(api, build_event("app", "Failed", message="x" * 2000))
    assert [len(event[1]) for event in await list_events(api)] == [1024]


@pytest.mark.parametrize(
    ("edit", "state", "fields"),
    [
        pytest.param(
            {"sparkConf": {"a": "1"}, "jars": "b.jar"}, "RunningHealthy", "spec.jars, spec.sparkConf", id="two"
        ),
        pytest.param({"jars": None, "suspend": True}, "DriverRequested", "spec.jars", id="one takes effect"),
        pytest.param({"suspend": True, "applicationTolerations": {}}, "DriverReady", None, id="all take effect"),
        pytest.param({"jars": "b.jar"}, "Submitted", None, id="no driver yet"),
        pytest.param({"jars": "b.jar"}, "ResourceReleased", None, id="no driver any more"),
        pytest.param({}, "RunningHealthy", None, id="no edit"),
    ],
)
def test_edit_of_a_running_application_names_the_fields_without_effect(
    edit: dict[str, Any], state: str, fields: str | None
) -> None:
    spec = {"jars": "a.jar", "sparkConf": {}}
    before = {"metadata": {"name": "pi"}, "spec": spec}
    after = {**before, "spec": {**spec, **edit}, "status": {"currentState": {"currentStateSummary": state}}}
    event = find_ignored_edit(before, after, NOW)
    assert (event.message.partition(" of the application")[0] if event else None) == fields


def test_edit_that_makes_an_application_large_names_only_the_edited_field() -> None:
    spec = {"jars": "a.jar", "sparkConf": {"a": "x" * 2_000}}
    status = {"currentState": {"currentStateSummary": "RunningHealthy"}}
    before: dict[str, Any] = {"metadata": {"name": "pi"}, "spec": spec, "status": status}
    grown = {**before, "status": {**status, "message": "x" * 40_000}}
    edited = {**before, "spec": {**spec, "driverArgs": ["x" * 40_000]}}
    for each in (grown, edited):
        shorten_resource(each)
        assert is_shortened(each)
    assert find_ignored_edit(before, grown, NOW) is None
    event = find_ignored_edit(grown, edited, NOW)
    assert event is not None
    assert event.message.startswith("spec.driverArgs of the application")
