"""The state that the containers of a pod share."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...api.kinds.documents import JsonObject
from .references import References
from .volumes import PodFolders


@dataclass
class Sandbox:
    """The state that the containers of a pod share.

    Args:
        pod: The pod, with its address in the status.
        references: Looks up the objects that the pod refers to.
        volumes: The volumes of the pod.
        folders: Directories of the volumes.
        root: Directory of the pod.
        logs: Directory of the pod's logs.
        publish: Reports a new state of a container to the API server.
        stopping: Set when the pod must terminate.
        evict: Ends the pod because the node cannot run it any longer; takes the reason as a sentence.
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
        """Wait for a number of seconds, or until the pod must terminate."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.stopping.wait(), seconds)

    def get_container_folder(self, name: str) -> Path:
        """Return the directory of one container."""
        return self.root / "containers" / name

    def get_termination_file(self, name: str) -> Path:
        """Return the path of the container's termination message."""
        return self.get_container_folder(name) / "termination-log"
