"""The watches of the controller, with a scripted answer for each list."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_spark_operator.kube.collection import ObjectList, WatchEvent
from airflow_provider_spark_operator.kube.errors import (
    Forbidden,
    Gone,
    KubeError,
    NotFound,
    ServerError,
    Unauthorized,
    Unreachable,
)
from airflow_provider_spark_operator.kube.resources import (
    PODS,
    SPARK_APPLICATIONS,
    SPARK_CLUSTERS,
    WORKLOADS,
    ResourceType,
)
from airflow_provider_spark_operator.reconcile.loop import change_stream
from airflow_provider_spark_operator.reconcile.loop.informer import Caches, Informer
from airflow_provider_spark_operator.reconcile.objects.cache import ObjectKey
from airflow_provider_spark_operator.reconcile.objects.scope import NamedNamespaces
from tests.local_api import NAMESPACE
from tests.reconcile.harness import DEADLINE, build_error

CLUSTER = {"metadata": {"namespace": NAMESPACE, "name": "cl", "uid": "1", "resourceVersion": "1"}}
KINDS = pytest.mark.parametrize("kind", [SPARK_APPLICATIONS, PODS, SPARK_CLUSTERS], ids=lambda kind: kind.plural)


class ScriptedLists:
    """Lists of one kind fail as scripted, then return one cluster. Other lists are empty, watches have no events."""

    def __init__(self, kind: ResourceType, failures: Sequence[KubeError]) -> None:
        self._kind = kind
        self._failures = list(failures)
        self.lists: Counter[ResourceType] = Counter()
        self.links = SimpleNamespace(current=SimpleNamespace(fingerprint=SimpleNamespace(connection="")))

    async def list(self, resource: ResourceType, *_: Any, **__: Any) -> ObjectList:
        self.lists[resource] += 1
        if resource == self._kind and self._failures:
            raise self._failures.pop(0)
        return ObjectList([CLUSTER] if resource == SPARK_CLUSTERS else [], "1")

    async def watch(self, *_: Any, **__: Any) -> AsyncGenerator[WatchEvent, None]:
        await asyncio.Event().wait()
        yield WatchEvent("BOOKMARK", {})


async def wait_for_first_cluster(client: ScriptedLists, *, kueue: bool = False) -> ObjectKey:
    """Run an informer; return the first key that it reports."""
    reported: asyncio.Queue[ObjectKey] = asyncio.Queue()
    scope, caches = NamedNamespaces((NAMESPACE,)), Caches.empty()
    notify = reported.put_nowait
    watches = Informer(client, scope, "spark", caches, notify, notify, kueue=kueue)  # type: ignore[arg-type]
    async with asyncio.timeout(DEADLINE), asyncio.TaskGroup() as group:
        running = group.create_task(watches.run())
        await watches.wait_until_synced()
        key = await reported.get()
        running.cancel()
    return key


@pytest.mark.parametrize(
    "refusal", [build_error(NotFound, 404), build_error(Forbidden, 403)], ids=["not defined", "not granted"]
)
@pytest.mark.parametrize(
    "hiccup",
    [
        build_error(Unreachable, None),
        build_error(ServerError, 500),
        build_error(Unauthorized, 401),
        build_error(Gone, 410),
    ],
    ids=lambda error: error.reason,
)
async def test_failed_list_of_clusters_after_the_start_is_retried(
    refusal: KubeError, hiccup: KubeError, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_stream, "PAUSE_AFTER_REFUSAL", 0.01)
    client = ScriptedLists(SPARK_CLUSTERS, [refusal, hiccup, refusal, hiccup])
    assert await wait_for_first_cluster(client) == ObjectKey(NAMESPACE, "cl")


@KINDS
async def test_expired_first_list_is_repeated(kind: ResourceType) -> None:
    client = ScriptedLists(kind, [build_error(Gone, 410)])
    assert await wait_for_first_cluster(client) == ObjectKey(NAMESPACE, "cl")
    assert client.lists == {SPARK_APPLICATIONS: 1, PODS: 1, SPARK_CLUSTERS: 1, kind: 2}


@KINDS
async def test_other_error_of_a_first_list_ends_the_informer(kind: ResourceType) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        await wait_for_first_cluster(ScriptedLists(kind, [build_error(Unreachable, None)]))
    assert caught.group_contains(Unreachable)


@pytest.mark.parametrize(
    "failure",
    [build_error(NotFound, 404), build_error(Forbidden, 403), build_error(ServerError, 500)],
    ids=lambda error: error.reason,
)
async def test_failed_first_list_of_workloads_does_not_delay_other_resources(failure: KubeError) -> None:
    client = ScriptedLists(WORKLOADS, [failure] * 2)
    assert await wait_for_first_cluster(client, kueue=True) == ObjectKey(NAMESPACE, "cl")
    assert client.lists[WORKLOADS] == 2


async def test_first_list_of_workloads_is_retried_after_a_server_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_stream, "PAUSE_AFTER_REFUSAL", 0.01)
    client = ScriptedLists(WORKLOADS, [build_error(ServerError, 500)] * 4)
    scope, caches = NamedNamespaces((NAMESPACE,)), Caches.empty()
    watches = Informer(client, scope, "spark", caches, lambda _: None, lambda _: None, kueue=True)  # type: ignore[arg-type]
    async with asyncio.timeout(DEADLINE), asyncio.TaskGroup() as group:
        running = group.create_task(watches.run())
        while client.lists[WORKLOADS] < 6:  # noqa: ASYNC110 - the lists set no event
            await asyncio.sleep(0.01)
        running.cancel()


async def test_unreachable_workloads_at_the_start_end_the_informer() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        await wait_for_first_cluster(ScriptedLists(WORKLOADS, [build_error(Unreachable, None)]), kueue=True)
    assert caught.group_contains(Unreachable)


async def test_informer_ends_when_a_list_fails_while_it_is_cancelled() -> None:
    listing = asyncio.Event()

    class FailingWhenCancelled(ScriptedLists):
        async def list(self, resource: ResourceType, *_: Any, **__: Any) -> ObjectList:
            listing.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise build_error(Unreachable, None) from None
            raise AssertionError(resource)

    client, scope = FailingWhenCancelled(PODS, []), NamedNamespaces((NAMESPACE,))
    watches = Informer(client, scope, "spark", Caches.empty(), lambda _: None, lambda _: None, persistent=True)  # type: ignore[arg-type]
    running = asyncio.create_task(watches.run())
    await listing.wait()
    running.cancel()
    _, pending = await asyncio.wait([running], timeout=DEADLINE)
    running.cancel()
    assert not pending
