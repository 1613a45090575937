"""Find the folder of the local cluster that a command uses."""

import os
from pathlib import Path

from local_kubernetes.home import LocalClusterError
from local_kubernetes.home_state import HomeState, read_home
from local_kubernetes.kubeconfig import find_home


def find_running_home(kubeconfig: str | None = None) -> HomeState | None:
    """Return the folder of a local cluster that runs, if a command uses its kubeconfig, or a copy of that.

    Args:
        kubeconfig: The file. None for that of KUBECONFIG.
    """
    home = find_home(Path(kubeconfig or os.environ.get("KUBECONFIG") or ""))
    if home is None:
        return None
    try:
        state = read_home(home)
    except LocalClusterError:  # another program wrote this kubeconfig
        return None
    return state if state.is_running else None
