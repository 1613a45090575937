"""Find the folder of the local cluster that a command uses, and the logs in it."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from local_kubernetes.home_state import HomeState


def find_running_home(kubeconfig: str | None = None) -> "HomeState | None":
    """Return the folder of a local cluster that runs, if a command uses its kubeconfig, or a copy of that.

    Args:
        kubeconfig: The file. None for that of KUBECONFIG.
    """
    if find_spec("local_kubernetes") is None:  # the command line also works without it
        return None
    from local_kubernetes.home import LocalClusterError  # noqa: PLC0415
    from local_kubernetes.home_state import read_home  # noqa: PLC0415
    from local_kubernetes.kubeconfig import find_home  # noqa: PLC0415

    home = find_home(Path(kubeconfig or os.environ.get("KUBECONFIG") or ""))
    if home is None:
        return None
    try:
        state = read_home(home)
    except LocalClusterError:  # another program wrote this kubeconfig
        return None
    return state if state.is_running else None


def find_pod_log(kubeconfig: str | None, namespace: str, pod: str) -> Path | None:
    """Return the file in which a local cluster has kept the latest log of a pod; None if there is none.

    Args:
        kubeconfig: The kubeconfig of the cluster, see `find_running_home`.
        namespace: The namespace of the pod.
        pod: The name of the pod, which need not exist any more.
    """
    home = find_running_home(kubeconfig)
    if home is None:
        return None
    files = (home.home / "logs").glob(f"{namespace}_{pod}_*/*/*.log")
    return max(files, key=lambda file: file.stat().st_mtime, default=None)
