"""The watch of Workloads, with scripted lists and events."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import LABEL_APPLICATION_NAME
from airflow_provider_spark_operator.kube.collection import ObjectList, WatchEvent
from airflow_provider_spark_operator.reconcile.loop.workload_watch import WorkloadWatch
from airflow_provider_spark_operator.reconcile.objects.cache import ObjectCache, ObjectKey
from tests.core.kueue.workloads import build_condition
from tests.local_api import NAMESPACE
from tests.reconcile.harness import DEADLINE

KEY = ObjectKey(NAMESPACE, "sparkapplication-pi")
PI = ObjectKey(NAMESPACE, "pi")
ADMITTED = build_condition("Admitted")
EVICTED = build_condition("Evicted")


def build_workload(version: int, *conditions: dict[str, str]) -> JsonObject:
    labels = {LABEL_APPLICATION_NAME: "pi"}
    metadata = {**KEY._asdict(), "uid": "1", "resourceVersion": str(version), "labels": labels}
    return {"metadata": metadata, "spec": {}, "status": {"conditions": list(conditions)}}


class ScriptedWatch:
    """An API that lists Workloads, then shows events.

    Args:
        cache: The cache of the watch.
        items: The list.
        events: The events, each the type and the Workload.
        read_early: Whether a reconcile reads each Workload before its event.
    """

    def __init__(
        self,
        cache: ObjectCache,
        items: Sequence[JsonObject],
        events: Sequence[tuple[str, JsonObject]],
        *,
        read_early: bool = False,
    ) -> None:
        self._cache = cache
        self._items = items
        self._events = events
        self._read_early = read_early
        self.ended = asyncio.Event()
        self.links = SimpleNamespace(current=SimpleNamespace(fingerprint=SimpleNamespace(connection="")))

    async def list(self, *_: Any, **__: Any) -> ObjectList:
        return ObjectList(deepcopy(list(self._items)), "1")

    async def watch(self, *_: Any, **__: Any) -> AsyncGenerator[WatchEvent, None]:
        for kind, workload in self._events:
            if self._read_early:
                self._cache.put_answer(deepcopy(workload))
            yield WatchEvent(kind, deepcopy(workload))
        self.ended.set()
        await asyncio.Event().wait()


async def collect_reports(api: ScriptedWatch, cache: ObjectCache) -> list[ObjectKey]:
    """Run a watch until it has processed all events; return the resources that it reported, after the list."""
    reported: list[ObjectKey] = []
    watch = WorkloadWatch(api, LABEL_APPLICATION_NAME, cache, reported.append)  # type: ignore[arg-type]
    task = asyncio.create_task(watch.run(NAMESPACE, asyncio.Event()))
    try:
        await asyncio.wait_for(api.ended.wait(), DEADLINE)
    finally:
        task.cancel()
        await asyncio.wait([task])
    return reported


@pytest.mark.parametrize("read_early", [False, True])
async def test_eviction_is_reported_once_even_if_a_reconcile_has_read_it_before(read_early: bool) -> None:
    cache = ObjectCache()
    events = [("MODIFIED", build_workload(version, ADMITTED, EVICTED)) for version in (3, 4)]
    api = ScriptedWatch(cache, [build_workload(2, ADMITTED)], events, read_early=read_early)
    assert await collect_reports(api, cache) == [PI, PI]  # the admission in the list, and the eviction


async def test_changes_of_a_waiting_workload_are_not_reported() -> None:
    cache = ObjectCache()
    waiting = {**build_condition("QuotaReserved"), "status": "False"}
    events = [("ADDED", build_workload(2)), ("MODIFIED", build_workload(3, waiting))]
    assert await collect_reports(ScriptedWatch(cache, [], events), cache) == []
    assert cache.get(KEY) is not None


async def test_deletion_is_reported_and_a_new_workload_starts_undecided() -> None:
    cache = ObjectCache()
    new = build_workload(4, ADMITTED)
    new["metadata"]["uid"] = "2"
    events = [("DELETED", build_workload(3, ADMITTED)), ("ADDED", new)]
    api = ScriptedWatch(cache, [build_workload(2, ADMITTED)], events)
    assert await collect_reports(api, cache) == [PI, PI, PI]


async def test_workload_that_a_later_list_does_not_contain_is_reported() -> None:
    cache = ObjectCache()
    cache.put(build_workload(2, ADMITTED))
    assert await collect_reports(ScriptedWatch(cache, [], []), cache) == [PI]
    assert cache.get(KEY) is None
