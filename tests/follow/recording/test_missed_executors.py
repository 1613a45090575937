"""Executors that no list of pods describes exactly: their Events are read at the end of the run."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.report.executor_log import ExecutorLog
from airflow_provider_spark_operator.core.verdict.verdict import judge_progress
from airflow_provider_spark_operator.follow.ending.evidence import Evidence
from airflow_provider_spark_operator.kube.errors import Forbidden
from airflow_provider_spark_operator.kube.resources import EVENTS
from tests.core.report.record_schema import VALIDATOR
from tests.follow.applications import RUNNING, SUCCEEDED, build_driver, build_stored
from tests.follow.recording.test_recorder import REFERENCE, Client, Store, build_executor, record, update

if TYPE_CHECKING:
    from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject


def build_events(*numbers: int) -> dict[str, "list[JsonObject]"]:
    """Return the Events of executors that began a second after the driver, and were stopped a second later."""
    events = {}
    for number in numbers:
        subject = {"kind": "Pod", "name": f"pi-exec-{number}", "uid": f"e{number}"}
        times = {"Scheduled": 3, "Started": 3, "Killing": 4}
        events[f"pi-exec-{number}"] = [
            {"involvedObject": subject, "reason": reason, "lastTimestamp": f"2026-01-01T00:00:{second:02}Z"}
            for reason, second in times.items()
        ]
    return events


class EventClient(Client):
    """A client whose Events can be changed."""

    def __init__(self, events: "dict[str, list[JsonObject]] | None" = None) -> None:
        super().__init__()
        self.events = events or {}
        self.asked: list[str] = []
        self.answers = asyncio.Event()
        self.answers.set()
        self.slow = ""

    async def list(self, kind: Any, *arguments: Any, **options: Any) -> Any:
        if kind is not EVENTS:
            return await super().list(kind, *arguments, **options)
        name = options["field_selector"].partition(",")[0].removeprefix("involvedObject.name=")
        self.asked.append(name)
        await (asyncio.Event() if name == self.slow else self.answers).wait()
        if self.refusal is not None:
            raise self.refusal
        return SimpleNamespace(items=self.events.get(name, []))


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the event loop waits for a thread, its virtual clock would pass all time limits."""

    async def call(function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)

    monkeypatch.setattr("asyncio.to_thread", call)


def build_numbered(number: int, application_id: str | None = "") -> "JsonObject":
    """Return an executor that has run since the driver."""
    executor = build_executor()
    executor["metadata"] |= {"name": f"pi-exec-{number}", "uid": f"e{number}"}
    executor["metadata"]["labels"] |= {"spark-app-selector": application_id}
    running = {"name": "e", "state": {"running": {"startedAt": "2026-01-01T00:00:02Z"}}}
    executor["status"] |= {"containerStatuses": [running]}
    return executor


async def finish(client: EventClient, *found: int, conf: Any = None, log: ExecutorLog | None = None) -> "JsonObject":
    """Return the final record of a run of which these executors were seen, and then deleted."""
    resource = build_stored("pi", "u1", "9", *SUCCEEDED)
    resource["spec"]["sparkConf"] |= conf or {}
    seen = read_progress(resource)
    executors = [build_numbered(number, seen.application_id) for number in found]
    async with record(client, Store()) as recorder:
        update(recorder, *RUNNING)
        await asyncio.sleep(2)
        await recorder.observe([build_driver(), *executors])
        await asyncio.sleep(2)
        await recorder.observe([build_driver()])
        if log is not None:
            recorder.note_executors(seen, log)
        await recorder.conclude(judge_progress(seen), Evidence(REFERENCE), resource)
        final = await recorder.close()
    assert final is not None
    VALIDATOR.validate(final)
    return final


def list_gaps(final: "JsonObject") -> list[str]:
    return [gap["what"] for gap in final.get("missing", ()) if "executor" in gap["what"]]


DYNAMIC = {"spark.dynamicAllocation.enabled": "true"}


@pytest.mark.usefixtures("no_threads")
async def test_events_are_read_for_executors_that_no_list_contained() -> None:
    client = EventClient(build_events(2))
    final = await finish(client, 3)
    assert client.asked == ["pi-exec-2", "pi-exec-1"]
    (second,) = (each for each in final["executors"] if each["name"] == "pi-exec-2")
    assert (second["start"], second["end"]) == ("2026-01-01T00:00:03Z", "2026-01-01T00:00:04Z")
    (gap,) = (gap for gap in final["missing"] if gap["what"] == "executors")
    assert gap["why"] == "no pod or Event shows 1 earlier executors, whose pods were deleted"


