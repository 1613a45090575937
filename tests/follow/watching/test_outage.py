"""Followers of one namespace tolerate outages of the API server, and changes of its address and credentials."""

import asyncio
import contextvars
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import unused_port

from airflow_provider_spark_operator.follow.access import outage_tolerance
from airflow_provider_spark_operator.follow.access.outage_tolerance import OutageTolerance
from airflow_provider_spark_operator.follow.access.reference import ApplicationReference
from airflow_provider_spark_operator.follow.watching import shared_watch, watch
from airflow_provider_spark_operator.follow.watching.shared_watch import share_hub
from airflow_provider_spark_operator.follow.watching.watch import WatchHub
from airflow_provider_spark_operator.kube import link, listwatch
from airflow_provider_spark_operator.kube.backoff import Backoff
from airflow_provider_spark_operator.kube.connection import ClusterAccess
from airflow_provider_spark_operator.kube.errors import ConfigurationError, Forbidden, NotFound, Unreachable
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from tests.follow.applications import SUCCEEDED, build_stored
from tests.kube.scripted_api import (
    Answer,
    ScriptedApi,
    answer,
    answer_page,
    build_kubeconfig,
    deny,
    open_client_of,
    refuse,
    serve_api,
    stream,
)

REFERENCE = ApplicationReference("jobs", "pi", "u1")
ENDED = {"type": "MODIFIED", "object": build_stored("pi", "u1", "100", *SUCCEEDED)}
WHO = contextvars.ContextVar("WHO", default="nobody")


@pytest.fixture
async def api() -> AsyncIterator[ScriptedApi]:
    async with serve_api() as api:
        yield api


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config"


@pytest.fixture(autouse=True)
def shorten_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "SHORTEST_READ_SECONDS", 0.0)
    monkeypatch.setattr(watch, "Backoff", lambda: Backoff(first=0.01, longest=0.05))
    monkeypatch.setattr(listwatch, "Backoff", lambda: Backoff(first=0.01, longest=0.05))
    monkeypatch.setattr(outage_tolerance, "Backoff", lambda longest: Backoff(first=0.01, longest=0.05))


@pytest.fixture
def lines_by_task() -> Iterator[list[tuple[str, str]]]:
    """The log lines, each with the task in whose context it was logged, as in Airflow's triggerer."""
    lines: list[tuple[str, str]] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append((WHO.get(), record.getMessage()))

    listener, loggers = Listener(), (watch.logger, shared_watch.logger)
    for logger in loggers:
        logger.addHandler(listener)
        logger.setLevel(logging.INFO)
    yield lines
    for logger in loggers:
        logger.removeHandler(listener)
        logger.setLevel(logging.NOTSET)


def write(file: Path, url: str, token: str = "one") -> ClusterAccess:
    file.write_text(yaml.safe_dump(build_kubeconfig(url, {"token": token})))
    return ClusterAccess(kubeconfig=file)


def truncate(file: Path) -> ClusterAccess:
    """Truncate the file, like a write that is not atomic."""
    file.write_text("")
    return ClusterAccess(kubeconfig=file)


def choose_unused_url() -> str:
    return f"http://127.0.0.1:{unused_port()}"


def script_open_watch(api: ScriptedApi, *events: Any) -> None:
    """Make the server answer every follower. Its watch sends the events and stays open."""
    api.script(*[answer(build_stored())] * 50, verb="get")
    api.script(*[answer_page(build_stored())] * 50, verb="list")
    api.script(*[stream(*events, hold=True)] * 50, verb="watch")


async def follow(hub: WatchHub, seen: list[Any] | None = None) -> bool:
    """Follow until the application has ended. Return whether it has ended."""
    async with aclosing(hub.follow(REFERENCE)) as contents:
        async for resource in contents:
            if seen is not None:
                seen.append(resource)
            if resource["metadata"]["resourceVersion"] == "100":
                return True
    return False


async def wait_as(name: str, access: ClusterAccess) -> WatchHub:
    """Wait for the application like a trigger of that name."""
    WHO.set(name)
    async with asyncio.timeout(30), share_hub(access) as hub:
        await follow(hub)
        return hub


async def wait_until(holds: Any) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 - nothing signals these conditions
            await asyncio.sleep(0.01)


