"""Write the logs in the home directory of a cluster as plain text."""

import os
from pathlib import Path

from .kubelet.containers.container_log import read_plain_text

_PRIVATE_FILE = 0o600


def export_logs(home: Path, folder: Path) -> list[Path]:
    """Write the log of each run of each container to a file that only its owner can read.

    A file is named `POD.log`, or `POD-UID-CONTAINER-RESTARTS.log` if there is such a file: after restarts, or if a pod
    has several containers.

    Args:
        home: The home directory of the cluster. Its `logs` may be missing.
        folder: An existing folder.

    Returns:
        The files, at least one for each container that has started.

    Raises:
        OSError: A file could not be read or written.
    """
    logs = home / "logs"
    written = []
    for log in sorted(logs.glob("*/*/*.log")) if logs.is_dir() else ():
        container, pod = log.parent.name, log.parent.parent.name
        _, name, uid = pod.split("_", 2)
        target = folder / f"{name}.log"
        if target.exists():
            target = folder / f"{name}-{uid}-{container}-{log.stem}.log"
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE_FILE)
        with os.fdopen(descriptor, "wb") as stream:
            stream.writelines(read_plain_text(log))
        written.append(target)
    return written
