"""How often the records of runs are stored, and how often pods are read for them, on a virtual clock."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.verdict.holds import Hold
from airflow_provider_spark_operator.core.verdict.verdict import judge_progress
from airflow_provider_spark_operator.follow.access.reference import ApplicationReference
from airflow_provider_spark_operator.follow.ending.evidence import Evidence
from airflow_provider_spark_operator.follow.recording import recorder as recorder_module
from airflow_provider_spark_operator.follow.recording.recorder import Build, RunRecorder
from airflow_provider_spark_operator.follow.recording.write_queue import WriteQueue
from airflow_provider_spark_operator.kube.errors import Forbidden
from tests.core.report.record_schema import VALIDATOR
from tests.follow.applications import RUNNING, SUCCEEDED, build_driver, build_stored

if TYPE_CHECKING:
    from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
    from airflow_provider_spark_operator.kube.client import KubeClient

REFERENCE = ApplicationReference("jobs", "pi", "u1")


class Client:
    """The part of a client that a recorder uses. Its pods and its permission can be changed."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self.pods: list[JsonObject] = [build_driver()]
        self.refusal: Exception | None = None
        self.pause = 0.0
        self.read_at: list[float] = []

    def get_time(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self._loop.time() - self._began)

    async def list(self, *arguments: Any, **options: Any) -> Any:
        self.read_at.append(asyncio.get_running_loop().time())
        await asyncio.sleep(self.pause)
        if self.refusal is not None:
            raise self.refusal
        return SimpleNamespace(items=self.pods)


class Store:
    """Keeps the records with their times."""

    def __init__(self, problem: Exception | None = None) -> None:
        self.records: list[tuple[float, JsonObject]] = []
        self.calls = 0
        self.problem = problem

    async def save(self, build: Build) -> None:
        self.calls += 1
        if self.problem is not None:
            raise self.problem
        record = build()
        VALIDATOR.validate(record)
        self.records.append((asyncio.get_running_loop().time(), record))


def build_executor() -> "JsonObject":
    executor = build_driver(owner="p1", status={"phase": "Running"})
    executor["metadata"] |= {"name": "pi-exec-1", "uid": "e1"}
    executor["metadata"]["labels"] = executor["metadata"]["labels"] | {"spark-role": "executor"}
    return executor


@asynccontextmanager
async def record(client: Client, store: Store, **options: Any) -> AsyncIterator[RunRecorder]:
    recorder = RunRecorder(REFERENCE, store.save, **options)
    recorder.begin(cast("KubeClient", client))
    try:
        yield recorder
    finally:
        await recorder.stop()


def update(recorder: RunRecorder, *states: str) -> None:
    resource = build_stored("pi", "u1", "5", *states)
    recorder.update(read_progress(resource), resource)


async def test_task_that_changes_each_second_is_stored_every_ten_seconds() -> None:
    client, store = Client(), Store()
    async with record(client, store) as recorder:
        for _ in range(99):
            update(recorder, *RUNNING)
            await asyncio.sleep(1)
    times = [time for time, _ in store.records]
    assert len(times) == 10
    assert all(later - earlier >= 10 for earlier, later in pairwise(times))


async def test_unchanged_application_is_stored_once_and_its_pods_are_read_once_a_minute() -> None:
    client, store = Client(), Store()
    async with record(client, store) as recorder:
        update(recorder, *RUNNING)
        await asyncio.sleep(3600 - 1)
    assert len(client.read_at) == 60
    assert len(store.records) == 2, "the state, and then the pods of the first read"
    assert store.records[-1][1]["attempts"][0]["driver"]["name"] == "pi-0-driver"


async def test_application_that_waits_is_not_read() -> None:
    client, store, waits = Client(), Store(), [None, "queue team-a is full", "queue team-a is full"]
    async with record(client, store, describe_wait=lambda: waits[min(len(store.records), 2)]) as recorder:
        update(recorder, "Submitted")
        await asyncio.sleep(600)
    assert client.read_at == []
    assert [each.get("waiting") for _, each in store.records] == [None, "queue team-a is full"]


async def test_record_names_what_the_queue_lacked_after_the_application_was_admitted() -> None:
    async with record(Client(), Store(), hide=lambda text: text.replace("hunter2", "***")) as recorder:
        resource = build_stored("pi", "u1", "5", "Submitted", "DriverRequested")
        resource["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team-a"}
        resource["status"]["stateTransitionHistory"]["1"]["lastTransitionTime"] = "2026-01-01T00:01:00Z"
        await asyncio.sleep(10)
        recorder.note_hold("no quota in hunter2")
        await asyncio.sleep(60)
        recorder.update(read_progress(resource), resource)
        found = recorder.build()
    assert found is not None
    assert [(one["kind"], one["text"]) for one in found["waits"]] == [("queue", "queue team-a: no quota in ***")]


