"""The start of a container: its command, environment and directories on this machine."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from ...api.kinds.documents import JsonObject
from ...api.kinds.quantities import parse_quantity
from ..node.images import find_runtime
from ..node.node import Node
from ..node.runtime import ContainerFolders, ContainerSetup, PathMap, StartError
from .environment import build_command_line, build_environment, expand
from .sandbox import Sandbox
from .volumes import SERVICE_ACCOUNT_PATH, map_mounts

_TERMINATION_PATH = "/dev/termination-log"
_INHERITED = ("LANG", "LC_ALL", "TZ")


@dataclass(frozen=True)
class Launch:
    """The process of a container.

    Args:
        command: Program and arguments.
        environment: The complete environment.
        directory: Working directory.
        memory_limit: Memory limit in bytes. If None, there is no limit.
    """

    command: list[str]
    environment: dict[str, str]
    directory: Path
    memory_limit: int | None = None


async def prepare_launch(node: Node, sandbox: Sandbox, spec: JsonObject) -> Launch:
    """Create the directories of a container, and return its command with this machine's paths.

    Args:
        node: State that all pods of the node share.
        sandbox: State that the containers of the pod share.
        spec: The container's entry in the pod's spec.

    Raises:
        InvalidImage: The container's image is not the name of an image.
        ImageMissing: No rule matches the image.
        MissingReference: An object that the container refers to does not exist.
        StartError: The pod names no command, a setting is invalid, or software is missing.
        OSError: A directory or file could not be written.
    """
    runtime = find_runtime(str(spec.get("image")), node.images)
    folder = sandbox.get_container_folder(str(spec["name"]))
    folders = ContainerFolders(folder / "work", folder / "tmp", sandbox.folders.credentials, node.cache_folder)
    map_image_paths = await runtime.map_image_paths(folders)
    for own_folder in (folders.work, folders.scratch):
        own_folder.mkdir(parents=True, exist_ok=True)
    variables = build_environment(sandbox.pod, spec, sandbox.references, _build_cluster_environment(node.api.url))
    paths = _map_paths(sandbox, spec, variables, map_image_paths)
    process = await runtime.prepare(_build_setup(node, sandbox, spec, folders, paths, variables))
    if not process.words:
        raise StartError("no command specified")
    return Launch(process.words, process.environment, process.directory, _read_memory_limit(spec))


def _build_setup(
    node: Node,
    sandbox: Sandbox,
    spec: JsonObject,
    folders: ContainerFolders,
    paths: PathMap,
    variables: Mapping[str, str],
) -> ContainerSetup:
    """Return the input of the runtime, with the addresses and paths of this machine."""
    namespace, name = (str(sandbox.pod["metadata"][key]) for key in ("namespace", "name"))

    def resolve(text: str) -> str:
        return node.services.resolve(text, namespace)

    environment = _build_default_environment(sandbox.pod, folders)
    environment |= {variable: resolve(paths.rewrite(value)) for variable, value in variables.items()}
    command, arguments = build_command_line(spec, variables)
    directory = _prepare_directory(spec, paths, folders.work)
    return ContainerSetup(
        pod=sandbox.pod,
        command=command,
        arguments=arguments,
        environment=environment,
        folders=folders,
        directory=directory,
        owns_directory=directory.resolve().is_relative_to(sandbox.root.resolve()),
        paths=paths,
        api=node.api,
        resolve=resolve,
        assign_port=lambda port: node.services.assign_port(namespace, name, port),
    )


def _map_paths(
    sandbox: Sandbox, spec: JsonObject, variables: Mapping[str, str], map_image_paths: Mapping[str, Path]
) -> PathMap:
    """Return the paths of the container on this machine: those of every container, of its image and of its mounts."""
    given = {
        SERVICE_ACCOUNT_PATH: sandbox.folders.credentials,
        str(spec.get("terminationMessagePath") or _TERMINATION_PATH): sandbox.get_termination_file(str(spec["name"])),
        **map_image_paths,
    }
    mounts = map_mounts(spec, sandbox.volumes, lambda text: expand(text, variables))
    return PathMap(given).overlay(mounts)


def _read_memory_limit(spec: JsonObject) -> int | None:
    limit = ((spec.get("resources") or {}).get("limits") or {}).get("memory")
    if limit is None:
        return None
    try:
        return int(parse_quantity(limit)) or None
    except ValueError as error:
        raise StartError(f"resources.limits.memory: {error}") from error


def _prepare_directory(spec: JsonObject, paths: PathMap, work: Path) -> Path:
    """Return the working directory; create it if it is one of the container's own directories."""
    working = spec.get("workingDir")
    if not working:
        return work
    directory = Path(paths.rewrite(str(working)))
    if not directory.is_dir():
        inside = PurePosixPath(str(working).lstrip("/"))
        if ".." in inside.parts or "\0" in str(inside):
            raise StartError(f"workingDir {working!r} must not lead out of the container")
        directory = work.parent / "root" / inside
        directory.mkdir(parents=True, exist_ok=True)
    return directory


def _build_default_environment(pod: JsonObject, folders: ContainerFolders) -> dict[str, str]:
    """Return the variables that every container has; they contain no secret of this process."""
    programs = [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    return {
        "LANG": "C.UTF-8",
        **{name: os.environ[name] for name in _INHERITED if name in os.environ},
        "PATH": os.pathsep.join(programs),
        "HOME": str(folders.work),
        "TMPDIR": str(folders.scratch),
        "HOSTNAME": str(pod["metadata"]["name"]),
    }


def _build_cluster_environment(url: str) -> dict[str, str]:
    address = urlsplit(url)
    return {
        "KUBERNETES_SERVICE_HOST": address.hostname or "",
        "KUBERNETES_SERVICE_PORT": str(address.port or 443),
        "KUBERNETES_SERVICE_PORT_HTTPS": str(address.port or 443),
    }
