"""Find the folder of the local cluster that a command uses."""

import os
from pathlib import Path

from local_kubernetes.home import LocalClusterError
from local_kubernetes.home_state import HomeState, read_home

_KUBECONFIG = "kubeconfig"


def find_running_home(kubeconfig: str | None = None) -> HomeState | None:
    """Return the folder of a local cluster that runs, if it contains the kubeconfig of a command.

    Args:
        kubeconfig: The file. None for that of KUBECONFIG.
    """
    path = Path(kubeconfig or os.environ.get("KUBECONFIG") or "")
    if path.name != _KUBECONFIG or not path.is_file():
        return None
    try:
        state = read_home(path.parent)
    except LocalClusterError:  # another program wrote this kubeconfig
        return None
    return state if state.is_running else None
