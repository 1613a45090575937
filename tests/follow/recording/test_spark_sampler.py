"""How often the Spark UI is read, and what its answers and refusals lead to, on a virtual clock."""

import asyncio
import json
import logging
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.spark_metrics import ui_answers
from airflow_provider_spark_operator.core.spark_metrics.metrics import Counts, SparkMetrics, Work
from airflow_provider_spark_operator.follow.access.reference import ApplicationReference
from airflow_provider_spark_operator.follow.recording.spark_sampler import SparkInterface, SparkSampler, UiProblem
from airflow_provider_spark_operator.kube.call import Call
from airflow_provider_spark_operator.kube.errors import Forbidden, KubeError
from airflow_provider_spark_operator.kube.resources import PODS
from tests.follow.applications import RUNNING, SUCCEEDED, build_driver, build_stored

if TYPE_CHECKING:
    from airflow_provider_spark_operator.kube.client import KubeClient

REFERENCE = ApplicationReference("jobs", "pi", "u1")
JOB = {"stageIds": [0], "numTasks": 4, "numCompletedTasks": 1}
STAGE = {
    "status": "COMPLETE",
    "numTasks": 2,
    "firstTaskLaunchedTime": "2026-11-27T16:03:00.000GMT",
    "completionTime": "2026-11-27T16:03:02.500GMT",
}

ACTIVE = {"status": "active", "details": "true", "taskStatus": "running"}


class Client:
    """A client whose driver serves the answers, by the last part of the path."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {
            "applications": [{"id": "spark-1"}],
            "jobs": [JOB],
            "allexecutors": [],
            "stages": [STAGE],
            "taskSummary": {"executorRunTime": [100, 900]},
        }
        self.active: Any = []
        self.refusal: Exception | None = None
        self.calls: list[tuple[float, Call]] = []
        self.listed = 0

    def get_time(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    async def list(self, *arguments: Any, **options: Any) -> Any:
        self.listed += 1
        return SimpleNamespace(items=[build_driver()])

    @asynccontextmanager
    async def stream(self, call: Call, seconds: float) -> AsyncIterator[Any]:
        self.calls.append((asyncio.get_running_loop().time(), call))
        if self.refusal is not None:
            raise self.refusal
        answer = self.active if call.parameters == ACTIVE else self.answers[call.path.rpartition("/")[2]]
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()

        async def read() -> AsyncIterator[bytes]:
            yield content

        yield SimpleNamespace(content=SimpleNamespace(iter_any=read))


class Task:
    """The task that runs a sampler. It keeps what it is told."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.noted: list[tuple[SparkMetrics | None, str]] = []
        self.lines: list[tuple[int, str]] = []
        self.sampler = SparkSampler(REFERENCE, lambda metrics, problem: self.noted.append((metrics, problem)))

    def update(self, states: tuple[str, ...], conf: Mapping[str, str] | None = None, **known: Any) -> None:
        document = build_stored("pi", "u1", "5", *states)
        document["spec"]["sparkConf"] |= conf or {}
        client, seen = cast("KubeClient", self.client), replace(read_progress(document), **known)
        self.sampler.update(client, seen, document, lambda *line: self.lines.append(line))


async def run(client: Client, seconds: float = 100.0, conf: Mapping[str, str] | None = None, **known: Any) -> Task:
    task = Task(client)
    task.update(RUNNING, conf, **known)
    await asyncio.sleep(seconds)
    return task


async def test_spilled_bytes_of_a_long_stage_are_read_again_when_tasks_end() -> None:
    client = Client()
    task = await run(client, 20.0)
    client.answers |= {
        "jobs": [JOB | {"numCompletedTasks": 2}],
        "stages": [STAGE | {"diskBytesSpilled": 77}],
    }
    await asyncio.sleep(30)
    metrics = task.noted[-1][0]
    assert metrics is not None
    assert metrics.spilled == 77


