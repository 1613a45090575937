"""The interface that replaces the software of an image, and the runtime that uses this machine's programs."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ...api.kinds.documents import JsonObject
from .access import ApiAccess


class PathMap:
    """Rewrites a container's paths in a text to paths of this machine.

    Args:
        folders: The file or directory for each mount path in the container.
    """

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self._folders = {"/" + path.strip("/"): str(folder) for path, folder in folders.items()}
        # The longest path comes first, because a mount can be inside another one. A path does not begin after a
        # character of a name or path (so not in s3a://bucket/data), except after the slashes of a scheme
        # (file:///data).
        paths = "|".join(re.escape(path) for path in sorted(self._folders, key=len, reverse=True))
        self._pattern = re.compile(rf"(?:(?<![\w./~}}-])|(?<=://))(?:{paths})(?![\w.-])") if paths else None

    def rewrite(self, text: str) -> str:
        """Return the text with this machine's paths."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: self._folders[match.group()], text)

    def overlay(self, folders: Mapping[str, Path]) -> "PathMap":
        """Return a copy with more directories, which take precedence."""
        own = {path: Path(folder) for path, folder in self._folders.items()}
        return PathMap(own | {"/" + path.strip("/"): folder for path, folder in folders.items()})


class StartError(Exception):
    """A container could not be started; the message is its `message` in the pod's status."""


@dataclass(frozen=True)
class ContainerFolders:
    """The folders of one container on this machine.

    Args:
        work: Directory in which the command starts if the pod names no other; the container's HOME.
        scratch: Directory for temporary files; the container's TMPDIR.
        credentials: Directory with the files `token` and `ca.crt` of the pod's service account.
        cache: Directory of the cluster, not of the container: it outlives all pods. It may not exist yet.
    """

    work: Path
    scratch: Path
    credentials: Path
    cache: Path


@dataclass(frozen=True)
class ContainerSetup:
    """One container, as a runtime receives it.

    Args:
        pod: The pod, with its address in the status.
        command: The container's `command` with variables replaced, with the container's paths.
        arguments: The container's `args` with variables replaced, with the container's paths.
        environment: The container's variables, with this machine's paths.
        folders: The container's folders.
        directory: Directory in which the command starts.
        owns_directory: Whether the directory belongs to the pod and is deleted with it. Otherwise, it is the user's.
        paths: The paths of the container, and what stands for them on this machine.
        api: How the container reaches the API server.
        resolve: Replaces the addresses of services in a text, in the namespace of the pod.
        assign_port: Returns the free port that stands for a port of the pod. Services and `pods/proxy` lead to it.
    """

    pod: JsonObject
    command: list[str]
    arguments: list[str]
    environment: dict[str, str]
    folders: ContainerFolders
    directory: Path
    owns_directory: bool
    paths: PathMap
    api: ApiAccess
    resolve: Callable[[str], str]
    assign_port: Callable[[int], int]

    def rewrite(self, text: str, more: Mapping[str, Path] | None = None) -> str:
        """Replace the container's paths and services in a text with those of this machine.

        Args:
            text: Any text.
            more: Further paths of the container, which take precedence.
        """
        paths = self.paths.overlay(more) if more else self.paths
        return self.resolve(paths.rewrite(text))


@dataclass(frozen=True)
class ContainerCommand:
    """The process to start for a container.

    Args:
        words: The program and its arguments. Empty if the pod names none.
        environment: The whole environment of the process.
        directory: Directory in which the process starts.
    """

    words: list[str]
    environment: dict[str, str]
    directory: Path


class Runtime(Protocol):
    """Replaces the software of an image.

    One instance serves all containers of a cluster, on one event loop.
    """

    @property
    def name(self) -> str:
        """The name of the runtime in rules (`PATTERN=RUNTIME`)."""
        ...

    async def map_image_paths(self, folders: ContainerFolders) -> Mapping[str, Path]:
        """Return the files and directories of this machine that replace those of the image, by path in the container.

        Args:
            folders: The directories of the container.

        Raises:
            StartError: The software is not installed.
        """
        ...

    async def prepare(self, container: ContainerSetup) -> ContainerCommand:
        """Return the process to start; write the files that it needs.

        Raises:
            StartError: The container cannot be started as its pod describes it.
            OSError: A file could not be written.
        """
        ...

    def uses_assigned_ports(self, container: JsonObject) -> bool:
        """Return whether a container listens on ports that the cluster assigns, instead of those in its `ports`.

        All pods share one address. A runtime that can have a program listen elsewhere avoids conflicts this way;
        services lead to the assigned ports.

        Args:
            container: The container's entry in the pod's spec.
        """
        ...


class HostRuntime:
    """Runs a container's command with the programs of this machine. Nothing of the image is used."""

    name = "process"

    async def map_image_paths(self, folders: ContainerFolders) -> Mapping[str, Path]:  # noqa: ARG002 - no image, no paths
        """Return nothing: the paths of the image are those of this machine."""
        return {}

    async def prepare(self, container: ContainerSetup) -> ContainerCommand:
        """Return the container's command and arguments as they are, with this machine's paths."""
        words = [container.rewrite(word) for word in (*container.command, *container.arguments)]
        return ContainerCommand(words, container.environment, container.directory)

    def uses_assigned_ports(self, container: JsonObject) -> bool:  # noqa: ARG002 - it does not know the programs
        """Return False: the program chooses its own port."""
        return False


HOST = HostRuntime()
