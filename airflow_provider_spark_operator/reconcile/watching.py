"""Watching what is in scope, while the scope may change."""

import asyncio
from collections.abc import Callable

from airflow_provider_spark_operator.reconcile.informer import Caches, Informer
from airflow_provider_spark_operator.reconcile.scope import Scope, is_covered


class Watching:
    """Keeps the caches filled with what is in scope: one informer after the other, one for each scope.

    Args:
        caches: what the informers fill.
        scope: the first.
        informer: makes one; its second argument says that it is to try again what cannot be listed at first.
    """

    def __init__(self, caches: Caches, scope: Scope, informer: Callable[[Scope, bool], Informer]) -> None:
        self._caches = caches
        self._scope = scope
        self._make = informer
        self._informer = informer(scope, False)
        self._rescoped = asyncio.Event()
        self._synced = asyncio.Event()

    @property
    def is_synced(self) -> bool:
        """Whether every cache has been filled once; a change of scope makes no difference."""
        return self._synced.is_set()

    async def wait_until_synced(self) -> None:
        """Wait until every cache has been filled once."""
        await self._synced.wait()

    def rescope(self, scope: Scope) -> None:
        """Watch this instead; what is there already and stays in scope is not forgotten meanwhile."""
        if scope != self._scope:
            self._scope = scope
            self._rescoped.set()

    async def run(self) -> None:
        """Watch until cancelled.

        Raises:
            KubeError: the first list of a namespace given by name, or of all, was refused or failed.
        """
        while True:
            async with asyncio.TaskGroup() as group:
                task = group.create_task(self._informer.run())
                await self._informer.wait_until_synced()
                self._synced.set()
                await self._rescoped.wait()
                task.cancel()
            self._rescoped.clear()
            self._forget_what_is_out_of_scope()
            self._informer = self._make(self._scope, True)

    def _forget_what_is_out_of_scope(self) -> None:
        for cache in (self._caches.applications, self._caches.pods, self._caches.clusters):
            for namespace in {key.namespace for key in cache}:
                if not is_covered(self._scope, namespace):
                    cache.forget_namespace(namespace)