async def test_figures_are_read_every_30_seconds_and_stages_only_after_a_change() -> None:
    client = Client()
    task = await run(client)
    begin = client.calls[0][0]

    pages = Counter(call.path.rpartition("/")[2] for _, call in client.calls)
    assert {time - begin for time, _ in client.calls} == {0, 30, 60}
    assert pages == {"jobs": 3, "allexecutors": 3, "stages": 1, "taskSummary": 1}
    assert client.calls[-1][1].rbac_resource == "pods/proxy"
    metrics = task.noted[-1][0]
    assert metrics is not None
    assert (metrics.tasks, metrics.heaps) == (Counts(1, 4), {"driver": 1024, "executor": 1024})
    assert metrics.skew is not None
    assert metrics.skew.excess == 800
    await task.sampler.close()


@pytest.mark.parametrize(
    ("answer", "unknown"),
    [([{"tasks": {"1": {"launchTime": "2025-12-31T23:59:58.000GMT"}}}], 0), (b"x" * 5_000_000, 1)],
)
async def test_running_tasks_are_read_and_too_many_are_not(answer: object, unknown: int) -> None:
    client = Client()
    client.answers["allexecutors"] = [{"maxTasks": 1, "addTime": "2025-12-31T23:59:50.000GMT", "activeTasks": 1}]
    client.active = answer
    task = await run(client, 20)

    metrics = task.noted[-1][0]
    assert metrics is not None, task.noted
    times = {"running_millis": 2000 * (1 - unknown), "alive_millis": 10_000, "longest_millis": 10_000}
    assert metrics.work == Work(0, 10_000, unknown_tasks=unknown, **times)
    assert [call.parameters for _, call in client.calls if call.parameters] == [ACTIVE, {"quantiles": "0.5,1.0"}]
    await task.sampler.close()


async def test_progress_is_logged_when_it_changes_and_the_figures_at_the_end() -> None:
    client = Client()
    task = await run(client)
    client.answers["jobs"] = [JOB | {"numCompletedTasks": 4, "numCompletedStages": 1}]
    await asyncio.sleep(30)
    task.update(SUCCEEDED)

    subject = "SparkApplication jobs/pi"
    assert [line for _, line in task.lines[:2]] == [
        f"{subject}: stages 0/1, tasks 1/4",
        f"{subject}: stages 1/1, tasks 4/4",
    ]
    assert task.lines[2][1].startswith(f"{subject}: stages 1/1, tasks 4/4; shuffle: 0 B")
    number = len(client.calls)
    await asyncio.sleep(100)
    assert len(client.calls) == number


def _refuse(status: int, message: str) -> KubeError:
    call = Call("get", "GET", PODS, "jobs", "pi-driver:4040", "proxy/api/v1/applications")
    return call.build_error(status, {"message": message})


@pytest.mark.parametrize(
    ("refusal", "samples", "cause"),
    [
        (
            _refuse(403, 'pods "pi" is forbidden: User "a" cannot get resource "pods/proxy" in API group ""'),
            1,
            'grant the verb "get" on pods/proxy in namespace jobs',
        ),
        (
            _refuse(503, "error trying to reach service"),
            5,
            "port 4040 of pod pi-0-driver does not answer. Check spark.ui.enabled and spark.ui.port",
        ),
        *(
            (_refuse(status, "\x1b[31mno"), 5, f"pod pi-0-driver answers with status {status}. Check spark.ui.port and")
            for status in (302, 401, 403, 404, 502)
        ),
        (UiProblem("\x1b[31mhostile\x1b]0;title\x07"), 5, "could not read what Spark did: hostile"),
        (RuntimeError("bug\x1b[31m"), 1, "unexpected RuntimeError: bug"),
    ],
)
async def test_refusal_is_logged_once_and_ends_the_samples(refusal: Exception, samples: int, cause: str) -> None:
    client = Client()
    client.refusal = refusal
    task = await run(client, 300)

    assert len(client.calls) == samples
    [(level, line)] = task.lines
    assert level == logging.WARNING
    assert line.startswith("SparkApplication jobs/pi: could not read what Spark did: ")
    assert cause in line
    assert line.isprintable()
    assert [metrics for metrics, _ in task.noted] == [None] * samples