@pytest.mark.usefixtures("no_threads")
async def test_events_are_not_read_if_all_executors_are_known() -> None:
    client = EventClient()
    assert list_gaps(await finish(client, 1, 2)) == []
    assert client.asked == []


@pytest.mark.usefixtures("no_threads")
async def test_dynamic_allocation_reads_the_events_of_later_executors_until_one_has_none() -> None:
    client = EventClient(build_events(2, 3))
    final = await finish(client, 1, conf=DYNAMIC)
    assert client.asked == ["pi-exec-1", "pi-exec-2", "pi-exec-3", "pi-exec-4"]
    assert [each["name"] for each in final["executors"]] == ["pi-exec-1", "pi-exec-2", "pi-exec-3"]


@pytest.mark.usefixtures("no_threads")
async def test_log_shows_that_there_are_no_later_executors() -> None:
    client, log = EventClient(), ExecutorLog()
    log.add("Registered executor x with ID 1, ResourceProfileId 0", client.get_time() + timedelta(seconds=2))
    log.add("Going to request 1 executors from Kubernetes", client.get_time())
    log.is_whole = True
    await finish(client, 1, conf=DYNAMIC, log=log)
    assert client.asked == []


@pytest.mark.usefixtures("no_threads")
@pytest.mark.parametrize("number", [100, 999_999_999])
async def test_number_of_requests_for_events_is_limited(number: int) -> None:
    client = EventClient(build_events(*range(200)))
    final = await finish(client, number, conf=DYNAMIC)
    assert len(client.asked) == 20
    assert "executors" in list_gaps(final)


@pytest.mark.usefixtures("no_threads")
async def test_events_that_must_not_be_read_leave_a_gap() -> None:
    client = EventClient(build_events(1))
    client.refusal = Forbidden(403, "Forbidden", "no", "list", "events", "jobs", "")
    final = await finish(client, 2)
    first, second = (gap["why"] for gap in final["missing"] if gap["what"] == "executors")
    assert first == "could not list events in namespace jobs: no"
    assert second == "no pod or Event shows 1 earlier executors, whose pods were deleted"


@pytest.mark.usefixtures("no_threads")
async def test_events_of_exactly_as_many_executors_as_permitted_leave_no_gap() -> None:
    client = EventClient(build_events(*range(1, 21)))
    final = await finish(client, 21)
    assert len(client.asked) == 20
    assert list_gaps(final) == []


@pytest.mark.usefixtures("no_threads")
async def test_slow_answer_does_not_discard_the_others() -> None:
    client = EventClient(build_events(1, 2))
    client.slow = "pi-exec-1"
    final = await finish(client, 3)
    assert [each["name"] for each in final["executors"]] == ["pi-exec-3", "pi-exec-2"]
    assert {"what": "executors", "why": "their Events were not read within 1 s"} in final["missing"]


@pytest.mark.usefixtures("no_threads")
async def test_end_waits_a_second_for_the_events() -> None:
    client = EventClient(build_events(1))
    client.answers.clear()
    began = asyncio.get_running_loop().time()
    assert {"what": "executors", "why": "their Events were not read within 1 s"} in (await finish(client, 2))["missing"]
    assert asyncio.get_running_loop().time() - began == pytest.approx(5, abs=0.1), "four seconds are those of the run"


@pytest.mark.usefixtures("no_threads")
async def test_list_from_before_the_end_does_not_show_the_ends_of_executors() -> None:
    """The last list can fail. With dynamic allocation, its executors may have ended at any time since."""
    client, resource = EventClient(), build_stored("pi", "u1", "9", *SUCCEEDED)
    resource["spec"]["sparkConf"] |= DYNAMIC
    async with record(client, Store()) as recorder:
        await recorder.observe([build_numbered(1)])
        await asyncio.sleep(4)
        await recorder.conclude(judge_progress(read_progress(resource)), Evidence(REFERENCE), resource)
        final = await recorder.close()
    assert final is not None
    assert client.asked[0] == "pi-exec-1"
    assert final["executors"][0]["state"] == "Unknown"
