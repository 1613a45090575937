"""How a container is started: its command, environment and folders on this machine."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from airflow_provider_spark_operator.local.programs import (
    MASTER,
    WORKER,
    is_started_by,
    java_home,
    write_daemon_scripts,
)
from airflow_provider_spark_operator.local.software import SparkRuntime
from airflow_provider_spark_operator.local.spark import (
    IMAGE_HOME,
    WORK_FOLDER,
    ContainerPlace,
    daemon_command,
    spark_command,
    spark_environment,
)
from local_kubernetes.api.documents import JsonObject
from local_kubernetes.api.quantities import parse_quantity
from local_kubernetes.kubelet.environment import (
    command_line,
    container_environment,
    expanded,
)
from local_kubernetes.kubelet.images import Runtime, runtime_of
from local_kubernetes.kubelet.mounts import PathMap
from local_kubernetes.kubelet.node import Node
from local_kubernetes.kubelet.process import StartError
from local_kubernetes.kubelet.sandbox import Sandbox
from local_kubernetes.kubelet.volumes import SERVICE_ACCOUNT_PATH, mounted_folders

_TERMINATION_PATH = "/dev/termination-log"
_INHERITED = ("LANG", "LC_ALL", "TZ")
# Folders of Spark's home that its daemons write into.
_WRITTEN = ("work", "logs")


@dataclass(frozen=True)
class Launch:
    """What to start.

    Args:
        command: the program and its arguments.
        environment: its whole environment.
        directory: where it starts.
        memory_limit: the bytes that it may use; None for all there are.
    """

    command: list[str]
    environment: dict[str, str]
    directory: Path
    memory_limit: int | None = None


async def prepare_launch(node: Node, sandbox: Sandbox, spec: JsonObject) -> Launch:
    """Make the folders of a container, and its command with this machine's paths.

    Args:
        node: what all pods share.
        sandbox: what the containers of this pod share.
        spec: the container's entry in the pod's spec.

    Raises:
        ImageMissing: there is no runtime for the image.
        MissingReference: something that the container refers to is not there.
        JavaMissing: Spark is to run and there is no Java.
        SparkMissing: Spark is to run and is not installed.
        StartError: there is nothing to run, or a setting makes no sense.
        OSError: a folder or file cannot be written.
    """
    runtime = runtime_of(str(spec.get("image")), node.images)
    spark = await node.software.runtime() if runtime is Runtime.SPARK else None
    folder = sandbox.container_folder(str(spec["name"]))
    for name in ("work", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    own = container_environment(sandbox.pod, spec, sandbox.references, _cluster_environment(node.api.url))
    paths = _paths(sandbox, spec, folder, own, spark)
    namespace = str(sandbox.pod["metadata"]["namespace"])

    def rewrite(text: str) -> str:
        return node.services.resolved(paths.rewrite(text), namespace)

    environment = _given_environment(sandbox.pod, folder) | {name: rewrite(value) for name, value in own.items()}
    command, arguments = command_line(spec, own)
    if spark:
        environment = spark_environment(spark, environment)
        environment["JAVA_HOME"] = str(java_home(spark.java, folder / "java"))
        place = ContainerPlace(folder / "work", folder / "tmp", sandbox.folders.credentials, rewrite)
        paths = paths.extended(_daemon_scripts(node, sandbox.pod, [*command, *arguments], spark, environment, place))
    command, arguments = ([rewrite(word) for word in words] for words in (command, arguments))
    if spark and not command:
        arguments = spark_command(spark, arguments, environment, place, node.api)
    if not command and not arguments:
        raise StartError("no command specified")
    return Launch([*command, *arguments], environment, _directory(spec, paths, folder), _memory_limit(spec))


def _daemon_scripts(
    node: Node,
    pod: JsonObject,
    words: Sequence[str],
    spark: SparkRuntime,
    environment: Mapping[str, str],
    place: ContainerPlace,
) -> dict[str, Path]:
    """The scripts for the daemons that a container's command starts, by their paths in the container."""
    metadata = pod["metadata"]

    def moved(port: int) -> int:
        return node.services.moved(str(metadata["namespace"]), str(metadata["name"]), port)

    commands = {
        daemon: daemon_command(daemon, spark, environment, place, moved)
        for daemon in (MASTER, WORKER)
        if is_started_by(daemon, words)
    }
    if not commands:
        return {}
    scripts = write_daemon_scripts(place.scratch / "sbin", spark.home, commands)
    return {f"{IMAGE_HOME}/sbin/{name}": script for name, script in scripts.items()}


def _paths(
    sandbox: Sandbox,
    spec: JsonObject,
    folder: Path,
    variables: Mapping[str, str],
    spark: SparkRuntime | None,
) -> PathMap:
    """Where the container's paths are: those of every container, of its image, and of its mounts."""
    given = {
        SERVICE_ACCOUNT_PATH: sandbox.folders.credentials,
        str(spec.get("terminationMessagePath") or _TERMINATION_PATH): folder / "termination-log",
    }
    if spark:
        given |= {IMAGE_HOME: spark.home, WORK_FOLDER: folder / "work"}
        given |= {f"{IMAGE_HOME}/{name}": folder / "tmp" / name for name in _WRITTEN}
    mounts = mounted_folders(spec, sandbox.volumes, lambda text: expanded(text, variables))
    return PathMap(given).extended(mounts)


def _memory_limit(spec: JsonObject) -> int | None:
    limit = ((spec.get("resources") or {}).get("limits") or {}).get("memory")
    if limit is None:
        return None
    try:
        return int(parse_quantity(limit)) or None
    except ValueError as error:
        raise StartError(f"resources.limits.memory: {error}") from error


def _directory(spec: JsonObject, paths: PathMap, folder: Path) -> Path:
    """The folder that the command starts in, made where it is one of the container's own."""
    working = spec.get("workingDir")
    if not working:
        return folder / "work"
    directory = Path(paths.rewrite(str(working)))
    if not directory.is_dir():
        inside = PurePosixPath(str(working).lstrip("/"))
        if ".." in inside.parts or "\0" in str(inside):
            raise StartError(f"workingDir {working!r} must not lead out of the container")
        directory = folder / "root" / inside
        directory.mkdir(parents=True, exist_ok=True)
    return directory


def _given_environment(pod: JsonObject, folder: Path) -> dict[str, str]:
    """What a container finds without asking: nothing of this process's secrets is among it."""
    programs = [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    return {
        "LANG": "C.UTF-8",
        **{name: os.environ[name] for name in _INHERITED if name in os.environ},
        "PATH": os.pathsep.join(programs),
        "HOME": str(folder / "work"),
        "TMPDIR": str(folder / "tmp"),
        "HOSTNAME": str(pod["metadata"]["name"]),
    }


def _cluster_environment(url: str) -> dict[str, str]:
    address = urlsplit(url)
    return {
        "KUBERNETES_SERVICE_HOST": address.hostname or "",
        "KUBERNETES_SERVICE_PORT": str(address.port or 443),
        "KUBERNETES_SERVICE_PORT_HTTPS": str(address.port or 443),
    }