async def test_time_that_passes_is_no_change_of_what_the_application_waits_for() -> None:
    client, store = Client(), Store()
    began = client.get_time()

    def describe() -> str:
        return Hold("it waits for Kueue admission", began, "no quota", "").describe(client.get_time())

    async with record(client, store, describe_wait=describe) as recorder:
        update(recorder, "Submitted")
        await asyncio.sleep(3600)
    assert [each["waiting"] for _, each in store.records] == ["it waits for Kueue admission: no quota"]


async def test_list_of_pods_that_began_before_a_later_one_is_ignored() -> None:
    client, store = Client(), Store()
    client.pause = 20
    async with record(client, store) as recorder:
        update(recorder, *RUNNING)  # begins to list the pods
        await asyncio.sleep(10)
        await recorder.observe([*client.pods, build_executor()])
        await asyncio.sleep(30)
        final = await recorder.close()
    assert final is not None
    assert [each["state"] for each in final["executors"]] == ["Pending"], "the older list would show its deletion"


async def test_last_list_of_pods_is_never_ignored() -> None:
    client, store = Client(), Store()
    client.pause = 0.5
    async with record(client, store) as recorder:
        update(recorder, *RUNNING)
        last = asyncio.create_task(recorder.read_last_pods())
        await asyncio.sleep(0.1)
        await recorder.observe([*client.pods, build_executor()])  # the answer to a request from before the end
        await last
        final = await recorder.close()
    assert final is not None
    assert [each["state"] for each in final["executors"]] == ["Unknown"], "the pod was deleted"


async def test_pods_that_another_part_has_read_are_not_read_again() -> None:
    client, store = Client(), Store()
    async with record(client, store) as recorder:
        for _ in range(30):
            await recorder.observe(client.pods)
            update(recorder, *RUNNING)
            await asyncio.sleep(10)
    assert client.read_at == []


async def test_new_and_deleted_executors_appear_in_the_record() -> None:
    client, store = Client(), Store()
    client.pods.append(build_executor())
    async with record(client, store) as recorder:
        update(recorder, *RUNNING)
        await asyncio.sleep(90)
        client.pods.pop()
        await asyncio.sleep(90)
    assert [each["executors"][0]["state"] for _, each in store.records[1:]] == ["Pending", "Unknown"]


@pytest.mark.parametrize(("minutes", "has_gap"), [(0.5, False), (10, True)])
async def test_executors_before_a_late_begin_are_named_as_a_gap(minutes: float, has_gap: bool) -> None:
    client = Client()
    await asyncio.sleep(minutes * 60)
    async with record(client, Store()) as recorder:
        update(recorder, *RUNNING)
        await recorder.read_pods()
        built = recorder.build() or {}
    gaps = [gap["why"] for gap in built["missing"] if gap["what"] == "executors"]
    why = "they were not followed before 2026-01-01T00:10:00Z, so those deleted until then are unknown"
    assert gaps == ([why] if has_gap else [])


async def test_missing_permission_is_part_of_the_record() -> None:
    client, store = Client(), Store()
    client.refusal = Forbidden(403, "Forbidden", "no", "list", "pods", "jobs", "")
    async with record(client, store) as recorder:
        update(recorder, *RUNNING)
        await asyncio.sleep(30)
        final = await recorder.close()
    assert final is not None
    assert {each["what"] for each in final["missing"]} == {"pods", "events"}


async def test_last_list_of_pods_does_not_wait_for_those_of_running_tasks() -> None:
    async with record(client := Client(), Store()) as running, record(client, Store()) as ended:
        client.pause = 60
        reads = asyncio.gather(*(running.read_pods() for _ in range(20)))
        await asyncio.sleep(1)
        client.pause = 0.5
        update(ended, *RUNNING)
        await ended.read_last_pods()
        assert [each["what"] for each in (ended.build() or {})["missing"]] == ["events"]
        assert not reads.done()


async def test_end_waits_a_second_for_the_last_pods() -> None:
    client = Client()
    client.pause = 3600
    async with record(client, Store()) as recorder:
        update(recorder, *RUNNING)
        await recorder.read_last_pods()
        assert client.get_time() == datetime(2026, 1, 1, second=1, tzinfo=UTC)
        missing = (recorder.build() or {})["missing"]
    assert {"what": "pods", "why": "they were not listed within 1 s"} in missing


async def test_unexpected_answer_is_part_of_the_record() -> None:
    client = Client()
    client.refusal = ValueError("the answer is no list")
    async with record(client, Store()) as recorder:
        update(recorder, *RUNNING)
        await recorder.read_last_pods()
        missing = (recorder.build() or {})["missing"]
    assert {"what": "pods", "why": "the answer is no list"} in missing


async def test_stopped_recorder_does_not_store_a_record_that_was_not_built_in_time() -> None:
    client, built, begun = Client(), list["JsonObject"](), asyncio.Event()

    async def save(build: Build) -> None:
        begun.set()
        await asyncio.sleep(60)
        built.append(build())

    recorder = RunRecorder(REFERENCE, save)
    recorder.begin(cast("KubeClient", client))
    update(recorder, *RUNNING)
    await begun.wait()
    await recorder.stop()
    await asyncio.sleep(120)
    assert built == []


