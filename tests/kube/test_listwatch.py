import asyncio
import itertools
from collections.abc import AsyncGenerator
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_spark_operator.kube import listwatch
from airflow_provider_spark_operator.kube.backoff import Backoff
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Forbidden, KubeError, ServerError, Unreachable
from airflow_provider_spark_operator.kube.listwatch import Change, Changed, Listed, Removed, list_and_watch
from airflow_provider_spark_operator.kube.resources import PODS
from tests.kube.scripted_api import (
    Answer,
    ScriptedApi,
    answer_page,
    build_error_event,
    build_event,
    deny,
    hang_up,
    refuse,
    stream,
)

POD = {"metadata": {"name": "a", "resourceVersion": "5"}}
OTHER = {"metadata": {"name": "b", "resourceVersion": "20"}}


def follow(client: KubeClient, errors: list[KubeError] | None = None) -> AsyncGenerator[Change, None]:
    on_error = errors.append if errors is not None else None
    backoff = Backoff(first=0.001, longest=0.01)
    return list_and_watch(client, PODS, "jobs", label_selector="x=y", on_error=on_error, backoff=backoff)


async def take(count: int, changes: AsyncGenerator[Change, None]) -> list[str]:
    """Return the next changes in short form: `list a b`, `changed a`, `removed a`."""
    taken: list[str] = []
    async with asyncio.timeout(30), aclosing(changes) as stream:
        async for change in stream:
            taken.append(describe(change))
            if len(taken) == count:
                break
    return taken


def describe(change: Change) -> str:
    match change:
        case Listed(items):
            return " ".join(["list", *(item["metadata"]["name"] for item in items)])
        case Changed(item):
            return f"changed {item['metadata']['name']}"
        case Removed(item):
            return f"removed {item['metadata']['name']}"


def list_watched_versions(api: ScriptedApi) -> list[str]:
    return [seen.query["resourceVersion"] for seen in api.requests if "watch" in seen.query]


async def test_list_comes_first_then_each_change(api: ScriptedApi, client: KubeClient) -> None:
    events = [build_event("ADDED", "b", "11"), build_event("MODIFIED", "a", "12"), build_event("DELETED", "a", "13")]
    api.script(answer_page(POD), stream(*events, hold=True))
    assert await take(4, follow(client)) == ["list a", "changed b", "changed a", "removed a"]
    assert list_watched_versions(api) == ["10"]
    assert {seen.query["labelSelector"] for seen in api.requests} == {"x=y"}


async def test_each_object_is_trimmed(api: ScriptedApi, client: KubeClient) -> None:
    bookmark = build_event("BOOKMARK", "none", "12")
    api.script(
        answer_page({"metadata": {"name": "a", "x": 1}}), stream(build_event("ADDED", "b", "11"), bookmark, hold=True)
    )
    trimmed: list[str] = []

    def trim(document: dict[str, Any]) -> None:
        document["metadata"].pop("x", None)
        trimmed.append(document["metadata"]["name"])

    async with asyncio.timeout(30), aclosing(list_and_watch(client, PODS, "jobs", trim=trim)) as changes:
        listed = await anext(changes)
        assert isinstance(listed, Listed)
        assert listed.items[0]["metadata"] == {"name": "a"}
        await anext(changes)
    assert trimmed == ["a", "b"]


@pytest.mark.parametrize("cut", [True, False], ids=["cut", "ended"])
async def test_stream_resumes_where_it_stopped(api: ScriptedApi, client: KubeClient, *, cut: bool) -> None:
    api.script(
        answer_page(POD),
        stream(build_event("MODIFIED", "a", "12"), build_event("BOOKMARK", version="17"), cut=cut),
        stream(build_event("MODIFIED", "a", "18"), hold=True),
    )
    assert await take(3, follow(client)) == ["list a", "changed a", "changed a"]
    assert list_watched_versions(api) == ["10", "17"]


async def test_every_sign_of_life_is_reported(api: ScriptedApi, client: KubeClient) -> None:
    signs: list[str] = []
    changes = list_and_watch(
        client,
        PODS,
        on_error=lambda error: signs.append("failure"),
        on_alive=lambda: signs.append("life"),
        backoff=Backoff(first=0.001, longest=0.01),
    )
    api.script(
        answer_page(POD),
        *[stream(build_event("BOOKMARK", version="17"), cut=True)] * 2,
        stream(build_event("ADDED", "b", "18")),
    )
    assert await take(2, changes) == ["list a", "changed b"]
    assert signs == ["life", "life", "failure", "life", "failure", "life"]


