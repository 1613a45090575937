"""The ends of the applications of a namespace, for any number of receivers."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing
from typing import Any

import pytest

from airflow_provider_spark_operator.core.verdict.verdict import FailureKind, Outcome
from airflow_provider_spark_operator.follow.access.reference import ApplicationReference
from airflow_provider_spark_operator.follow.watching import completion_feed
from airflow_provider_spark_operator.follow.watching.completion_feed import (
    Completion,
    CompletionInbox,
    read_completion,
    receive_completions,
)
from airflow_provider_spark_operator.follow.watching.watch import WatchHub
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from tests.follow.applications import FAILED, SUCCEEDED, build_document, build_driver, build_stored, set_states
from tests.kube.scripted_api import ScriptedApi, answer_page, deny, open_client_of, refuse, serve_api, stream

TEST_SECONDS = 30


@pytest.fixture
async def hub(client: KubeClient) -> AsyncIterator[WatchHub]:
    hub = WatchHub(client)
    yield hub
    await hub.close()


@pytest.fixture
def watched(client: KubeClient, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The namespaces that are watched, with one entry for each watch."""
    begun: list[str] = []
    original = client.watch

    def record(resource: Any, namespace: str, **options: Any) -> Any:
        begun.append(namespace)
        return original(resource, namespace, **options)

    monkeypatch.setattr(client, "watch", record)
    return begun


async def create(client: KubeClient, name: str, namespace: str = "jobs", **metadata: Any) -> ApplicationReference:
    one = build_document(name)
    one["metadata"] |= metadata
    return ApplicationReference.of(await client.create(SPARK_APPLICATIONS, one, namespace))


async def create_ended(client: KubeClient, name: str, *states: str) -> ApplicationReference:
    reference = await create(client, name)
    await set_states(client, reference, *(states or SUCCEEDED))
    return reference


def names(completions: list[Completion]) -> list[str]:
    return sorted(one.reference.name for one in completions)


def want_all(_: Completion) -> bool:
    return True


def want(name: str) -> Callable[[Completion], bool]:
    return lambda completion: completion.reference.name == name


async def receive(inbox: CompletionInbox, count: int) -> list[Completion]:
    found: list[Completion] = []
    async with asyncio.timeout(TEST_SECONDS):
        while len(found) < count:
            found += await inbox.read_new()
    return found


async def test_receiver_gets_ended_applications_first_and_each_later_one_once(
    hub: WatchHub, client: KubeClient, namespace: str
) -> None:
    await create_ended(client, "earlier")
    running = await create(client, "running")
    async with receive_completions(hub, SPARK_APPLICATIONS, namespace, want_all) as (inbox, feed):
        assert names(await inbox.read_present()) == ["earlier"]
        await set_states(client, running, *SUCCEEDED)
        await client.patch(SPARK_APPLICATIONS, "running", namespace, {"metadata": {"annotations": {"seen": "yes"}}})
        await create_ended(client, "failing", *FAILED)
        ended = await receive(inbox, 2)
        assert feed.is_present(running.uid)
    assert names(ended) == ["failing", "running"]
    outcomes = {one.reference.name: one.verdict.outcome for one in ended}
    assert outcomes == {"running": Outcome.SUCCEEDED, "failing": Outcome.FAILED}


async def test_thousand_receivers_share_one_watch(
    hub: WatchHub, client: KubeClient, namespace: str, watched: list[str]
) -> None:
    async with AsyncExitStack() as stack:
        inboxes = []
        for number in range(1000):
            receiving = receive_completions(hub, SPARK_APPLICATIONS, namespace, want(f"app-{number % 10}"))
            inbox, _ = await stack.enter_async_context(receiving)
            inboxes.append(inbox)
        await asyncio.gather(*(inbox.read_present() for inbox in inboxes))
        await create_ended(client, "app-3")
        delivered = [await receive(inbox, 1) for inbox in inboxes[3::10]]
    assert watched == [namespace]
    assert {names(one)[0] for one in delivered} == {"app-3"}
    assert len(delivered) == 100


async def test_receiver_that_joins_followers_shares_their_watch(
    hub: WatchHub, client: KubeClient, namespace: str, watched: list[str]
) -> None:
    await create_ended(client, "earlier")
    followed = await create(client, "followed")
    async with aclosing(hub.follow(followed)) as changes:
        await anext(changes)
        async with receive_completions(hub, SPARK_APPLICATIONS, namespace, want_all) as (inbox, _):
            assert names(await inbox.read_present()) == ["earlier"]
            await set_states(client, followed, *SUCCEEDED)
            assert names(await receive(inbox, 1)) == ["followed"]
        async with asyncio.timeout(TEST_SECONDS):
            current = await anext(changes)
            while "status" not in current:
                current = await anext(changes)
    assert len(hub._streams) <= 1
    assert set(watched) == {namespace}


async def test_later_receiver_gets_what_the_feed_knows(hub: WatchHub, client: KubeClient, namespace: str) -> None:
    await create_ended(client, "earlier")
    async with receive_completions(hub, SPARK_APPLICATIONS, namespace, want_all) as (first, _):
        await first.read_present()
        await create_ended(client, "later")
        await receive(first, 1)
        async with receive_completions(hub, SPARK_APPLICATIONS, namespace, want_all) as (second, _):
            assert names(await second.read_present()) == ["earlier", "later"]


