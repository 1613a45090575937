"""Keeping the caches up to date, and telling which application or cluster a change concerns."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass

from airflow_provider_spark_operator.core.observation import is_driver
from airflow_provider_spark_operator.kube.backoff import Backoff
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Forbidden, Gone, KubeError, NotFound
from airflow_provider_spark_operator.kube.listwatch import Change, Changed, Listed, Removed, list_and_watch
from airflow_provider_spark_operator.kube.resources import (
    NAMESPACES,
    PODS,
    SPARK_APPLICATIONS,
    SPARK_CLUSTERS,
    ResourceType,
)
from airflow_provider_spark_operator.reconcile.cache import JsonObject, ObjectCache, ObjectKey, key_of
from airflow_provider_spark_operator.reconcile.observe import application_of, pod_selector
from airflow_provider_spark_operator.reconcile.scope import (
    EveryNamespace,
    NamedNamespaces,
    Scope,
    SelectedNamespaces,
)

logger = logging.getLogger(__name__)

_PAUSE_AFTER_REFUSAL = 30.0


@dataclass(frozen=True)
class Caches:
    """What is known of the cluster."""

    applications: ObjectCache
    pods: ObjectCache
    clusters: ObjectCache

    @classmethod
    def empty(cls) -> "Caches":
        """Caches before the first list."""
        return cls(ObjectCache(), ObjectCache(application_of, memorable=is_driver), ObjectCache())


class Informer:
    """Watches the applications, their pods, and the clusters of all namespaces in scope.

    Args:
        client: the way to the API.
        scope: the namespaces.
        operator_name: pods without this operator's label are not even listed.
        caches: what is filled.
        notify: called with the key of every application that a change may concern.
        notify_cluster: the same for clusters.
        inspect: called with every application and cluster as it is shown, managed fields and all.
        persistent: whether a namespace that cannot be listed at first is tried again later, like those that come to
            a selector's, and not an error.
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
        inspect: Callable[[JsonObject], None] | None = None,
        persistent: bool = False,
    ) -> None:
        self._client = client
        self._scope = scope
        self._operator_name = operator_name
        self._caches = caches
        self._notify = notify
        self._notify_cluster = notify_cluster
        self._inspect = inspect
        self._persistent = persistent
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
            KubeError: the first list of a namespace given by name, or of all, was refused or failed.
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
            aclosing(self._changes(NAMESPACES, None, _drop_managed_fields, selector)) as stream,
        ):
            async for change in stream:
                wanted = _names_after(change, set(watches))
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
        # It may be in the middle of a change: only what comes after its end stays forgotten.
        await asyncio.wait([watch])
        self._caches.applications.forget_namespace(namespace)
        self._caches.pods.forget_namespace(namespace)
        self._caches.clusters.forget_namespace(namespace)

    async def _watch_persistently(self, namespace: str | None, filled: asyncio.Event) -> None:
        # One selected namespace that we may not look into must not stop the others.
        while True:
            try:
                await self._watch_namespace(namespace, filled)
            except* KubeError as refusals:
                for refusal in refusals.exceptions:
                    logger.error("namespace is left alone for now: %s", refusal, extra={"namespace": namespace})
            filled.set()
            await asyncio.sleep(_PAUSE_AFTER_REFUSAL)

    async def _watch_namespace(self, namespace: str | None, filled: asyncio.Event) -> None:
        """Watch all kinds; the applications are only handed on when the pods are known as well."""
        async with asyncio.TaskGroup() as group:
            pods_known, applications_known, clusters_known = asyncio.Event(), asyncio.Event(), asyncio.Event()
            group.create_task(self._watch_pods(namespace, pods_known))
            group.create_task(self._watch_applications(namespace, pods_known, applications_known))
            group.create_task(self._watch_clusters(namespace, clusters_known))
            await applications_known.wait()
            await clusters_known.wait()
            filled.set()

    async def _watch_applications(self, namespace: str | None, pods_known: asyncio.Event, known: asyncio.Event) -> None:
        async with aclosing(self._changes(SPARK_APPLICATIONS, namespace, self._take_in)) as stream:
            async for change in stream:
                await pods_known.wait()
                for key in _take(change, self._caches.applications, namespace, key_of):
                    self._notify(key)
                known.set()

    async def _watch_clusters(self, namespace: str | None, known: asyncio.Event) -> None:
        # Who only runs applications need neither define clusters nor grant rights on them.
        while True:
            try:
                await self._follow_clusters(namespace, known)
            except KubeError as error:
                is_refusal = isinstance(error, NotFound | Forbidden)
                if not (is_refusal or known.is_set()):
                    raise
                # A refusal is told once. Anything else at a later look passes, and must not end the rest.
                level = logging.DEBUG if is_refusal and known.is_set() else logging.WARNING
                logger.log(level, "clusters are left alone for now: %s", error, extra={"namespace": namespace})
            known.set()
            await asyncio.sleep(_PAUSE_AFTER_REFUSAL)

    async def _follow_clusters(self, namespace: str | None, known: asyncio.Event) -> None:
        async with aclosing(self._changes(SPARK_CLUSTERS, namespace, self._take_in)) as stream:
            async for change in stream:
                for key in _take(change, self._caches.clusters, namespace, key_of):
                    self._notify_cluster(key)
                known.set()

    def _take_in(self, document: JsonObject) -> None:
        # Before the next page comes: of many resources the managed fields take more memory than all the rest.
        if self._inspect is not None:
            self._inspect(document)
        _drop_managed_fields(document)

    async def _watch_pods(self, namespace: str | None, pods_known: asyncio.Event) -> None:
        selector = pod_selector(self._operator_name)
        async with aclosing(self._changes(PODS, namespace, _drop_managed_fields, selector)) as stream:
            async for change in stream:
                for key in _take(change, self._caches.pods, namespace, application_of):
                    self._notify(key)
                pods_known.set()

    async def _changes(
        self,
        resource: ResourceType,
        namespace: str | None,
        trim: Callable[[JsonObject], object],
        label_selector: str | None = None,
    ) -> AsyncGenerator[Change, None]:
        """`list_and_watch`, for which a first list whose pages outlived their version is no failure either."""
        report, backoff = _reporter(resource, namespace), Backoff()
        while True:
            changes = list_and_watch(
                self._client, resource, namespace, label_selector=label_selector, on_error=report, trim=trim
            )
            try:
                async with aclosing(changes) as stream:
                    async for change in stream:
                        yield change
            except Gone as error:  # only of the first list: the later ones are repeated down there
                report(error)
            await asyncio.sleep(backoff.next())


