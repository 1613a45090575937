"""The lifecycle of one pod on the node."""

import asyncio
import contextlib
import logging

from ...api.kinds.documents import JsonObject
from ..containers.container import Container
from ..containers.references import MissingReference, References
from ..containers.sandbox import Sandbox
from ..containers.volumes import PodFolders, make_credentials, make_volumes, refresh_volumes, remove_folder
from ..node.node import Node
from ..node.pod_status import FAILED, SUCCEEDED, Eviction
from .placement import Placement
from .pod_containers import PodContainers
from .pod_object import PodObject
from .status_writer import StatusWriter
from .termination import Termination

_LOG = logging.getLogger(__name__)
_FIRST_RETRY = 0.05
_LAST_RETRY = 1.0
_REPORT_AFTER = 0.5


class PodWorker:
    """Runs one pod until its object is deleted.

    The worker decides the order of the steps. `Placement` finds the pod a place on the node, `PodContainers` runs the
    containers, `StatusWriter` reports them, `Termination` ends them, and `PodObject` writes to the API server.

    Args:
        node: State that all pods of the node share.
        pod: The pod, bound to this node or not bound yet.
    """

    def __init__(self, node: Node, pod: JsonObject) -> None:
        self._node = node
        self._pod = PodObject(node, pod)
        self.namespace, self.name, self.uid = self._pod.namespace, self._pod.name, self._pod.uid
        self._root = node.get_pod_folder(self.uid)
        self._logs = node.log_folder(self.namespace, self.name, self.uid)
        self._containers = PodContainers(node, pod["spec"])
        self._status = StatusWriter(self._pod, self._containers, node.clock)
        self._termination = Termination(self._pod, self._containers, self._status, node.clock)
        self._placement = Placement(node, self._pod, self._termination.requested)
        self._deletion = asyncio.Event()
        self._sandbox: Sandbox | None = None  # while the pod has its folders
        self._shown = _select_shown_fields(pod)
        self._containers.restore(pod.get("status") or {}, self._logs, node.clock())

    async def run(self) -> None:
        """Place the pod and run its containers; then wait for its deletion, and delete its object."""
        try:
            if not _is_finished(self._pod.document) and await self._placement.acquire():
                await self._run_containers()
        except Exception as error:
            _LOG.exception("failed to run pod %s/%s", self.namespace, self.name)
            self._termination.evict(Eviction("NodeFailure", f"the local node failed to run the pod: {error}"))
        finally:
            self._containers.kill()
            self._termination.cancel_timers()
            self._placement.release()
            self._sandbox = None
            remove_folder(self._root)
        await self._deletion.wait()
        self._pod.delete()
        await self._pod.gone.wait()

    def update(self, pod: JsonObject) -> None:
        """Follow a change of the pod's object, such as its binding or the start of its deletion.

        Args:
            pod: The new version of the pod.
        """
        self._pod.document = pod
        metadata = pod["metadata"]
        self._refresh_volumes()
        self._termination.start_deadline()
        if "deletionTimestamp" in metadata:
            self._deletion.set()
            self._termination.request(float(metadata.get("deletionGracePeriodSeconds") or 0))

    def stop(self) -> None:
        """End the pod at once, because its object no longer exists or the node stops."""
        self._pod.gone.set()
        self._deletion.set()
        self._termination.request(0.0)

    def find_container(self, name: str) -> Container | None:
        """Return the container of this name; None if the pod has none."""
        return self._containers.find(name)

    async def _run_containers(self) -> None:
        """Run the containers of a pod that is bound to the node."""
        self._status.publish()
        self._termination.start_deadline()
        if self._containers.are_lost:
            self._containers.give_up(self._node.clock())
            self._status.publish()
            return
        self._containers.reset_init()
        sandbox = self._sandbox = self._build_sandbox()
        if not await self._make_volumes(sandbox):
            return
        try:
            await self._containers.run(sandbox)
        finally:
            await self._termination.finish_sidecars()

    def _build_sandbox(self) -> Sandbox:
        """Return the state that the containers share, still without volumes."""
        claims = self._node.claims_folder / self.namespace
        return Sandbox(
            pod=self._pod.document,
            references=References(self._node.store, self.namespace),
            volumes={},
            folders=PodFolders(self._root / "volumes", claims, self._node.home / "credentials" / self.namespace),
            root=self._root,
            logs=self._logs,
            publish=self._status.publish,
            evict=self._evict_for_disk,
            stopping=self._termination.requested,
        )

    async def _make_volumes(self, sandbox: Sandbox) -> bool:
        """Create the volumes once their objects exist; return False if the pod must terminate before."""
        folders = sandbox.folders
        retry = waited = _FIRST_RETRY
        while not self._termination.requested.is_set():
            try:
                make_credentials(folders.credentials, self._node.api, self.namespace)
                sandbox.volumes = make_volumes(self._pod.document, sandbox.references, folders)
            except MissingReference as error:
                if waited > _REPORT_AFTER:  # clients often create a pod before its ConfigMap
                    self._pod.record_event("FailedMount", f"MountVolume.SetUp failed: {error}")
            except OSError as error:
                self._evict_for_disk(f"cannot write {error.filename or self._root}: {error.strerror or error}")
            else:
                self._status.volumes_made = True
                self._status.publish()
                return True
            await sandbox.pause(retry)
            waited += retry
            retry = min(retry * 2, _LAST_RETRY)
        return False

    def _refresh_volumes(self) -> None:
        """Show the new labels and annotations of the pod in the volumes of its containers."""
        # A write of the status may have replaced the document before this change arrived.
        shown, self._shown = self._shown, _select_shown_fields(self._pod.document)
        if shown != self._shown and self._status.volumes_made and self._sandbox is not None:
            with contextlib.suppress(MissingReference, OSError):
                refresh_volumes(self._pod.document, self._sandbox.references, self._sandbox.folders)

    def _evict_for_disk(self, message: str) -> None:
        message = f"The node was low on resource: ephemeral-storage. {message}."
        self._termination.evict(Eviction("Evicted", message))


def _is_finished(pod: JsonObject) -> bool:
    return (pod.get("status") or {}).get("phase") in (SUCCEEDED, FAILED)


def _select_shown_fields(pod: JsonObject) -> list[object]:
    """Return the fields of a pod that volumes show and that can change."""
    return [pod["metadata"].get(field) for field in ("labels", "annotations")]
