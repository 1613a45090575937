"""The resources of one of our kinds: what the watches have shown of them, and the ways to change them."""

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import NotFound
from airflow_provider_spark_operator.kube.resources import ResourceType
from airflow_provider_spark_operator.reconcile.arbitration import Claims
from airflow_provider_spark_operator.reconcile.cache import JsonObject, ObjectCache, ObjectKey, key_of
from airflow_provider_spark_operator.reconcile.status import finalizers_patch


class Resources:
    """Reads and writes resources of one kind; what the API answers is taken into the cache.

    Attributes:
        kind: as below.

    Args:
        client: the way to the API.
        kind: SPARK_APPLICATIONS or SPARK_CLUSTERS.
        cache: what the watch has shown.
        finalizer: ours, of that kind.
        claims: which of them are driven by this controller; None where there can be no other one.
    """

    def __init__(
        self,
        client: KubeClient,
        kind: ResourceType,
        cache: ObjectCache,
        finalizer: str,
        claims: Claims | None = None,
    ) -> None:
        self._client = client
        self.kind = kind
        self._cache = cache
        self._finalizer = finalizer
        self._claims = claims

    def get(self, key: ObjectKey) -> JsonObject | None:
        """The newest known state of a resource, None if there is none."""
        resource = self._cache.get(key)
        if resource is None and self._claims is not None:
            self._claims.forget(key)
        return resource

    def is_claimed(self, resource: JsonObject) -> bool:
        """Whether the resource may be driven as it is known; if not, `claim` it first."""
        return self._claims is None or self._claims.cover(resource)

    def is_foreign(self, resource: JsonObject) -> bool:
        """Whether another controller drives the resource, so that it has to be claimed or left alone at once."""
        return self._claims is not None and self._claims.is_foreign(resource)

    async def claim(self, key: ObjectKey) -> None:
        """Read a resource live, and take it over from another controller, or see that none drives it.

        Raises:
            Rivalled: another controller does.
            Conflict: the resource changed meanwhile.
            KubeError: the API failed.
        """
        claims, known = self._claims, self._cache.get(key)
        if claims is not None and known is not None:
            await claims.refuse_foreign(known)
        live = await self.read_again(key)
        if claims is None or live is None:
            return
        former = await claims.find_former(live)
        if former is not None:
            # So that the claim outlives this process, also where nothing else is due.
            await self.patch(live, claims.patch(live))
        claims.take(live, former)

    async def read_again(self, key: ObjectKey) -> JsonObject | None:
        """Read a resource live, with its managed fields; None if it is gone."""
        try:
            live = await self._client.get(self.kind, key.name, key.namespace)
        except NotFound:
            self._cache.forget(key)
            return None
        # The cache drops what is not looked at again.
        self._cache.put_answer({**live, "metadata": {**live["metadata"]}})
        return live

    async def patch(self, resource: JsonObject, patch: JsonObject, *, subresource: str | None = None) -> None:
        """Apply a merge patch; a resource that is gone is forgotten.

        Raises:
            Conflict: a precondition in the patch does not hold.
            KubeError: the API failed.
        """
        key = key_of(resource)
        try:
            answer = await self._client.patch(self.kind, key.name, key.namespace, patch, subresource=subresource)
        except NotFound:
            self._cache.forget(key)
        else:
            self._cache.put_answer(answer)

    async def add_finalizer(self, resource: JsonObject) -> None:
        """Put our finalizer on the resource, if it is still as it was read; errors as `patch`."""
        await self.patch(resource, finalizers_patch(resource, [*_finalizers(resource), self._finalizer]))

    async def remove_finalizer(self, resource: JsonObject) -> None:
        """Take our finalizer off the resource, if it is still as it was read; errors as `patch`."""
        others = [each for each in _finalizers(resource) if each != self._finalizer]
        await self.patch(resource, finalizers_patch(resource, others))

    def holds(self, resource: JsonObject) -> bool:
        """Whether the resource is being deleted and our finalizer is what it waits for."""
        return bool(resource["metadata"].get("deletionTimestamp")) and self._finalizer in _finalizers(resource)


def _finalizers(resource: JsonObject) -> list[str]:
    return list(resource["metadata"].get("finalizers") or ())
