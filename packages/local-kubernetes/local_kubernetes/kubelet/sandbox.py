"""What the containers of a pod share."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from local_kubernetes.api.documents import JsonObject
from local_kubernetes.kubelet.references import References
from local_kubernetes.kubelet.volumes import PodFolders


@dataclass
class Sandbox:
    """What the containers of a pod share.

    Args:
        pod: the pod, with its address in the status.
        references: where to look up what it refers to.
        volumes: its volumes.
        folders: where its volumes are made.
        root: its folder.
        logs: the folder of its logs.
        publish: tells the API of a container's new state.
        stopping: set when the pod is to end.
        evict: ends the pod because the node cannot go on with it; takes the sentence why.
    """

    pod: JsonObject
    references: References
    volumes: Mapping[str, Path]
    folders: PodFolders
    root: Path
    logs: Path
    publish: Callable[[], None]
    evict: Callable[[str], None]
    stopping: asyncio.Event

    async def pause(self, seconds: float) -> None:
        """Wait so long, or until the pod is to end."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.stopping.wait(), seconds)

    def container_folder(self, name: str) -> Path:
        """The folder of one container."""
        return self.root / "containers" / name

    def termination_file(self, name: str) -> Path:
        """Where a container leaves its termination message."""
        return self.container_folder(name) / "termination-log"
