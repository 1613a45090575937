import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_spark_operator.follow.access import outage_tolerance
from airflow_provider_spark_operator.follow.access.reference import ApplicationDeleted, ApplicationReference
from airflow_provider_spark_operator.follow.submission.submit import submit
from airflow_provider_spark_operator.follow.watching import shared_watch
from airflow_provider_spark_operator.follow.watching.shared_watch import share_hub
from airflow_provider_spark_operator.follow.watching.watch import WatchHub
from airflow_provider_spark_operator.kube import listwatch
from airflow_provider_spark_operator.kube.backoff import Backoff
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess
from airflow_provider_spark_operator.kube.errors import Forbidden, KubeError, ServerError, Unreachable
from airflow_provider_spark_operator.kube.listwatch import Change
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from tests.follow.applications import RUNNING, SUCCEEDED, build_document, build_stamp, build_stored, set_states
from tests.kube.scripted_api import (
    ScriptedApi,
    answer,
    answer_page,
    build_error_event,
    deny,
    open_client_of,
    refuse,
    serve_api,
    stream,
)

REFERENCE = ApplicationReference("jobs", "pi", "u1")


@pytest.fixture
async def hub(client: KubeClient) -> AsyncIterator[WatchHub]:
    hub = WatchHub(client)
    yield hub
    await hub.close()


