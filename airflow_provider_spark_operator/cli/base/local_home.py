"""Find the folder of the local cluster that a command uses, and the logs in it."""

import os
from collections.abc import Iterator
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.kubernetes.names import is_namespace, is_object_name

if TYPE_CHECKING:
    from local_kubernetes.home_state import HomeState


def find_running_home(kubeconfig: Path | str | None = None, server: str | None = None) -> "HomeState | None":
    """Return the folder of a local cluster that runs, if a command uses its kubeconfig, or a copy of that.

    Args:
        kubeconfig: The file. None for that of KUBECONFIG.
        server: The URL that the API server must have. None for any.
    """
    if find_spec("local_kubernetes") is None:  # the command line also works without it
        return None
    from local_kubernetes.home import LocalClusterError  # noqa: PLC0415
    from local_kubernetes.home_state import read_home  # noqa: PLC0415
    from local_kubernetes.kubeconfig import find_home  # noqa: PLC0415

    home = find_home(Path(kubeconfig or os.environ.get("KUBECONFIG") or ""), server)
    if home is None:
        return None
    try:
        state = read_home(home)
    except LocalClusterError:  # another program wrote this kubeconfig
        return None
    return state if state.is_running else None


def find_pod_log(kubeconfig: Path | str | None, server: str, namespace: str, pod: str) -> Path | None:
    """Return the file in which a local cluster has kept the latest log of a pod; None if there is none.

    The names come from an answer of the API. The file is always one that this user's cluster has written.

    Args:
        kubeconfig: The kubeconfig of the cluster, see `find_running_home`.
        server: The URL of the API server that gave the names.
        namespace: The namespace of the pod.
        pod: The name of the pod, which need not exist any more.
    """
    home = find_running_home(kubeconfig, server)
    if home is None or not (is_namespace(namespace) and is_object_name(pod)):
        return None
    found = (home.home.resolve() / "logs").glob(f"{namespace}_{pod}_*/*/*.log")
    return max(filter(_is_own, found), key=lambda file: file.stat().st_mtime, default=None)


def _is_own(file: Path) -> bool:
    """Return whether both parts of a log are files of this user in place, and not links."""
    parts = file.parent.glob(f"{file.name}*")
    return all(part.resolve() == part and part.is_file() and part.stat().st_uid == os.getuid() for part in parts)


def read_pod_log(file: Path, since: datetime | None, tail: int | None) -> Iterator[str]:
    """Yield the lines of a log that `find_pod_log` has found. The cluster bounds its size.

    Args:
        file: The file.
        since: The time of the first line. None for all lines.
        tail: The number of lines from the end. None for all lines.

    Raises:
        OSError: The file could not be read.
    """
    from local_kubernetes.api.server.podlogs import LogOptions  # noqa: PLC0415
    from local_kubernetes.kubelet.containers.container_log import read_plain_text  # noqa: PLC0415

    text = b"".join(read_plain_text(file, LogOptions(since=since, tail_lines=tail)))
    yield from text.decode(errors="replace").removesuffix("\n").split("\n") if text else ()
