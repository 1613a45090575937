"""The watch of the Workloads of one kind of resource."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import aclosing
from functools import partial
from typing import Final, NamedTuple

from ...core.kubernetes.json_object import JsonObject
from ...core.kueue import state
from ...kube.client import KubeClient
from ...kube.errors import Forbidden, NotFound, ServerError
from ...kube.listwatch import Change, Changed, Listed, Removed
from ...kube.resources import WORKLOADS
from ..objects.cache import ObjectCache, ObjectKey, key_of, trim_workload
from .change_stream import follow_optional, stream_changes

# The definitions or the permission are missing, or the conversion webhook of Kueue does not work.
_FAILURES_OF_KUEUE = (NotFound, Forbidden, ServerError)


class _Digest(NamedTuple):
    """What Kueue and the user have decided about a Workload."""

    is_admitted: bool
    is_evicted: bool
    is_active: bool
    is_being_deleted: bool


_UNDECIDED: Final = _Digest(is_admitted=False, is_evicted=False, is_active=True, is_being_deleted=False)


class WorkloadWatch:
    """Fills a cache with Workloads, and reports the resources for which Kueue has decided something.

    Kueue changes a waiting Workload often. Only changes of the admission, the eviction and the activity are reported,
    and the end of a Workload.

    Args:
        client: The client of the API.
        label: The label that names the resource of a Workload.
        cache: The cache to fill.
        notify: Called with the key of every resource for which something was decided.
    """

    def __init__(self, client: KubeClient, label: str, cache: ObjectCache, notify: Callable[[ObjectKey], None]) -> None:
        self._client = client
        self._label = label
        self._cache = cache
        self._notify = notify
        # A reconcile stores what it reads in the cache, so the cache does not show what was reported.
        self._reported: dict[ObjectKey, _Digest] = {}

    async def run(self, namespace: str | None, known: asyncio.Event) -> None:
        """Watch until cancelled; while the API does not serve the Workloads, try again from time to time.

        The resources without a queue do not wait for the Workloads.

        Args:
            namespace: The namespace. If None, all namespaces are included.
            known: Set after the first list, even if the API answers the list with an error.

        Raises:
            KubeError: The API did not answer the first list, or did not accept the credentials.
        """
        follow = partial(self._follow, namespace, known)
        await follow_optional(follow, "could not watch Workloads of Kueue: %s", namespace, known, _FAILURES_OF_KUEUE)

    async def _follow(self, namespace: str | None, known: asyncio.Event) -> None:
        changes = stream_changes(self._client, WORKLOADS, namespace, trim_workload, self._label)
        async with aclosing(changes) as stream:
            async for change in stream:
                for key in list(self._store(change, namespace)):
                    self._notify(key)
                known.set()

    def _store(self, change: Change, namespace: str | None) -> Iterator[ObjectKey]:
        """Store a change; yield the keys of the resources that it concerns."""
        match change:
            case Changed(document):
                self._cache.put(document)
                yield from self._report(document)
            case Removed(document):
                self._reported.pop(key_of(document), None)
                if self._cache.remove(document):
                    yield from self._find_owner(document)
            case Listed(items):
                yield from self._replace(namespace, items)

    def _replace(self, namespace: str | None, items: list[JsonObject]) -> Iterator[ObjectKey]:
        for document in self._cache.replace(namespace, items):
            key = key_of(document)
            if self._cache.get(key) is None:
                self._reported.pop(key, None)
                yield from self._find_owner(document)
        for item in items:
            yield from self._report(item)

    def _report(self, workload: JsonObject) -> Iterator[ObjectKey]:
        """Yield the resource of a Workload if something was decided since the last report."""
        key, digest = key_of(workload), _digest(workload)
        if digest != self._reported.get(key, _UNDECIDED):
            self._reported[key] = digest
            yield from self._find_owner(workload)

    def _find_owner(self, workload: JsonObject) -> Iterator[ObjectKey]:
        metadata = workload["metadata"]
        name = (metadata.get("labels") or {}).get(self._label)
        if name:
            yield ObjectKey(metadata.get("namespace", ""), name)


def _digest(workload: JsonObject) -> _Digest:
    """Return what Kueue and the user have decided about a Workload."""
    return _Digest(
        state.is_true(workload, state.ADMITTED),
        state.is_true(workload, state.EVICTED),
        state.is_active(workload),
        state.is_being_deleted(workload),
    )