class Watches:
    """The namespaces that were watched, with one entry for each watch."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self._news = asyncio.Event()

    def begin(self, namespace: str) -> None:
        self.begun.append(namespace)
        self._news.set()

    async def reach(self, count: int) -> None:
        async with asyncio.timeout(30):
            while len(self.begun) < count:
                self._news.clear()
                await self._news.wait()


@pytest.fixture
async def watches(client: KubeClient, monkeypatch: pytest.MonkeyPatch) -> Watches:
    watches = Watches()
    original = client.watch

    def count_watch(resource: Any, namespace: str, **options: Any) -> Any:
        watches.begin(namespace)
        return original(resource, namespace, **options)

    monkeypatch.setattr(client, "watch", count_watch)
    return watches


def get_state(resource: Any) -> str:
    return str(resource.get("status", {}).get("currentState", {}).get("currentStateSummary", ""))


async def follow_until_state(hub: WatchHub, reference: ApplicationReference, state: str) -> list[str]:
    """Follow until the application is in a state, and return the states."""
    seen = []
    async with asyncio.timeout(30), aclosing(hub.follow(reference)) as contents:
        async for resource in contents:
            seen.append(get_state(resource))
            if seen[-1] == state:
                break
    return seen


async def follow_until_deleted(hub: WatchHub, reference: ApplicationReference) -> list[str]:
    """Follow until the application is deleted, and return the states."""
    seen: list[str] = []
    with pytest.raises(ApplicationDeleted) as caught:
        await collect(hub, reference, seen)
    assert caught.value.reference == reference
    return seen


async def collect(hub: WatchHub, reference: ApplicationReference, seen: list[str]) -> None:
    async with asyncio.timeout(30), aclosing(hub.follow(reference)) as contents:
        async for resource in contents:
            seen.append(get_state(resource))  # noqa: PERF401 - events before an error count


async def test_follower_receives_current_content_and_each_change(
    client: KubeClient, namespace: str, hub: WatchHub
) -> None:
    reference = (await submit(client, build_document("pi"), namespace)).reference
    async with asyncio.timeout(30), aclosing(hub.follow(reference)) as contents:
        assert get_state(await anext(contents)) == ""
        await set_states(client, reference, *RUNNING)
        assert get_state(await anext(contents)) == "RunningHealthy"
        await set_states(client, reference, *SUCCEEDED)
        assert get_state(await anext(contents)) == "ResourceReleased"


async def test_late_follower_receives_current_content_at_once(
    client: KubeClient, namespace: str, hub: WatchHub
) -> None:
    early = (await submit(client, build_document("early"), namespace)).reference
    following = asyncio.create_task(follow_until_state(hub, early, "RunningHealthy"))
    late = (await submit(client, build_document("late"), namespace)).reference
    await set_states(client, late, *RUNNING)
    assert await follow_until_state(hub, late, "RunningHealthy") == ["RunningHealthy"]
    await set_states(client, early, *RUNNING)
    await following


async def test_many_followers_share_one_watch(
    client: KubeClient, namespace: str, hub: WatchHub, watches: Watches
) -> None:
    references = [(await submit(client, build_document(f"pi-{number}"), namespace)).reference for number in range(5)]
    followers = [
        asyncio.create_task(follow_until_state(hub, reference, "RunningHealthy"))
        for reference in references
        for _ in range(20)
    ]
    await watches.reach(1)
    for reference in references:
        await set_states(client, reference, *RUNNING)
    await asyncio.gather(*followers)
    assert watches.begun == [namespace]


class RaisingObserver:
    """Records what it receives. Raises an error in one of its methods."""

    def __init__(self, method: str, error: Exception) -> None:
        self._method = method
        self._error = error
        self.received: list[str] = []
        self.failures: list[Exception] = []
        self.failed = asyncio.Event()
        self.listed = asyncio.Event()

    def put(self, change: Change) -> None:
        self.listed.set()
        self._receive("put")

    def interrupt(self, error: KubeError) -> None:
        self._receive("interrupt")

    def resume(self) -> None:
        self._receive("resume")

    def fail(self, error: Exception) -> None:
        self.failures.append(error)
        self.failed.set()
        self._receive("fail")

    def _receive(self, method: str) -> None:
        self.received.append(method)
        if method == self._method:
            raise self._error


async def test_observer_that_raises_fails_alone(client: KubeClient, namespace: str, hub: WatchHub) -> None:
    reference = (await submit(client, build_document("pi"), namespace)).reference
    error = RuntimeError("observer failed")
    broken, sound = RaisingObserver("put", error), RaisingObserver("", error)
    async with asyncio.timeout(30), aclosing(hub.follow(reference)) as contents:
        await anext(contents)
        with hub.observe(SPARK_APPLICATIONS, namespace, broken), hub.observe(SPARK_APPLICATIONS, namespace, sound):
            await broken.failed.wait()
            await set_states(client, reference, *SUCCEEDED)
            while get_state(await anext(contents)) != "ResourceReleased":
                pass
    assert broken.failures == [error]
    assert broken.received == ["put", "fail"]
    assert sound.failures == []
    assert sound.received.count("put") > 1


async def test_observer_that_raises_in_an_outage_fails_alone(api: ScriptedApi, faulty_hub: WatchHub) -> None:
    api.script(*[refuse(503, "starting")] * 5, answer_page(build_stored("pi", "u1", "7")), verb="list")
    api.script(stream(hold=True), verb="watch")
    error = RuntimeError("observer failed")
    broken, sound = RaisingObserver("interrupt", error), RaisingObserver("", error)
    with faulty_hub.observe(SPARK_APPLICATIONS, "jobs", broken), faulty_hub.observe(SPARK_APPLICATIONS, "jobs", sound):
        async with asyncio.timeout(30):
            await broken.failed.wait()
            await sound.listed.wait()
    assert broken.failures == [error]
    assert broken.received == ["interrupt", "fail"]
    assert sound.received[:2] == ["interrupt", "put"]
    assert sound.failures == []


async def test_observer_that_raises_when_it_fails_does_not_hide_the_error_from_others(
    api: ScriptedApi, faulty_hub: WatchHub
) -> None:
    api.script(deny("list", "sparkapplications"), verb="list")
    broken = RaisingObserver("fail", RuntimeError("observer failed"))
    sound = RaisingObserver("", RuntimeError())
    with faulty_hub.observe(SPARK_APPLICATIONS, "jobs", broken), faulty_hub.observe(SPARK_APPLICATIONS, "jobs", sound):
        async with asyncio.timeout(30):
            await broken.failed.wait()
            await sound.failed.wait()
    assert isinstance(sound.failures[0], Forbidden)


async def test_watch_ends_with_last_follower_and_restarts(
    client: KubeClient, namespace: str, hub: WatchHub, watches: Watches
) -> None:
    reference = (await submit(client, build_document("pi"), namespace)).reference
    for count, states in enumerate((RUNNING, SUCCEEDED), start=1):
        following = asyncio.create_task(follow_until_state(hub, reference, states[-1]))
        await watches.reach(count)
        await set_states(client, reference, *states)
        await following
        assert hub._streams == {}
    assert len(watches.begun) == 2


async def test_deletion_is_raised_with_the_last_content(
    client: KubeClient, namespace: str, hub: WatchHub, watches: Watches
) -> None:
    reference = (await submit(client, build_document("pi"), namespace)).reference
    following = asyncio.create_task(follow_until_deleted(hub, reference))
    await watches.reach(1)
    await set_states(client, reference, *RUNNING)
    await client.delete(SPARK_APPLICATIONS, "pi", namespace)
    assert (await following)[-1] in ("", "RunningHealthy")
    assert await follow_until_deleted(hub, reference) == []


async def test_application_with_same_name_is_not_confused(
    client: KubeClient, namespace: str, hub: WatchHub, watches: Watches
) -> None:
    first = (await submit(client, build_document("pi"), namespace)).reference
    following = asyncio.create_task(follow_until_deleted(hub, first))
    await watches.reach(1)
    await client.delete(SPARK_APPLICATIONS, "pi", namespace)
    second = (await submit(client, build_document("pi"), namespace)).reference
    await set_states(client, second, *RUNNING)
    assert "RunningHealthy" not in await following
    assert await follow_until_state(hub, second, "RunningHealthy") == ["RunningHealthy"]
    assert await follow_until_deleted(hub, first) == []


async def test_shared_hub_is_closed_by_its_last_user(access: ClusterAccess) -> None:
    async with share_hub(access) as one:
        async with share_hub(access) as other:
            assert other is one
        async with share_hub(access) as again:
            assert again is one
    async with share_hub(access) as anew:
        assert anew is not one
    assert not shared_watch._shared[asyncio.get_running_loop()]


async def test_tasks_of_one_connection_share_a_hub(access: ClusterAccess, client: KubeClient, namespace: str) -> None:
    reference = (await submit(client, build_document("pi"), namespace, build_stamp())).reference
    hubs = set()

    async def wait() -> None:
        async with share_hub(access) as hub:
            hubs.add(hub)
            await follow_until_state(hub, reference, "RunningHealthy")

    waiting = [asyncio.create_task(wait()) for _ in range(10)]
    await asyncio.sleep(0)
    await set_states(client, reference, *RUNNING)
    await asyncio.gather(*waiting)
    assert len(hubs) == 1


# The server sends scripted faults.


@pytest.fixture
async def api() -> AsyncIterator[ScriptedApi]:
    async with serve_api() as api:
        yield api


@pytest.fixture
async def faulty_hub(api: ScriptedApi) -> AsyncIterator[WatchHub]:
    async with await open_client_of(api) as client:
        hub = WatchHub(client, outage_tolerance=0.0)
        yield hub
        await hub.close()


def build_event(kind: str, *application: Any) -> dict[str, Any]:
    return {"type": kind, "object": build_stored(*application)}


async def test_change_during_a_gap_is_not_lost(api: ScriptedApi, faulty_hub: WatchHub) -> None:
    api.script(answer(build_stored("pi", "u1", "5")), verb="get")
    api.script(
        answer_page(build_stored("pi", "u1", "5")), answer_page(build_stored("pi", "u1", "30", *SUCCEEDED)), verb="list"
    )
    api.script(stream(build_error_event(410, "Expired")), stream(hold=True), verb="watch")
    assert await follow_until_state(faulty_hub, REFERENCE, "ResourceReleased") == ["RunningHealthy", "ResourceReleased"]


async def test_deletion_during_a_gap_is_found(api: ScriptedApi, faulty_hub: WatchHub) -> None:
    api.script(answer(build_stored()), refuse(404, "not found", "NotFound"), verb="get")
    api.script(answer_page(build_stored()), answer_page(), verb="list")
    api.script(stream(build_error_event(410, "Expired")), stream(hold=True), verb="watch")
    assert await follow_until_deleted(faulty_hub, REFERENCE) == ["RunningHealthy"]


async def test_replacement_during_a_gap_is_a_deletion(api: ScriptedApi, faulty_hub: WatchHub) -> None:
    api.script(answer(build_stored()), answer(build_stored("pi", "u2", "30")), verb="get")
    api.script(answer_page(build_stored()), answer_page(build_stored("pi", "u2", "30")), verb="list")
    api.script(stream(build_error_event(410, "Expired")), stream(hold=True), verb="watch")
    assert await follow_until_deleted(faulty_hub, REFERENCE) == ["RunningHealthy"]


async def test_watch_that_lags_behind_a_new_application_does_not_end_it(api: ScriptedApi, faulty_hub: WatchHub) -> None:
    ours = ("pi", "u1", "20")
    api.script(*[answer(build_stored(*ours))] * 5, verb="get")
    api.script(answer_page(), verb="list")
    lagging = [
        build_event("ADDED", "pi", "u0", "7"),
        build_event("DELETED", "pi", "u0", "8"),
        build_event("ADDED", *ours),
    ]
    done = build_event("MODIFIED", "pi", "u1", "21", *SUCCEEDED)
    api.script(stream(*lagging, done, hold=True), verb="watch")
    assert (await follow_until_state(faulty_hub, REFERENCE, "ResourceReleased"))[-1] == "ResourceReleased"


async def test_older_content_is_not_yielded_after_newer(api: ScriptedApi, faulty_hub: WatchHub) -> None:
    api.script(answer(build_stored("pi", "u1", "9", *RUNNING)), verb="get")
    api.script(answer_page(build_stored("pi", "u1", "8", "Submitted")), verb="list")
    later = build_event("MODIFIED", "pi", "u1", "100", *SUCCEEDED)
    api.script(stream(build_event("MODIFIED", "pi", "u1", "8", "Submitted"), later, hold=True), verb="watch")
    seen = await follow_until_state(faulty_hub, REFERENCE, "ResourceReleased")
    assert "Submitted" not in seen[1:]


async def test_missing_watch_permission_is_raised_at_once(api: ScriptedApi, faulty_hub: WatchHub) -> None:
    api.script(answer(build_stored()), verb="get")
    api.script(deny("list", "sparkapplications", "spark.apache.org"), verb="list")
    with pytest.raises(Forbidden, match='grant the verb "list" on sparkapplications'):
        await follow_until_state(faulty_hub, REFERENCE, "never")


async def test_permitted_list_does_not_hide_missing_watch_permission(api: ScriptedApi) -> None:
    api.script(answer(build_stored()), verb="get")
    api.script(*[answer_page(build_stored())] * 50, verb="list")
    api.script(*[deny("watch", "sparkapplications", "spark.apache.org")] * 50, verb="watch")
    async with await open_client_of(api) as client:
        hub = WatchHub(client)
        with pytest.raises(Forbidden, match='grant the verb "watch" on sparkapplications'):
            await follow_until_state(hub, REFERENCE, "never")
        await hub.close()


async def test_successful_list_does_not_renew_tolerance_for_watch(
    api: ScriptedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = itertools.count(step=100)
    monkeypatch.setattr(outage_tolerance, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    monkeypatch.setattr(listwatch, "Backoff", lambda: Backoff(first=0.001))
    api.script(answer(build_stored()), verb="get")
    api.script(*[answer_page(build_stored())] * 50, verb="list")
    api.script(*[refuse(503, "watches are off")] * 50, verb="watch")
    async with await open_client_of(api) as client:
        hub = WatchHub(client)
        with pytest.raises(ServerError, match="watches are off"):
            await follow_until_state(hub, REFERENCE, "never")
        await hub.close()


async def test_outage_longer_than_the_tolerance_ends_the_follower(api: ScriptedApi, faulty_hub: WatchHub) -> None:
    api.script(answer(build_stored()), verb="get")
    api.script(answer_page(build_stored()), verb="list")
    api.script(stream(cut=True), verb="watch")
    with pytest.raises(Unreachable, match="the connection was lost"):
        await follow_until_state(faulty_hub, REFERENCE, "never")


async def test_repeatedly_interrupted_streams_with_events_are_no_outage(
    api: ScriptedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = itertools.count(step=100)
    monkeypatch.setattr(outage_tolerance, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    monkeypatch.setattr(listwatch, "Backoff", lambda: Backoff(first=0.001))
    quiet = stream({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "7"}}}, cut=True)
    api.script(answer(build_stored()), verb="get")
    api.script(answer_page(build_stored()), verb="list")
    api.script(*[quiet] * 15, stream(build_event("MODIFIED", "pi", "u1", "9", *SUCCEEDED), hold=True), verb="watch")
    async with await open_client_of(api) as client:
        hub = WatchHub(client)
        assert (await follow_until_state(hub, REFERENCE, "ResourceReleased"))[-1] == "ResourceReleased"
        await hub.close()


async def test_expired_list_page_restarts_the_list(api: ScriptedApi) -> None:
    api.script(answer(build_stored()), verb="get")
    api.script(refuse(410, "the continue parameter is too old", "Expired"), answer_page(build_stored()), verb="list")
    api.script(stream(build_event("MODIFIED", "pi", "u1", "9", *SUCCEEDED), hold=True), verb="watch")
    async with await open_client_of(api) as client:
        hub = WatchHub(client)
        assert (await follow_until_state(hub, REFERENCE, "ResourceReleased"))[-1] == "ResourceReleased"
        await hub.close()


async def test_outage_at_the_start_is_tolerated(api: ScriptedApi) -> None:
    api.script(*[refuse(503, "starting")] * 5, answer(build_stored()), verb="get")
    api.script(*[refuse(503, "starting")] * 5, answer_page(build_stored()), verb="list")
    api.script(stream(build_event("MODIFIED", "pi", "u1", "9", *SUCCEEDED), hold=True), verb="watch")
    async with await open_client_of(api) as client:
        hub = WatchHub(client)
        assert (await follow_until_state(hub, REFERENCE, "ResourceReleased"))[-1] == "ResourceReleased"
        await hub.close()