async def test_application_that_ends_and_is_deleted_at_once_is_delivered(namespace_api: ScriptedApi) -> None:
    ended = build_stored("pi", "u1", "7", *SUCCEEDED)
    namespace_api.script(answer_page(version="5"), answer_page(version="9"), verb="list")
    namespace_api.script(stream({"type": "DELETED", "object": ended}, hold=True), verb="watch")
    async with await open_client_of(namespace_api) as client:
        hub = WatchHub(client)
        async with receive_completions(hub, SPARK_APPLICATIONS, "jobs", want_all) as (inbox, feed):
            assert await inbox.read_present() == []
            assert names(await receive(inbox, 1)) == ["pi"]
            assert not feed.is_present("u1")
        await hub.close()


@pytest.fixture
async def namespace_api() -> AsyncIterator[ScriptedApi]:
    async with serve_api() as api:
        yield api


async def test_missing_permission_delays_the_delivery(
    namespace_api: ScriptedApi, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(completion_feed, "_LONGEST_PAUSE_SECONDS", 0.01)
    denied = deny("list", "sparkapplications", "spark.apache.org")
    namespace_api.script(
        denied, denied, answer_page(build_stored("pi", "u1", "7", *SUCCEEDED), version="7"), verb="list"
    )
    namespace_api.script(stream(hold=True), verb="watch")
    async with await open_client_of(namespace_api) as client:
        hub = WatchHub(client)
        async with receive_completions(hub, SPARK_APPLICATIONS, "jobs", want_all) as (inbox, _):
            assert names(await inbox.read_present()) == ["pi"]
        await hub.close()
    assert "is forbidden" in caplog.text


async def test_malformed_application_does_not_end_the_feed(
    namespace_api: ScriptedApi, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def read(resource: Any, kind: Any) -> Completion | None:
        if resource["metadata"]["name"] == "malformed":
            raise TypeError("a list instead of an object")
        return read_completion(resource, kind)

    monkeypatch.setattr(completion_feed, "read_completion", read)
    items = [build_stored("malformed", "u1", "6", *SUCCEEDED), build_stored("pi", "u2", "7", *SUCCEEDED)]
    namespace_api.script(answer_page(*items, version="7"), verb="list")
    namespace_api.script(stream(hold=True), verb="watch")
    async with await open_client_of(namespace_api) as client:
        hub = WatchHub(client)
        async with receive_completions(hub, SPARK_APPLICATIONS, "jobs", want_all) as (inbox, _):
            assert names(await inbox.read_present()) == ["pi"]
        await hub.close()
    assert "could not read the status of malformed" in caplog.text


def test_application_that_was_deleted_while_it_ran_has_not_ended() -> None:
    resource = build_stored("pi", "u1", "7", *FAILED)
    resource["metadata"] |= {"deletionTimestamp": "2025-12-31T23:59:00Z", "deletionGracePeriodSeconds": 0}
    assert read_completion(resource, SPARK_APPLICATIONS) is None


def test_long_message_is_shortened() -> None:
    resource = build_stored("pi", "u1", "7", *FAILED)
    for entry in resource["status"]["stateTransitionHistory"].values():
        entry["message"] = "x" * 100_000
    completion = read_completion(resource, SPARK_APPLICATIONS)
    assert completion is not None
    assert len(completion.verdict.sentence) <= 1000


NOT_SUBMITTED = ("Submitted", "SchedulingFailure", "ResourceReleased")


async def test_end_that_was_not_read_from_a_driver_is_delivered_after_the_driver_pods_were_read(
    namespace_api: ScriptedApi,
) -> None:
    refused = build_stored("refused", "u1", "7", *NOT_SUBMITTED)
    lost = build_stored("lost", "u2", "8", *NOT_SUBMITTED)
    driver = build_driver("refused", status={"phase": "Succeeded"})
    absent = refuse(404, "not found", "NotFound")
    namespace_api.script(answer_page(refused, version="7"), answer_page(driver), answer_page(), verb="list")
    namespace_api.script(absent, verb="get")
    namespace_api.script(stream({"type": "ADDED", "object": lost}, hold=True), verb="watch")
    async with await open_client_of(namespace_api) as client:
        hub = WatchHub(client)
        async with receive_completions(hub, SPARK_APPLICATIONS, "jobs", want_all) as (inbox, _):
            present = await inbox.read_present()
            new = await receive(inbox, 1)
        await hub.close()
    assert [(one.reference.name, one.verdict.outcome) for one in present] == [("refused", Outcome.SUCCEEDED)]
    assert [(one.reference.name, one.verdict.failure_kind) for one in new] == [("lost", FailureKind.SCHEDULING)]


async def test_unknown_end_delays_no_other_application(
    namespace_api: ScriptedApi, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(completion_feed, "_LONGEST_PAUSE_SECONDS", 0.01)
    items = [build_stored("refused", "u1", "7", *NOT_SUBMITTED), build_stored("pi", "u2", "7", *SUCCEEDED)]
    denied, absent = deny("list", "pods"), refuse(404, "not found", "NotFound")
    namespace_api.script(answer_page(*items, version="7"), denied, denied, answer_page(), verb="list")
    namespace_api.script(absent, verb="get")
    namespace_api.script(stream(hold=True), verb="watch")
    async with await open_client_of(namespace_api) as client:
        hub = WatchHub(client)
        async with receive_completions(hub, SPARK_APPLICATIONS, "jobs", want_all) as (inbox, _):
            assert names(await inbox.read_present()) == ["pi"]
            assert names(await receive(inbox, 1)) == ["refused"]
        await hub.close()
    assert caplog.text.count("It causes no asset event until its driver pods can be read") == 1
