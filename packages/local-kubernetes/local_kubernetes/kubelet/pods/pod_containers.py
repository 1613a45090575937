"""The containers of one pod, and the order in which they run."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from ...api.kinds.documents import JsonObject
from ..containers.container import Container
from ..containers.restoration import begin_anew, give_up, has_begun, restore
from ..containers.sandbox import Sandbox
from ..node.node import Node
from ..node.restarts import ALWAYS, NEVER, ON_FAILURE, ContainerRestartPolicy
from ..node.states import ContainerRecord, Waiting

_INITIALIZING = Waiting("PodInitializing")
_CREATING = Waiting("ContainerCreating")


class PodContainers:
    """The containers of one pod.

    Sidecars are init containers that run until the main containers have terminated.

    Args:
        node: State that all pods of the node share.
        spec: The pod's specification.
    """

    def __init__(self, node: Node, spec: JsonObject) -> None:
        policy = str(spec.get("restartPolicy") or ALWAYS)
        init_policy = NEVER if policy == NEVER else ON_FAILURE
        self._init = [
            _build_container(node, item, init_policy, _INITIALIZING, sidecar=item.get("restartPolicy") == ALWAYS)
            for item in spec.get("initContainers") or ()
        ]
        first = _INITIALIZING if self._init else _CREATING
        self._main = [_build_container(node, item, policy, first) for item in spec.get("containers") or ()]
        self._sidecar_runs: list[asyncio.Task[None]] = []

    @property
    def init_records(self) -> Sequence[ContainerRecord]:
        """The records of the init containers."""
        return [container.record for container in self._init]

    @property
    def main_records(self) -> Sequence[ContainerRecord]:
        """The records of the main containers."""
        return [container.record for container in self._main]

    @property
    def are_running(self) -> bool:
        """Whether any container is running."""
        return any(container.record.running for container in self._all)

    @property
    def are_lost(self) -> bool:
        """Whether the containers ran when the node went down, and no restart policy starts them again."""
        records = self.main_records
        return any(has_begun(record) for record in records) and not any(record.policy.can_restart for record in records)

    @property
    def has_sidecar_runs(self) -> bool:
        """Whether `run` started any sidecars."""
        return bool(self._sidecar_runs)

    def find(self, name: str) -> Container | None:
        """Return the container of this name; None if the pod has none."""
        return next((container for container in self._all if container.record.name == name), None)

    def restore(self, status: JsonObject, logs: Path, now: datetime) -> None:
        """Restore what the node recorded of the containers before it was restarted.

        Args:
            status: The pod's status.
            logs: The folder of the pod's logs.
            now: The current time.
        """
        recorded = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
        by_name = {str(item["name"]): item for item in recorded}
        for container in self._all:
            if container.record.name in by_name:
                restore(container.record, by_name[container.record.name], now)
                container.restore_log(logs)

    def give_up(self, now: datetime) -> None:
        """Mark every container that has not terminated as lost."""
        for container in self._all:
            give_up(container.record, now)

    def reset_init(self) -> None:
        """Let all init containers run again, as Kubernetes does after a restart of the node."""
        for container in self._init:
            begin_anew(container.record)

    async def run(self, sandbox: Sandbox) -> None:
        """Run the init containers one after the other, then the main containers together.

        Sidecars still run afterwards: see `terminate_sidecars` and `wait_for_sidecars`.

        Args:
            sandbox: State that the containers of the pod share.
        """
        if not await self._run_init(sandbox):
            return
        for container in self._main:
            if container.record.state == _INITIALIZING:
                container.record.state = _CREATING
        await asyncio.gather(*(container.run(sandbox) for container in self._main))

    def terminate(self) -> None:
        """Ask all containers but the sidecars to terminate."""
        for container in self._all:
            if not container.record.sidecar:
                container.terminate()

    def terminate_sidecars(self) -> None:
        """Ask the sidecars to terminate."""
        for container in self._init:
            if container.record.sidecar:
                container.terminate()

    async def wait_for_sidecars(self) -> None:
        """Wait until the sidecars have terminated."""
        await asyncio.gather(*self._sidecar_runs)

    def kill(self) -> None:
        """Kill all containers."""
        for container in self._all:
            container.kill()

    @property
    def _all(self) -> Sequence[Container]:
        return (*self._init, *self._main)

    async def _run_init(self, sandbox: Sandbox) -> bool:
        """Run the init containers; return False if one failed or the pod must terminate."""
        for container in self._init:
            if container.record.sidecar:
                self._sidecar_runs.append(asyncio.ensure_future(container.run(sandbox)))
                await container.begun.wait()
            else:
                await container.run(sandbox)
                if not container.record.succeeded:
                    return False
            if sandbox.stopping.is_set():
                return False
        return True


def _build_container(
    node: Node, spec: JsonObject, default_policy: str, state: Waiting, *, sidecar: bool = False
) -> Container:
    policy = ContainerRestartPolicy(str(spec.get("restartPolicy") or default_policy))
    record = ContainerRecord(str(spec["name"]), str(spec.get("image")), state, sidecar=sidecar, policy=policy)
    return Container(node, spec, record)
