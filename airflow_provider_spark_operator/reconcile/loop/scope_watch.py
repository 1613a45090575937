"""The watch of all namespaces in scope, which can change."""

import asyncio
from collections.abc import Callable

from ..objects.scope import Scope, is_covered
from .informer import Caches, Informer


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
