"""Runs the StatefulSets of the local cluster."""

import asyncio
from collections.abc import Callable, Iterable

from ..api.kinds.documents import JsonObject
from ..api.kinds.kinds import PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS, Kind
from ..api.kinds.status import ApiStatusError
from ..api.requests.requests import WriteOptions
from ..api.server import resources
from ..api.store.registry import KindRegistry
from ..api.store.store import Store
from ..kubelet.node.recorder import EventRecorder
from .stateful_set import belongs_to, decide

NAME = "statefulset-controller"
_EXPIRED = 410
_RETRY_SECONDS = 1.0

Place = tuple[str, str]
"""Namespace and name of a StatefulSet."""


class StatefulSetController:
    """Creates and deletes the pods of StatefulSets.

    Args:
        store: The cluster's objects; used only on the event loop's thread.
        kinds: The kinds that the cluster serves.
        recorder: Writes events.
    """

    def __init__(self, store: Store, kinds: KindRegistry, recorder: EventRecorder) -> None:
        self._store = store
        self._kinds = kinds
        self._recorder = recorder
        self._pending: dict[Place, None] = {}
        self._arrival = asyncio.Event()

    async def run(self) -> None:
        """Reconcile all StatefulSets until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow(STATEFUL_SETS, lambda item: [_place(item)]))
            tasks.create_task(self._follow(PODS, _list_owners))
            tasks.create_task(self._reconcile_queue())

    async def _follow(self, kind: Kind, places: Callable[[JsonObject], Iterable[Place]]) -> None:
        """Queue every set that may need a reconcile: all at first, then those that changed."""
        while True:
            items, version = self._store.objects.list(kind, None)
            for item in items:
                self._queue_set(places(item))
            subscription = self._store.changes.subscribe(kind, None, version)
            try:
                async for event in subscription:
                    self._queue_set(places(event.current))
            except ApiStatusError as error:
                if error.code != _EXPIRED:
                    raise
            else:
                return  # the store is closed
            finally:
                subscription.close()

    def _queue_set(self, places: Iterable[Place]) -> None:
        for place in places:
            self._pending[place] = None
            self._arrival.set()

    async def _reconcile_queue(self) -> None:
        while True:
            await self._arrival.wait()
            self._arrival.clear()
            while self._pending:
                place = next(iter(self._pending))
                del self._pending[place]
                self._reconcile(*place)
                await asyncio.sleep(0)

    def _reconcile(self, namespace: str, name: str) -> None:
        if not self._store.objects.exists(STATEFUL_SETS, namespace, name):
            return
        stateful_set = self._store.objects.get_shared(STATEFUL_SETS, namespace, name)
        if "deletionTimestamp" in stateful_set["metadata"]:
            return
        pods = [pod for pod in self._store.objects.list_shared(PODS, namespace) if belongs_to(stateful_set, pod)]
        decision = decide(stateful_set, pods)
        for claim in decision.claims:
            if not self._store.objects.exists(PERSISTENT_VOLUME_CLAIMS, namespace, claim["metadata"]["name"]):
                self._create(stateful_set, PERSISTENT_VOLUME_CLAIMS, claim)
        for pod in decision.creations:
            self._create(stateful_set, PODS, pod)
        for each in decision.deletions:
            self._delete(stateful_set, each)
        self._write_status(namespace, name, decision.status)

    def _create(self, stateful_set: JsonObject, kind: Kind, document: JsonObject) -> None:
        namespace, name = _place(stateful_set)
        what = f"Create {document['kind']} {document['metadata']['name']} in StatefulSet {name}"
        served = self._kinds.find(kind.group, kind.versions[0], kind.plural)
        try:
            resources.create(self._store, served, namespace, document, WriteOptions(manager=NAME))
        except ApiStatusError as error:
            self._recorder.record(stateful_set, "FailedCreate", f"{what} failed error: {error}", component=NAME)
            asyncio.get_running_loop().call_later(_RETRY_SECONDS, self._queue_set, [(namespace, name)])
        else:
            self._recorder.record(stateful_set, "SuccessfulCreate", f"{what} successful", component=NAME)

    def _delete(self, stateful_set: JsonObject, pod: str) -> None:
        namespace, name = _place(stateful_set)
        self._store.delete(PODS, namespace, pod)
        message = f"Delete Pod {pod} in StatefulSet {name} successful"
        self._recorder.record(stateful_set, "SuccessfulDelete", message, component=NAME)

    def _write_status(self, namespace: str, name: str, status: JsonObject) -> None:
        if self._store.objects.exists(STATEFUL_SETS, namespace, name):
            self._store.update(
                STATEFUL_SETS, namespace, name, lambda item: item | {"status": status}, subresource="status"
            )


def _place(item: JsonObject) -> Place:
    metadata = item["metadata"]
    return str(metadata["namespace"]), str(metadata["name"])


def _list_owners(pod: JsonObject) -> list[Place]:
    owners = pod["metadata"].get("ownerReferences") or ()
    return [(str(pod["metadata"]["namespace"]), str(each["name"])) for each in owners if each["kind"] == "StatefulSet"]
