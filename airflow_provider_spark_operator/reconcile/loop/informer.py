"""The watches that update the caches and report changed applications and clusters, for a scope that can change."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import LABEL_APPLICATION_NAME, LABEL_CLUSTER_NAME
from ...kube.client import KubeClient
from ...kube.errors import KubeError
from ...kube.listwatch import Change, Changed, Listed, Removed
from ...kube.resources import NAMESPACES, PODS, SPARK_APPLICATIONS, SPARK_CLUSTERS, ResourceType
from ..objects.cache import (
    ObjectCache,
    ObjectKey,
    drop_managed_fields,
    key_of,
    pack_pod,
    trim_pod,
    trim_resource,
    trim_workload,
    unpack,
)
from ..objects.pod_selectors import LastDrivers, build_pod_selector, get_application_key
from ..objects.scope import EveryNamespace, NamedNamespaces, Scope, SelectedNamespaces, is_covered
from .change_stream import PAUSE_AFTER_REFUSAL, follow_optional, stream_changes
from .workload_watch import WorkloadWatch

logger = logging.getLogger(__name__)

# Enough for the pods that change at the same time.
_MOST_PARSED_PODS = 1_000


@dataclass(frozen=True)
class Caches:
    """The known state of the Kubernetes cluster."""

    applications: ObjectCache
    pods: ObjectCache
    last_drivers: LastDrivers
    clusters: ObjectCache
    application_workloads: ObjectCache
    cluster_workloads: ObjectCache

    @classmethod
    def empty(cls) -> "Caches":
        """Caches before the first list."""
        applications, clusters = (ObjectCache(trim=trim_resource) for _ in range(2))
        last_drivers = LastDrivers(applications)
        pods = ObjectCache(get_application_key, last_drivers.put, trim_pod, _MOST_PARSED_PODS)
        workloads = [ObjectCache(trim=trim_workload) for _ in range(2)]
        return cls(applications, pods, last_drivers, clusters, *workloads)

    def list_all(self) -> tuple[ObjectCache, ...]:
        """Return all caches."""
        return (self.applications, self.pods, self.clusters, self.application_workloads, self.cluster_workloads)


@dataclass(frozen=True)
class _KindWatch:
    """The watch of one kind, which fills a cache.

    Attributes:
        client: The client of the API.
        resource: The kind.
        cache: The cache.
        notify: Called with the key of every resource that a change concerns.
        get_key: Returns the key of the resource that an object concerns, if there is one.
        trim: Removes the parts of an object that nothing reads.
        selector: Selects objects by their labels. None for all objects.
    """

    client: KubeClient
    resource: ResourceType
    cache: ObjectCache
    notify: Callable[[ObjectKey], None]
    get_key: Callable[[JsonObject], ObjectKey | None] = key_of
    trim: Callable[[JsonObject], object] = trim_resource
    selector: str | None = None

    async def follow(self, namespace: str | None, required: Sequence[asyncio.Event], known: asyncio.Event) -> None:
        """Store and report changes until cancelled.

        Args:
            namespace: The namespace. None for all namespaces.
            required: Set when the objects are known without which no change can be reported.
            known: Set after the first list.
        """
        changes = stream_changes(self.client, self.resource, namespace, self.trim, self.selector)
        async with aclosing(changes) as stream:
            async for change in stream:
                for event in required:
                    await event.wait()
                for key in _store(change, self.cache, namespace, self.get_key):
                    self.notify(key)
                known.set()


class Informer:
    """Watches the applications, their pods, and the clusters of all namespaces in scope.

    Args:
        client: The client of the API.
        scope: The namespaces.
        operator_name: The value of the operator's label; pods without it are not listed.
        caches: The caches to fill.
        notify: Called with the key of every application whose state, or whose pod, has changed.
        notify_cluster: Called with the key of every cluster that has changed.
        persistent: Whether to retry a namespace that cannot be listed at first, instead of raising an error.
        kueue: Whether to watch the Workloads of Kueue.
    """

    def __init__(
        self,
        client: KubeClient,
        scope: Scope,
        operator_name: str,
        caches: Caches,
        notify: Callable[[ObjectKey], None],
        notify_cluster: Callable[[ObjectKey], None],
        *,
        persistent: bool = False,
        kueue: bool = False,
    ) -> None:
        self._client = client
        self._scope = scope
        self._caches = caches
        self._persistent = persistent
        self._applications = _KindWatch(client, SPARK_APPLICATIONS, caches.applications, notify)
        self._clusters = _KindWatch(client, SPARK_CLUSTERS, caches.clusters, notify_cluster)
        selector = build_pod_selector(operator_name)
        self._pods = _KindWatch(client, PODS, caches.pods, notify, get_application_key, pack_pod, selector)
        self._workload_watches = _build_workload_watches(client, caches, notify, notify_cluster) if kueue else ()
        self._synced = asyncio.Event()

    @property
    def is_synced(self) -> bool:
        """Whether every cache has been filled once."""
        return self._synced.is_set()

    async def wait_until_synced(self) -> None:
        """Wait until every cache has been filled once."""
        await self._synced.wait()

    async def run(self) -> None:
        """Watch until cancelled.

        Raises:
            KubeError: The first list of a namespace given by name, or of all namespaces, failed.
        """
        match self._scope:
            case NamedNamespaces(names):
                await self._watch_all(names)
            case EveryNamespace():
                await self._watch_all((None,))
            case SelectedNamespaces(selector):
                await self._watch_selected(selector)

    async def _watch_all(self, namespaces: tuple[str | None, ...]) -> None:
        async with asyncio.TaskGroup() as group:
            filled = [asyncio.Event() for _ in namespaces]
            watch = self._watch_persistently if self._persistent else self._watch_namespace
            for namespace, event in zip(namespaces, filled, strict=True):
                group.create_task(watch(namespace, event))
            for event in filled:
                await event.wait()
            self._synced.set()

    async def _watch_selected(self, selector: str) -> None:
        watches: dict[str, asyncio.Task[None]] = {}
        async with (
            asyncio.TaskGroup() as group,
            aclosing(stream_changes(self._client, NAMESPACES, None, drop_managed_fields, selector)) as stream,
        ):
            async for change in stream:
                wanted = _update_names(change, set(watches))
                for name in set(watches) - wanted:
                    await self._leave(name, watches.pop(name))
                filled = {name: asyncio.Event() for name in wanted - set(watches)}
                for name, event in filled.items():
                    watches[name] = group.create_task(self._watch_persistently(name, event))
                if not self._synced.is_set():
                    for event in filled.values():
                        await event.wait()
                    self._synced.set()

    async def _leave(self, namespace: str, watch: "asyncio.Task[None]") -> None:
        watch.cancel()
        # The watch may be processing a change: the caches can be cleared only after it has ended.
        await asyncio.wait([watch])
        for cache in self._caches.list_all():
            cache.forget_namespace(namespace)

    async def _watch_persistently(self, namespace: str | None, filled: asyncio.Event) -> None:
        # A selected namespace without permissions must not stop the others.
        while True:
            try:
                await self._watch_namespace(namespace, filled)
            except* KubeError as refusals:
                for refusal in refusals.exceptions:
                    logger.error(
                        "could not watch the namespace: %s; retrying in %g s",
                        refusal,
                        PAUSE_AFTER_REFUSAL,
                        extra={"namespace": namespace},
                    )
            # Before Python 3.13, a task group that fails while its task is cancelled hides the cancellation.
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise asyncio.CancelledError
            filled.set()
            await asyncio.sleep(PAUSE_AFTER_REFUSAL)

    async def _watch_namespace(self, namespace: str | None, filled: asyncio.Event) -> None:
        """Watch all kinds; resources are reported only when their pods and Workloads are known as well."""
        async with asyncio.TaskGroup() as group:
            pods_known, applications_known, clusters_known = asyncio.Event(), asyncio.Event(), asyncio.Event()
            workloads_known = [asyncio.Event() for _ in self._workload_watches]
            for watch, known in zip(self._workload_watches, workloads_known, strict=True):
                group.create_task(watch.run(namespace, known))
            group.create_task(self._pods.follow(namespace, (), pods_known))
            group.create_task(self._applications.follow(namespace, (pods_known, *workloads_known), applications_known))
            # A user who only runs applications does not need the CRD of clusters or permissions on clusters.
            follow = partial(self._clusters.follow, namespace, workloads_known, clusters_known)
            group.create_task(follow_optional(follow, "could not watch SparkClusters: %s", namespace, clusters_known))
            await applications_known.wait()
            await clusters_known.wait()
            filled.set()


def _build_workload_watches(
    client: KubeClient,
    caches: Caches,
    notify: Callable[[ObjectKey], None],
    notify_cluster: Callable[[ObjectKey], None],
) -> tuple[WorkloadWatch, ...]:
    return (
        WorkloadWatch(client, LABEL_APPLICATION_NAME, caches.application_workloads, notify),
        WorkloadWatch(client, LABEL_CLUSTER_NAME, caches.cluster_workloads, notify_cluster),
    )


def _store(
    change: Change,
    cache: ObjectCache,
    namespace: str | None,
    concerns: Callable[[JsonObject], ObjectKey | None],
) -> set[ObjectKey]:
    """Store a change in the cache; return the keys of the resources it concerns."""
    match change:
        case Changed(received):
            document = unpack(received)
            changed: Iterable[JsonObject] = [document] if cache.put(document) else []
        case Removed(received):
            document = unpack(received)
            changed = [document] if cache.remove(document) else []
        case Listed(items):
            changed = cache.replace(namespace, _take_all(items))
    return {key for document in changed if (key := concerns(document)) is not None}


def _take_all(items: list[JsonObject]) -> Iterator[JsonObject]:
    # The generators of the changes refer to the list until the next change. The cache may have its own copies.
    while items:
        yield unpack(items.pop())


def _update_names(change: Change, known: set[str]) -> set[str]:
    match change:
        case Listed(items):
            return {item["metadata"]["name"] for item in items}
        case Changed(document):
            return known | {document["metadata"]["name"]}
        case Removed(document):
            return known - {document["metadata"]["name"]}


class ScopeWatch:
    """Keeps the caches filled with the resources in scope, with a new informer for each scope.

    Args:
        caches: The caches that the informers fill.
        scope: The first scope.
        build_informer: Builds an informer. Its second argument is the informer's argument `persistent`.
    """

    def __init__(self, caches: Caches, scope: Scope, build_informer: Callable[[Scope, bool], Informer]) -> None:
        self._caches = caches
        self._scope = scope
        self._build_informer = build_informer
        self._informer = build_informer(scope, False)
        self._scope_changed = asyncio.Event()
        self._synced = asyncio.Event()

    @property
    def is_synced(self) -> bool:
        """Whether every cache has been filled once; a change of scope does not reset it."""
        return self._synced.is_set()

    async def wait_until_synced(self) -> None:
        """Wait until every cache has been filled once."""
        await self._synced.wait()

    def rescope(self, scope: Scope) -> None:
        """Watch another scope from now on; resources in both scopes stay in the caches."""
        if scope != self._scope:
            self._scope = scope
            self._scope_changed.set()

    async def run(self) -> None:
        """Watch until cancelled.

        Raises:
            KubeError: The first list of a namespace given by name, or of all namespaces, failed.
        """
        while True:
            async with asyncio.TaskGroup() as group:
                task = group.create_task(self._informer.run())
                await self._informer.wait_until_synced()
                self._synced.set()
                await self._scope_changed.wait()
                task.cancel()
            self._scope_changed.clear()
            self._forget_out_of_scope()
            self._informer = self._build_informer(self._scope, True)

    def _forget_out_of_scope(self) -> None:
        for cache in self._caches.list_all():
            for namespace in {key.namespace for key in cache}:
                if not is_covered(self._scope, namespace):
                    cache.forget_namespace(namespace)
