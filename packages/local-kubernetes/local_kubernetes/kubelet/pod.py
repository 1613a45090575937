"""The life of one pod on the node."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime

from local_kubernetes.api.documents import JsonObject
from local_kubernetes.api.kinds import PODS
from local_kubernetes.api.status import ApiStatusError
from local_kubernetes.kubelet.container import Container
from local_kubernetes.kubelet.container_log import ContainerLog
from local_kubernetes.kubelet.node import (
    NO_PLACE,
    NODE_NAME,
    SCHEDULER_NAME,
    Node,
    scheduling_refusal,
)
from local_kubernetes.kubelet.pod_status import (
    FAILED,
    PENDING,
    SUCCEEDED,
    Eviction,
    merged_conditions,
    pod_status,
    scheduled_condition,
    unschedulable_condition,
)
from local_kubernetes.kubelet.references import MissingReference, References
from local_kubernetes.kubelet.restarts import ALWAYS, NEVER, ON_FAILURE, restart_policy
from local_kubernetes.kubelet.restored import begin_anew, give_up, has_begun, restore
from local_kubernetes.kubelet.sandbox import Sandbox
from local_kubernetes.kubelet.states import ContainerRecord, Waiting
from local_kubernetes.kubelet.volumes import (
    PodFolders,
    make_credentials,
    make_volumes,
    remove_folder,
)

_LOG = logging.getLogger(__name__)
_FIRST_RETRY = 0.05
_LAST_RETRY = 1.0
_TELL_AFTER = 0.5
_DEADLINE = Eviction("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")


class PodWorker:
    """Runs a pod until it is gone.

    Args:
        node: what all pods share.
        pod: the pod, not yet on a node or on this one.
    """

    def __init__(self, node: Node, pod: JsonObject) -> None:
        metadata, spec = pod["metadata"], pod["spec"]
        self.namespace = str(metadata["namespace"])
        self.name = str(metadata["name"])
        self.uid = str(metadata["uid"])
        self._node = node
        self._pod = pod
        self._policy = str(spec.get("restartPolicy") or ALWAYS)
        self._init = [self._init_container(item) for item in spec.get("initContainers") or ()]
        first = Waiting("PodInitializing" if self._init else "ContainerCreating")
        self._main = [self._container(item, self._policy, first) for item in spec.get("containers") or ()]
        self._bound = asyncio.Event()
        self._ending = asyncio.Event()
        self._deletion = asyncio.Event()
        self._gone = asyncio.Event()
        self._eviction: Eviction | None = None
        self._has_place = False
        self._volumes_made = False
        self._kill_timer: asyncio.TimerHandle | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._root = node.pod_folder(self.uid)
        self._logs = node.log_folder(self.namespace, self.name, self.uid)
        self._restore()

    async def run(self) -> None:
        """Live the pod's life, and delete the pod's object where that was asked for; ends when it is gone."""
        try:
            if not _has_ended(self._pod) and await self._placed():
                await self._live()
        except Exception as error:
            _LOG.exception("pod %s/%s: the node failed to run it", self.namespace, self.name)
            self._evict(Eviction("NodeFailure", f"the local node failed to run the pod: {error}"))
        finally:
            for container in self._containers:
                container.kill()
            for timer in (self._kill_timer, self._deadline):
                if timer:
                    timer.cancel()
            if self._has_place:
                self._node.places.release()
            remove_folder(self._root)
        await self._deletion.wait()
        self._let_go()
        await self._gone.wait()

    def changed(self, pod: JsonObject) -> None:
        """The pod's object has changed: it may have been bound, or be meant to end."""
        self._pod = pod
        metadata = pod["metadata"]
        if pod["spec"].get("nodeName"):
            self._bound.set()
        self._set_deadline()
        if "deletionTimestamp" in metadata:
            self._deletion.set()
            self._end(float(metadata.get("deletionGracePeriodSeconds") or 0))

    def vanished(self) -> None:
        """The pod's object is gone, or the node is to stop: end at once."""
        self._gone.set()
        self._deletion.set()
        self._end(0.0)

    def record(self, container: str) -> ContainerRecord | None:
        """What is known of a container; None if the pod has none of that name."""
        return next((item.record for item in self._containers if item.record.name == container), None)

    def log(self, container: str, *, previous: bool = False) -> ContainerLog | None:
        """The log of a container's present or last (or previous) run; None if there was none."""
        named = [item for item in self._containers if item.record.name == container]
        if not named:
            return None
        return named[0].previous_log if previous else named[0].log

    @property
    def _containers(self) -> Sequence[Container]:
        return (*self._init, *self._main)

    def _init_container(self, spec: JsonObject) -> Container:
        sidecar = spec.get("restartPolicy") == ALWAYS
        default = NEVER if self._policy == NEVER else ON_FAILURE
        return self._container(spec, default, Waiting("PodInitializing"), sidecar=sidecar)

    def _container(self, spec: JsonObject, default: str, state: Waiting, *, sidecar: bool = False) -> Container:
        policy = restart_policy(spec, default)
        record = ContainerRecord(str(spec["name"]), str(spec.get("image")), state, sidecar=sidecar, policy=policy)
        return Container(self._node, spec, record)

    async def _placed(self) -> bool:
        """Place the pod on the node, as far as that is for this scheduler; False if it ends without a place."""
        if self._pod["spec"].get("nodeName"):
            return True
        if (self._pod["spec"].get("schedulerName") or SCHEDULER_NAME) != SCHEDULER_NAME:
            await self._bound.wait()
            return not self._ending.is_set()
        refusal = scheduling_refusal(self._pod)
        if refusal:
            self._write_condition(unschedulable_condition(refusal, self._node.clock()))
            self._event("FailedScheduling", refusal, component=SCHEDULER_NAME)
            await self._ending.wait()
            return False
        if not await self._found_place():
            return False
        self._bind()
        return not self._ending.is_set()

    async def _found_place(self) -> bool:
        """Wait for one of the node's places, if all are taken; False if the pod ends without one."""
        places = self._node.places
        if places.locked():
            self._write_condition(unschedulable_condition(NO_PLACE, self._node.clock()))
            self._event("FailedScheduling", NO_PLACE, component=SCHEDULER_NAME)
        acquiring = asyncio.ensure_future(places.acquire())
        ending = asyncio.ensure_future(self._ending.wait())
        try:
            await asyncio.wait({acquiring, ending}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ending.cancel()
            self._has_place = acquiring.done() or not acquiring.cancel()
        return self._has_place

    def _bind(self) -> None:
        def bound(pod: JsonObject) -> JsonObject:
            pod["spec"]["nodeName"] = NODE_NAME
            return pod

        try:
            if self._node.store.get(PODS, self.namespace, self.name)["metadata"]["uid"] == self.uid:
                self._pod = self._node.store.update(PODS, self.namespace, self.name, bound)
        except ApiStatusError:
            return
        self._write_condition(scheduled_condition(self._node.clock()))
        message = f"Successfully assigned {self.namespace}/{self.name} to {NODE_NAME}"
        self._event("Scheduled", message, component=SCHEDULER_NAME)

    async def _live(self) -> None:
        """Run the init containers one after the other, then the containers; sidecars beside both."""
        self._publish()
        self._set_deadline()
        if self._lost():
            return
        for container in self._init:  # after a restart of the node they are all run again
            begin_anew(container.record)
        sandbox = await self._sandbox()
        if sandbox is None:
            return
        sidecars: list[asyncio.Task[None]] = []
        try:
            if not await self._initialized(sandbox, sidecars):
                return
            for container in self._main:
                if container.record.state == Waiting("PodInitializing"):
                    container.record.state = Waiting("ContainerCreating")
            await asyncio.gather(*(container.run(sandbox) for container in self._main))
        finally:
            await self._end_sidecars(sidecars)

    async def _initialized(self, sandbox: Sandbox, sidecars: list[asyncio.Task[None]]) -> bool:
        for container in self._init:
            if container.record.sidecar:
                sidecars.append(asyncio.ensure_future(container.run(sandbox)))
                await container.begun.wait()
            else:
                await container.run(sandbox)
                if not container.record.succeeded:
                    return False
            if self._ending.is_set():
                return False
        return True

    async def _end_sidecars(self, sidecars: Sequence[asyncio.Task[None]]) -> None:
        if not sidecars:
            return
        for container in self._init:
            if container.record.sidecar:
                container.terminate()
        if not self._kill_timer:
            self._kill_after(float(self._pod["spec"].get("terminationGracePeriodSeconds") or 30))
        await asyncio.gather(*sidecars)

    async def _sandbox(self) -> Sandbox | None:
        """Make the pod's volumes, waiting for what they are made of; None if the pod is to end."""
        references = References(self._node.store, self.namespace)
        claims = self._node.claims_folder / self.namespace
        folders = PodFolders(self._root / "volumes", claims, self._root / "credentials")
        sandbox = Sandbox(
            self._pod,
            references,
            {},
            folders,
            self._root,
            self._logs,
            self._publish,
            self._run_out_of_disk,
            self._ending,
        )
        retry = waited = _FIRST_RETRY
        while not self._ending.is_set():
            try:
                make_credentials(folders.credentials, self._node.api, self.namespace)
                sandbox.volumes = make_volumes(self._pod, references, folders)
            except MissingReference as error:
                if waited > _TELL_AFTER:  # a driver's config map regularly comes after its pod
                    self._event("FailedMount", f"MountVolume.SetUp failed: {error}")
            except OSError as error:
                self._run_out_of_disk(f"cannot write {error.filename or self._root}: {error.strerror or error}")
            else:
                self._volumes_made = True
                self._publish()
                return sandbox
            await sandbox.pause(retry)
            waited += retry
            retry = min(retry * 2, _LAST_RETRY)
        return None

    def _end(self, grace: float) -> None:
        """Ask all containers to end, and kill them after a grace period in seconds; a shorter one may follow."""
        if not self._ending.is_set():
            self._ending.set()
            self._bound.set()
            if any(container.record.running for container in self._containers):
                self._event("Killing", "Stopping the containers of the pod")
            for container in self._main:
                container.terminate()
            for container in self._init:
                if not container.record.sidecar:
                    container.terminate()
        self._kill_after(grace)

    def _kill_after(self, seconds: float) -> None:
        """Kill all containers in `seconds`, or earlier where that was decided before."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        # Every change of a deleted pod names its whole grace period again.
        if self._kill_timer and seconds > 0 and self._kill_timer.when() <= end:
            return
        if self._kill_timer:
            self._kill_timer.cancel()
        if seconds > 0:
            self._kill_timer = loop.call_at(end, self._kill)
        else:
            self._kill()

    def _kill(self) -> None:
        for container in self._containers:
            container.kill()

    def _run_out_of_disk(self, message: str) -> None:
        message = f"The node was low on resource: ephemeral-storage. {message}."
        self._evict(Eviction("Evicted", message))

    def _evict(self, eviction: Eviction, grace: float = 0.0) -> None:
        """End the pod because the node cannot, or is not to, go on with it."""
        if self._eviction is None:
            self._eviction = eviction
            self._event(eviction.reason, eviction.message)
            self._end(grace)
            self._publish()

    def _set_deadline(self) -> None:
        """End the pod when it has been active for as long as it may."""
        seconds = self._pod["spec"].get("activeDeadlineSeconds")
        started = (self._pod.get("status") or {}).get("startTime")
        if seconds is None or started is None or self._ending.is_set():
            return
        if self._deadline:
            self._deadline.cancel()
        left = seconds - (self._node.clock() - datetime.fromisoformat(started)).total_seconds()
        self._deadline = asyncio.get_running_loop().call_later(max(left, 0), self._exceed_deadline)

    def _exceed_deadline(self) -> None:
        self._evict(_DEADLINE, float(self._pod["spec"].get("terminationGracePeriodSeconds") or 0))

    def _restore(self) -> None:
        """Take over what an earlier life of the node has written of the pod."""
        status, now = self._pod.get("status") or {}, self._node.clock()
        known = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
        by_name = {str(item["name"]): item for item in known}
        for container in self._containers:
            if container.record.name in by_name:
                restore(container.record, by_name[container.record.name], now)
                container.find_log(self._logs)

    def _lost(self) -> bool:
        """Whether the pod ends because its containers went down with the node, and are not started again."""
        records = [container.record for container in self._main]
        if any(record.policy.can_restart for record in records) or not any(has_begun(record) for record in records):
            return False
        for container in self._containers:
            give_up(container.record, self._node.clock())
        self._publish()
        return True

    def _let_go(self) -> None:
        """Delete the pod's object, whose containers have ended."""
        if self._gone.is_set():
            return
        try:
            self._node.store.delete(PODS, self.namespace, self.name, grace_seconds=0, uid=self.uid)
        except ApiStatusError:
            self._gone.set()

    def _publish(self) -> None:
        """Write the pod's status; a node that stops leaves it as it is, as one does that crashes."""
        if self._gone.is_set():
            return
        records = [container.record for container in self._init]
        main = [container.record for container in self._main]

        def with_status(pod: JsonObject) -> JsonObject:
            now, made = self._node.clock(), self._volumes_made
            return pod | {"status": pod_status(pod, records, main, now, self._eviction, volumes_made=made)}

        self._write_status(with_status)

    def _write_condition(self, condition: JsonObject) -> None:
        def with_condition(pod: JsonObject) -> JsonObject:
            status = pod.get("status") or {}
            conditions = merged_conditions(status.get("conditions") or (), [condition])
            return pod | {"status": {"phase": PENDING} | status | {"conditions": conditions}}

        self._write_status(with_condition)

    def _write_status(self, change: Callable[[JsonObject], JsonObject]) -> None:
        store = self._node.store
        try:
            if store.get(PODS, self.namespace, self.name)["metadata"]["uid"] == self.uid:
                self._pod = store.update(PODS, self.namespace, self.name, change, subresource="status")
        except ApiStatusError:
            return  # the pod is gone; the watch will say so

    def _event(self, reason: str, message: str, *, component: str = "kubelet") -> None:
        self._node.recorder.record(self._pod, reason, message, component=component)


def _has_ended(pod: JsonObject) -> bool:
    return (pod.get("status") or {}).get("phase") in (SUCCEEDED, FAILED)