def _drop_managed_fields(document: JsonObject) -> None:
    document["metadata"].pop("managedFields", None)


def _take(
    change: Change,
    cache: ObjectCache,
    namespace: str | None,
    concerns: Callable[[JsonObject], ObjectKey | None],
) -> set[ObjectKey]:
    """Put a change into the cache; return the keys of the applications it concerns."""
    match change:
        case Changed(document):
            news = [document] if cache.put(document) else []
        case Removed(document):
            news = [document] if cache.remove(document) else []
        case Listed(items):
            news = _replaced(cache, namespace, items)
    return {key for document in news if (key := concerns(document)) is not None}


def _replaced(cache: ObjectCache, namespace: str | None, items: list[JsonObject]) -> list[JsonObject]:
    before = {key: document for key in cache if (document := cache.get(key)) is not None}
    changed = cache.replace(namespace, items)
    return [document for key in changed if (document := cache.get(key) or before.get(key)) is not None]


def _names_after(change: Change, known: set[str]) -> set[str]:
    match change:
        case Listed(items):
            return {item["metadata"]["name"] for item in items}
        case Changed(document):
            return known | {document["metadata"]["name"]}
        case Removed(document):
            return known - {document["metadata"]["name"]}


def _reporter(resource: ResourceType, namespace: str | None) -> Callable[[KubeError], None]:
    def report(error: KubeError) -> None:
        place = namespace or "all namespaces"
        what = resource.qualified_name
        logger.warning("watch of %s in %s interrupted: %s", what, place, error, extra={"namespace": namespace})

    return report