@pytest.mark.parametrize(
    ("seconds", "sign"), [(0, []), (100, ["life"])], ids=["interrupted at once", "interrupted when idle"]
)
async def test_later_list_is_a_sign_of_life_only_after_a_watch_that_lasted(
    api: ScriptedApi, client: KubeClient, monkeypatch: pytest.MonkeyPatch, seconds: int, sign: list[str]
) -> None:
    clock = itertools.count(step=seconds)
    monkeypatch.setattr(listwatch, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    signs: list[str] = []
    changes = list_and_watch(
        client,
        PODS,
        on_error=lambda error: signs.append("failure"),
        on_alive=lambda: signs.append("life"),
        backoff=Backoff(first=0.001, longest=0.01),
    )
    api.script(
        answer_page(POD), *[stream(cut=True)] * 2, answer_page(POD), stream(build_event("ADDED", "b", "18"), hold=True)
    )
    assert await take(3, changes) == ["list a", "list a", "changed b"]
    assert signs == ["life", "failure", "failure", *sign, "life"]


async def test_watch_rejected_after_long_wait_has_not_lasted(
    api: ScriptedApi, client: KubeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count(step=100)
    monkeypatch.setattr(listwatch, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    signs: list[str] = []
    changes = list_and_watch(
        client,
        PODS,
        on_error=lambda error: signs.append("failure"),
        on_alive=lambda: signs.append("life"),
        backoff=Backoff(first=0.001, longest=0.01),
    )
    refused = refuse(504, "the gateway has waited for too long")
    api.script(answer_page(POD), *[refused, answer_page(POD)] * 2, stream(build_event("ADDED", "b", "18"), hold=True))
    assert await take(4, changes) == ["list a", "list a", "list a", "changed b"]
    assert signs == ["life", "failure", "failure", "life"]


@pytest.mark.parametrize("expired", [stream(build_error_event(410, "Expired")), refuse(410, "old", "Expired")])
async def test_expired_version_is_listed_again(api: ScriptedApi, client: KubeClient, expired: Answer) -> None:
    errors: list[KubeError] = []
    added = stream(build_event("ADDED", "c", "31"), hold=True)
    api.script(answer_page(POD), expired, answer_page(OTHER, version="30"), added)
    assert await take(3, follow(client, errors)) == ["list a", "list b", "changed c"]
    assert list_watched_versions(api) == ["10", "30"]
    assert errors == []


async def test_collection_is_listed_again_after_outage(api: ScriptedApi, client: KubeClient) -> None:
    errors: list[KubeError] = []
    api.script(
        answer_page(POD),
        stream(build_event("MODIFIED", "a", "12"), cut=True),
        hang_up(),
        hang_up(),  # a request without any answer is sent twice
        answer_page(OTHER, version="3"),
        stream(build_event("MODIFIED", "b", "4"), hold=True),
    )
    assert await take(4, follow(client, errors)) == ["list a", "changed a", "list b", "changed b"]
    assert list_watched_versions(api)[-1] == "3"
    assert [type(error) for error in errors] == [Unreachable, Unreachable]


async def test_rejected_first_list_is_raised(api: ScriptedApi, client: KubeClient) -> None:
    api.script(deny("list", "pods"))
    with pytest.raises(Forbidden, match='grant the verb "list" on pods in namespace jobs'):
        await take(1, follow(client, []))


async def test_restored_permission_is_used_again(api: ScriptedApi, client: KubeClient) -> None:
    errors: list[KubeError] = []
    api.script(
        answer_page(POD),
        refuse(403, "no", "Forbidden"),
        refuse(403, "no", "Forbidden"),
        answer_page(OTHER),
        stream(build_event("MODIFIED", "b", "12"), hold=True),
    )
    assert await take(3, follow(client, errors)) == ["list a", "list b", "changed b"]
    assert [(type(error), error.verb) for error in errors] == [(Forbidden, "watch"), (Forbidden, "list")]


async def test_overloaded_server_resumes_at_the_same_version(api: ScriptedApi, client: KubeClient) -> None:
    errors: list[KubeError] = []
    busy = refuse(429, "busy", "TooManyRequests", Retry_After="0")
    api.script(answer_page(POD), busy, busy, stream(build_event("MODIFIED", "a", "12"), hold=True))
    assert await take(2, follow(client, errors)) == ["list a", "changed a"]
    assert list_watched_versions(api) == ["10", "10", "10"]
    assert len(errors) == 2


async def test_error_callback_can_end_the_watch(api: ScriptedApi, client: KubeClient) -> None:
    def give_up(error: KubeError) -> None:
        raise error

    api.script(answer_page(POD), refuse(500, "broken"))
    with pytest.raises(ServerError, match="broken"):
        await take(2, list_and_watch(client, PODS, on_error=give_up))


def test_pauses_grow_up_to_a_limit_and_restart_after_success() -> None:
    backoff = Backoff(first=1.0, longest=8.0)
    pauses = [backoff.next() for _ in range(2000)]
    assert 0.5 <= pauses[0] <= 1.0
    assert all(4.0 <= pause <= 8.0 for pause in pauses[3:])
    backoff.reset()
    assert backoff.next() <= 1.0
