"""Runs the pods of the local cluster as process groups of this machine."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from pathlib import Path

from ..api.kinds.documents import JsonObject
from ..api.kinds.kinds import NODES, PODS
from ..api.kinds.status import ApiStatusError
from ..api.server.podlogs import LogOptions
from ..api.store.store import Store
from ..api.store.watch import DELETED
from ..clock import utc_now
from .containers.container_log import MAX_FILE_BYTES
from .containers.volumes import remove_folder
from .node.access import ApiAccess
from .node.images import DEFAULT_IMAGES, ImageRule, uses_assigned_ports
from .node.memory import MemoryLimits
from .node.node import MAX_PODS, NODE_NAME, Node, build_node_document
from .node.recorder import EventRecorder
from .node.services import ServiceAddresses
from .pods.logs import read_log
from .pods.pod import PodWorker

_KEPT_LOG_FOLDERS = 100
_STOP_SECONDS = 15.0
_EXPIRED = 410


class Kubelet:
    """The node: runs every pod that is not bound to another node.

    Args:
        store: The cluster's objects; used only on the event loop's thread.
        home: Directory with the directories of pods (`pods`), logs (`logs`) and claims (`claims`).
        api: Access of containers to the API server.
        images: The images that can be run, and the runtime of each.
        max_log_bytes: Size at which the log file of a container is rotated; two files are kept.
        max_pods: Maximum number of pods on the node; further pods wait.
        clock: Returns the current time.
    """

    def __init__(
        self,
        store: Store,
        home: Path,
        api: ApiAccess,
        *,
        images: Sequence[ImageRule] = DEFAULT_IMAGES,
        max_log_bytes: int = MAX_FILE_BYTES,
        max_pods: int = MAX_PODS,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._node = Node(
            store,
            home,
            api,
            images,
            EventRecorder(store, NODE_NAME, clock),
            clock,
            max_log_bytes,
            asyncio.Semaphore(max_pods),
            MemoryLimits(),
            ServiceAddresses(store, lambda container: uses_assigned_ports(container, images)),
        )
        self._max_pods = max_pods
        self._store = store
        self._clock = clock
        self._workers: dict[str, PodWorker] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Run pods until cancelled; then no process of them is left.

        Raises:
            OSError: The home directory is not writable.
        """
        self._node.home.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(ApiStatusError):
            self._store.create(NODES, None, build_node_document(self._clock(), self._max_pods))
        memory = asyncio.create_task(self._node.memory.run(), name="memory limits")
        try:
            while True:
                await self._follow()
        finally:
            await self._stop()
            memory.cancel()
            await asyncio.wait({memory})

    async def read(self, namespace: str, pod: str, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        """Yield the log of a container in pieces; `follow` continues until the container has terminated.

        Raises:
            ApiStatusError: 400 with the message of a kubelet, if the log does not exist (yet).
        """
        found = [item for item in self._workers.values() if (item.namespace, item.name) == (namespace, pod)]
        return read_log(found[-1] if found else None, pod, container, options)

    def find_port(self, namespace: str, pod: str, port: int) -> int:
        """Return the port of this machine on which a pod serves one of its ports."""
        return self._node.services.find_assigned(namespace, pod, port)

    async def _follow(self) -> None:
        """Pass all pods, then every change of a pod, to the workers until the watch has lost changes."""
        pods, version = self._store.objects.list(PODS, None)
        present = {str(pod["metadata"]["uid"]) for pod in pods}
        for uid, worker in list(self._workers.items()):
            if uid not in present:
                worker.stop()
        for pod in pods:
            self._handle_change(pod)
        subscription = self._store.changes.subscribe(PODS, None, version)
        try:
            async for event in subscription:
                if event.type == DELETED:
                    self._handle_deletion(event.current)
                else:
                    self._handle_change(event.current)
        except ApiStatusError as error:
            if error.code != _EXPIRED:
                raise
            return
        finally:
            subscription.close()
        await asyncio.Event().wait()  # the store is closed; running pods continue until the end

    def _handle_change(self, pod: JsonObject) -> None:
        if (pod["spec"].get("nodeName") or NODE_NAME) != NODE_NAME:
            return
        uid = str(pod["metadata"]["uid"])
        if uid not in self._workers:
            worker = PodWorker(self._node, pod)
            self._workers[uid] = worker
            self._tasks[uid] = asyncio.create_task(self._run_pod(worker), name=f"pod {worker.name}")
        self._workers[uid].update(pod)

    def _handle_deletion(self, pod: JsonObject) -> None:
        worker = self._workers.get(str(pod["metadata"]["uid"]))
        if worker:
            worker.stop()

    async def _run_pod(self, worker: PodWorker) -> None:
        try:
            await worker.run()
        finally:
            self._node.recorder.forget(worker.uid)
            self._workers.pop(worker.uid, None)
            self._tasks.pop(worker.uid, None)
        self._drop_old_logs()

    def _drop_old_logs(self) -> None:
        """Keep the logs of a bounded number of deleted pods."""
        folder = self._node.home / "logs"
        running = {
            self._node.log_folder(worker.namespace, worker.name, worker.uid) for worker in self._workers.values()
        }
        with contextlib.suppress(OSError):
            ended = sorted(set(folder.iterdir()) - running, key=lambda path: path.stat().st_mtime)
            for path in ended[:-_KEPT_LOG_FOLDERS]:
                remove_folder(path)

    async def _stop(self) -> None:
        """Kill all pods and wait for their end."""
        tasks = list(self._tasks.values())
        for worker in list(self._workers.values()):
            worker.stop()
        if not tasks:
            return
        _, unfinished = await asyncio.wait(tasks, timeout=_STOP_SECONDS)
        for task in unfinished:
            task.cancel()
        await asyncio.gather(*unfinished, return_exceptions=True)