async def test_process_stores_twenty_records_per_second_and_the_newest_state_of_each() -> None:
    client, stores = Client(), [Store() for _ in range(200)]
    recorders = [RunRecorder(REFERENCE, store.save) for store in stores]
    for recorder in recorders:
        recorder.begin(cast("KubeClient", client))
        update(recorder, "Submitted")
    for recorder in recorders:
        update(recorder, *RUNNING)
    await asyncio.sleep(15)
    for recorder in recorders:
        await recorder.stop()
    seconds = Counter(int(time) for store in stores for time, _ in store.records[:1])
    assert sum(seconds.values()) == len(stores)
    assert max(seconds.values()) <= 21, "a second of the clock can begin between two writes"
    assert {store.records[0][1]["state"] for store in stores} == {RUNNING[-1]}


async def test_store_that_fails_is_reported_once_and_tried_again_after_growing_pauses(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client, store = Client(), Store(OSError("no route to the bucket"))
    with caplog.at_level(logging.INFO):
        async with record(client, store) as recorder:
            for _ in range(5):
                update(recorder, *RUNNING)
                await asyncio.sleep(10)
            final = await recorder.close()
    assert store.calls == 3, "after 0, 10 and 30 seconds"
    assert final is not None
    assert caplog.messages == [f"could not store the record of {REFERENCE} while it runs: no route to the bucket"]
    assert {each.levelno for each in caplog.records} == {logging.INFO}


async def test_stop_waits_for_the_store_in_progress_and_drops_a_later_one() -> None:
    client, begun, ended = Client(), asyncio.Event(), list[str]()

    async def save(build: Build) -> None:
        built = build()
        begun.set()
        await asyncio.sleep(2)
        ended.append(built["state"])

    recorder, other = (RunRecorder(REFERENCE, save) for _ in range(2))
    for each in (recorder, other):
        each.begin(cast("KubeClient", client))
        update(each, *RUNNING)
    await begun.wait()
    await other.stop()
    assert ended == []
    await recorder.stop()
    assert ended == [RUNNING[-1]]
    await asyncio.sleep(30)
    assert len(ended) == 1


async def test_store_that_does_not_answer_is_cancelled_at_the_end() -> None:
    cancelled = asyncio.Event()

    async def save(build: Build) -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    recorder = RunRecorder(REFERENCE, save)
    recorder.begin(cast("KubeClient", Client()))
    update(recorder, *RUNNING)
    await asyncio.sleep(1)
    async with asyncio.timeout(10):
        await recorder.stop()
        await cancelled.wait()
    assert recorder.build() is not None


async def test_final_record_has_the_judged_end_and_no_secret() -> None:
    client, store = Client(), Store()
    resource = build_stored("pi", "u1", "9", *SUCCEEDED)
    resource["status"]["stateTransitionHistory"]["0"]["message"] = "submitted with tops3cret"
    async with record(client, store, hide=lambda text: text.replace("tops3cret", "***")) as recorder:
        update(recorder, *RUNNING)
        verdict = judge_progress(read_progress(resource))
        await recorder.conclude(verdict, Evidence(REFERENCE), resource)
        final = await recorder.close()
    assert final is not None
    VALIDATOR.validate(final)
    assert (final["live"], final["verdict"]["outcome"]) == (False, "Succeeded")
    assert "tops3cret" not in str(final)
    assert "submitted with ***" in str(final)


async def test_nothing_is_known_before_the_first_content() -> None:
    async with record(Client(), Store()) as recorder:
        await recorder.observe([build_driver()])
        assert await recorder.close() is None
    assert await RunRecorder(REFERENCE, Store().save).close() is None


async def test_malformed_application_yields_no_record_and_no_error(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any, **options: Any) -> Any:
        raise LookupError("an unexpected document")

    monkeypatch.setattr(recorder_module, "build_timeline", fail)
    async with record(Client(), Store()) as recorder:
        update(recorder, *RUNNING)
        assert await recorder.close() is None
    assert "could not build the record of SparkApplication jobs/pi: an unexpected document" in caplog.text


async def test_queue_continues_after_a_call_was_cancelled() -> None:
    queue, calls = WriteQueue(), list[str]()

    async def hang() -> bool:
        await asyncio.sleep(3600)
        return True

    async def write() -> bool:
        calls.append("write")
        return True

    queue.add(hang)
    queue.add(write)
    await asyncio.sleep(0.1)
    await queue.remove(hang, 5)
    await asyncio.sleep(60)
    assert calls == ["write"]


async def test_queue_calls_a_function_that_waits_once() -> None:
    queue, calls = WriteQueue(), list[str]()

    async def write() -> bool:
        calls.append("write")
        return True

    for _ in range(5):
        queue.add(write)
    await asyncio.sleep(1)
    assert calls == ["write"]