async def test_all_followers_reach_the_new_address(
    api: ScriptedApi, file: Path, lines_by_task: list[tuple[str, str]]
) -> None:
    script_open_watch(api, ENDED)
    access = write(file, choose_unused_url())
    early = [asyncio.create_task(wait_as(name, access)) for name in ("a", "b")]
    await wait_until(lambda: {who for who, _ in lines_by_task} >= {"a", "b"})
    late = await wait_as("late", write(file, api.url))
    await asyncio.gather(*early)
    assert late.client.server == api.url


async def test_new_follower_wakes_a_hub_during_a_long_pause(
    api: ScriptedApi, file: Path, lines_by_task: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    forever = Backoff(first=1e6, longest=1e6)
    monkeypatch.setattr(watch, "Backoff", lambda: forever)
    script_open_watch(api, ENDED)
    early = asyncio.create_task(wait_as("early", write(file, choose_unused_url())))
    await wait_until(lambda: lines_by_task)
    await wait_as("late", write(file, api.url))
    assert (await early).client.server == api.url


async def test_new_follower_of_failing_hub_reconnects(
    api: ScriptedApi, file: Path, lines_by_task: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    forever = Backoff(first=1e6, longest=1e6)
    monkeypatch.setattr(watch, "Backoff", lambda: forever)
    monkeypatch.setattr(shared_watch, "_SHORTEST_RECONNECT_SECONDS", 0.0)
    api.script(refuse(401), verb="list")
    api.script(refuse(401), verb="get")
    access = write(file, api.url)
    early = asyncio.create_task(wait_as("early", access))
    await wait_until(lambda: not api.by_verb["get"] and not api.by_verb["list"] and lines_by_task)
    script_open_watch(api, ENDED)
    late = await wait_as("late", access)
    assert await early is late
    assert len({seen.peer for seen in api.requests}) > 2


async def test_every_follower_reports_an_outage_once_and_its_end(
    api: ScriptedApi, file: Path, lines_by_task: list[tuple[str, str]]
) -> None:
    api.script(*[answer(build_stored())] * 50, verb="get")
    api.script(*[answer_page(build_stored())] * 50, verb="list")
    api.script(*[refuse(503, "starting", "ServiceUnavailable")] * 6, stream(ENDED, hold=True), verb="watch")
    access = write(file, api.url)
    await asyncio.gather(*(wait_as(name, access) for name in ("a", "b", "c")))
    for name in ("a", "b", "c"):
        lines = [line for who, line in lines_by_task if who == name]
        assert len(lines) == 2, lines
        assert lines[0].startswith("SparkApplication jobs/pi: the Kubernetes API is not available: could not watch")
        assert lines[0].endswith("starting; retrying for up to 15 min")
        assert lines[1] == f"SparkApplication jobs/pi: the Kubernetes API is available again at {api.url}"


async def test_outage_lasts_until_the_watch_works_although_a_read_succeeds_before(
    api: ScriptedApi, lines_by_task: list[tuple[str, str]]
) -> None:
    refused = refuse(503, "starting", "ServiceUnavailable")
    watched, was_read = asyncio.Event(), asyncio.Event()
    refused_after_read = iter(range(5))

    async def read_after_watch(request: web.BaseRequest) -> web.StreamResponse:
        await watched.wait()
        return await answer(build_stored())(request)

    async def watch_long_after_read(request: web.BaseRequest) -> web.StreamResponse:
        works = was_read.is_set() and next(refused_after_read, None) is None
        response = await (stream(ENDED, hold=True) if works else refused)(request)
        watched.set()
        return response

    api.script(*[refused] * 5, read_after_watch, verb="get")
    api.script(*[answer_page(build_stored())] * 500, verb="list")
    api.script(*[watch_long_after_read] * 500, verb="watch")
    async with await open_client_of(api) as client:
        hub = WatchHub(client)
        async with asyncio.timeout(30), aclosing(hub.follow(REFERENCE)) as contents:
            async for resource in contents:
                was_read.set()
                if resource["metadata"]["resourceVersion"] == "100":
                    break
        await hub.close()
    lines = [line for _, line in lines_by_task]
    assert len(lines) == 2, lines
    assert lines[0].endswith("starting; retrying for up to 15 min")
    assert lines[1] == f"SparkApplication jobs/pi: the Kubernetes API is available again at {api.url}"


async def test_outage_is_reported_once_when_first_list_fails_and_then_watches_are_refused(
    api: ScriptedApi, lines_by_task: list[tuple[str, str]]
) -> None:
    refused = refuse(503, "starting", "ServiceUnavailable")
    api.script(*[answer(build_stored())] * 50, verb="get")
    api.script(*[refused] * 4, *[answer_page(build_stored())] * 50, verb="list")
    api.script(*[refused] * 3, stream(ENDED, hold=True), verb="watch")
    async with await open_client_of(api) as client:
        hub = WatchHub(client)
        async with asyncio.timeout(30):
            await follow(hub)
        await hub.close()
    lines = [line for _, line in lines_by_task]
    assert len(lines) == 2, lines
    assert "the Kubernetes API is not available" in lines[0]
    assert lines[1] == f"SparkApplication jobs/pi: the Kubernetes API is available again at {api.url}"


@pytest.mark.parametrize("verb", ["get", "list", "watch"])
async def test_rejected_credentials_are_tolerated_like_an_outage(
    api: ScriptedApi, file: Path, lines_by_task: list[tuple[str, str]], verb: str
) -> None:
    rejected: list[Answer] = [refuse(401, "Unauthorized", "Unauthorized")] * 3
    api.script(*rejected, verb=verb)
    script_open_watch(api, ENDED)
    await wait_as("a", write(file, api.url))
    warnings = [line for _, line in lines_by_task if "not available" in line]
    assert len(warnings) == 1
    assert "renew the token of user 'u' in kubeconfig" in warnings[0]


async def test_missing_permission_ends_the_wait_at_once(api: ScriptedApi, file: Path) -> None:
    script_open_watch(api)
    api.by_verb["list"] = [deny("list", "sparkapplications", "spark.apache.org")]
    with pytest.raises(Forbidden):
        await wait_as("a", write(file, api.url))


async def test_existing_hub_uses_rotated_credentials(api: ScriptedApi, file: Path) -> None:
    script_open_watch(api)
    async with share_hub(write(file, api.url, "one")) as one, share_hub(write(file, api.url, "two")) as two:
        assert one is two
        await two.client.get(SPARK_APPLICATIONS, "pi", "jobs")
    assert api.requests[-1].headers["Authorization"] == "Bearer two"


async def test_another_cluster_gets_a_hub_of_its_own_while_the_old_one_works(api: ScriptedApi, file: Path) -> None:
    script_open_watch(api)
    async with serve_api() as other:
        script_open_watch(other)
        access = write(file, api.url)
        async with share_hub(access) as one, share_hub(write(file, other.url)) as two:
            assert one is not two
            assert (one.client.server, two.client.server) == (api.url, other.url)
        assert not shared_watch._shared[asyncio.get_running_loop()]


async def test_two_files_with_the_same_content_share_a_hub(api: ScriptedApi, tmp_path: Path) -> None:
    accesses = write(tmp_path / "one", api.url), write(tmp_path / "two", api.url)
    async with share_hub(accesses[0]) as one, share_hub(accesses[1]) as two:
        assert one is two


async def test_application_that_the_new_cluster_does_not_know_is_not_reported_as_deleted(
    api: ScriptedApi, file: Path, lines_by_task: list[tuple[str, str]]
) -> None:
    async with serve_api() as old:
        old.script(answer(build_stored()), *[refuse(503, "going away")] * 50, verb="get")
        old.script(answer_page(build_stored()), *[refuse(503, "going away")] * 50, verb="list")
        old.script(*[refuse(503, "going away")] * 50, verb="watch")
        api.script(*[refuse(404, "not found", "NotFound")] * 5, verb="get")
        api.script(*[answer_page()] * 5, verb="list")
        api.script(*[stream(hold=True)] * 5, verb="watch")
        waiting = asyncio.create_task(wait_as("a", write(file, old.url)))
        await wait_until(lambda: lines_by_task)
        write(file, api.url)
        with pytest.raises(NotFound, match="which may be another cluster"):
            await waiting


async def test_follower_that_joins_during_an_outage_has_its_full_tolerance(
    api: ScriptedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures: list[OutageTolerance] = []
    original = OutageTolerance.record_failure

    def lose(self: OutageTolerance, error: Exception) -> None:
        """Exhaust the tolerance of a follower after its fifth failure."""
        failures.append(self)
        if failures.count(self) == 5:
            self.seconds = 0.0
        original(self, error)

    monkeypatch.setattr(OutageTolerance, "record_failure", lose)
    api.script(*[answer(build_stored())] * 50, verb="get")
    api.script(*[answer_page(build_stored())] * 500, verb="list")
    api.script(*[refuse(503, "down")] * 500, verb="watch")
    async with await open_client_of(api) as client:
        hub = WatchHub(client)
        first = asyncio.create_task(follow(hub))
        await wait_until(lambda: len(failures) >= 3)
        second = asyncio.create_task(follow(hub))
        await asyncio.wait([first], timeout=30)
        assert first.done()
        assert not second.done()
        await asyncio.wait([second], timeout=30)
        assert isinstance(second.exception(), type(first.exception()))
        await hub.close()


async def test_server_that_is_down_for_longer_than_the_tolerance_is_an_error(file: Path) -> None:
    async with share_hub(write(file, choose_unused_url())) as hub:
        hub._outage_tolerance = 0.0
        with pytest.raises(Unreachable, match="could not reach"):
            await follow(hub)


async def wait_for_hub(name: str, access: ClusterAccess) -> WatchHub:
    """Wait for the application like a trigger of that name, also while the configuration is unusable."""
    WHO.set(name)
    async with asyncio.timeout(30), share_hub(access, waiting_for=str(REFERENCE)) as hub:
        await follow(hub)
        return hub


async def test_follower_waits_until_an_unusable_kubeconfig_is_restored(
    api: ScriptedApi, file: Path, lines_by_task: list[tuple[str, str]]
) -> None:
    script_open_watch(api, ENDED)
    access = truncate(file)
    waiting = [asyncio.create_task(wait_for_hub(name, access)) for name in ("a", "b")]
    await wait_until(lambda: {who for who, _ in lines_by_task} >= {"a", "b"})
    write(file, api.url)
    await asyncio.gather(*waiting)
    warnings = [line for who, line in lines_by_task if who == "a" and "no current-context" in line]
    assert len(warnings) == 1
    assert not shared_watch._shared[asyncio.get_running_loop()]


async def test_follower_uses_a_working_hub_while_the_kubeconfig_is_unusable(api: ScriptedApi, file: Path) -> None:
    script_open_watch(api, ENDED)
    access = write(file, api.url)
    async with share_hub(access) as early:
        truncate(file)
        assert await wait_for_hub("late", access) is early
        await early.client.get(SPARK_APPLICATIONS, "pi", "jobs")


async def test_unusable_kubeconfig_is_an_error_after_the_tolerance(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_watch, "retry", partial(outage_tolerance.retry, seconds=0.0))
    access = truncate(file)
    with pytest.raises(ConfigurationError, match="no current-context"):
        await wait_for_hub("a", access)


async def test_unusable_kubeconfig_is_raised_at_once_without_a_follower(file: Path) -> None:
    access = truncate(file)
    with pytest.raises(ConfigurationError, match="no current-context"):
        async with share_hub(access):
            pass


async def test_watch_is_retried_at_once_when_another_request_has_read_new_credentials(
    api: ScriptedApi, file: Path, lines_by_task: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listwatch, "Backoff", lambda: Backoff(first=1e6, longest=1e6))
    api.script(*[answer(build_stored())] * 5, verb="get")
    api.script(*[answer_page(build_stored())] * 5, verb="list")
    api.script(refuse(401), stream(ENDED, hold=True), verb="watch")
    async with share_hub(write(file, api.url, "one")) as hub:
        waiting = asyncio.create_task(follow(hub))
        await wait_until(
            lambda: any("could not watch" in line and "renew the token" in line for _, line in lines_by_task)
        )
        write(file, api.url, "two")
        api.by_verb["get"] = [refuse(401), answer(build_stored())]
        await hub.client.get(SPARK_APPLICATIONS, "pi", "jobs")
        assert await asyncio.wait_for(waiting, 30)


async def test_recovery_is_reported_although_the_watch_stays_silent(
    api: ScriptedApi, file: Path, lines_by_task: list[tuple[str, str]]
) -> None:
    api.script(*[refuse(503, "starting", "ServiceUnavailable")] * 6, verb="watch")
    script_open_watch(api)
    async with share_hub(write(file, api.url)) as hub:
        waiting = asyncio.create_task(follow(hub))
        await wait_until(lambda: any("is available again" in line for _, line in lines_by_task))
        assert not hub.is_failing
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