async def test_application_that_ends_after_a_failed_sample_has_the_cause() -> None:
    client = Client()
    client.refusal = _refuse(503, "error trying to reach service")
    task = await run(client, 20)
    task.update(SUCCEEDED)
    [(metrics, problem)] = task.noted
    assert metrics is None
    assert "does not answer" in problem


async def test_refused_credentials_are_renewed_by_reading_the_pod_again() -> None:
    client = Client()
    task = await run(client, 40)
    client.refusal = _refuse(401, "Unauthorized")
    await asyncio.sleep(30)
    read = client.listed
    client.refusal = None
    await asyncio.sleep(30)
    assert client.listed == read + 1
    assert task.noted[-1][1] == ""
    await task.sampler.close()


async def test_long_answers_are_read_outside_of_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    client, threads = Client(), list[threading.Thread]()
    client.answers |= {"jobs": [JOB] * 501, "allexecutors": [{}] * 501, "stages": [STAGE] * 501}

    def note(read: Callable[..., Any], *arguments: Any) -> Any:
        threads.append(threading.current_thread())
        return read(*arguments)

    for name in ("read_jobs", "read_executors", "read_stages"):
        monkeypatch.setattr(ui_answers, name, partial(note, getattr(ui_answers, name)))
    interface = SparkInterface(cast("KubeClient", client), REFERENCE, "spark-1", build_stored("pi", "u1", "5"))
    metrics = await interface.read(None)

    assert metrics.tasks == Counts(501, 4 * 501)
    assert len(threads) == 3
    assert threading.current_thread() not in threads


async def test_disabled_interface_is_not_read() -> None:
    client = Client()
    task = await run(client, 300, {"spark.ui.enabled": "false"})

    assert client.calls == []
    assert task.noted == [(None, "spark.ui.enabled is false. Enable it")]


@pytest.mark.parametrize("port", ["4050", "nonsense", "0", "99999", "4" * 5000])
async def test_configured_port_is_read(port: str) -> None:
    client = Client()
    task = await run(client, 20, {"spark.ui.port": port})

    assert f":{port if port == '4050' else 4040}/proxy/" in client.calls[0][1].path
    await task.sampler.close()


@pytest.mark.parametrize(
    ("page", "answer"),
    [("jobs", b"<html>"), ("jobs", b"[" * 5_000_000), ("allexecutors", b'"' + b"x" * 5_000_000 + b'"')],
)
async def test_hostile_answer_is_refused(page: str, answer: bytes) -> None:
    client = Client()
    client.answers[page] = answer
    task = await run(client, 300)

    assert len(task.lines) == 1
    assert task.noted[-1][0] is None


@pytest.mark.parametrize("answer", [[], {}, [{"id": "../../../secrets"}], [{"id": 1}]])
async def test_application_without_a_valid_id_is_refused(answer: object) -> None:
    client = Client()
    client.answers["applications"] = answer
    task = await run(client, 300, application_id=None)

    assert set(task.noted) == {(None, "the Spark UI shows no application")}


async def test_unknown_id_is_read_from_the_interface() -> None:
    client = Client()
    task = await run(client, application_id=None)

    assert [call.path.partition("/applications")[2] for _, call in client.calls[:2]] == ["", "/spark-1/jobs"]
    await task.sampler.close()


async def test_next_attempt_starts_with_its_own_figures() -> None:
    client = Client()
    task = await run(client)
    seen = read_progress(build_stored())
    later = replace(seen, attempt=seen.attempt + 1)
    number = len(client.calls)
    task.sampler.update(cast("KubeClient", client), later, build_stored(), lambda *line: None)
    assert task.noted[-1] == (None, "")
    await asyncio.sleep(20)

    assert {call.path.rpartition("/")[2] for _, call in client.calls[number:]} >= {"jobs", "stages"}
    await task.sampler.close()


def test_error_names_the_permission() -> None:
    assert isinstance(_refuse(403, ""), Forbidden)
