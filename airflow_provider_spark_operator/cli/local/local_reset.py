"""`spark-operator local reset`: delete the state of a stopped local cluster."""

from pathlib import Path

from local_kubernetes.home import LocalClusterError, UnusableHome
from local_kubernetes.home_state import read_home, remove_home

from ..base.errors import CommandError, ExitCode, print_note
from ..options.options import LOCAL_HOME, LocalHome


def run(home: LocalHome = LOCAL_HOME) -> ExitCode:
    """Delete the state of a stopped cluster: its objects, the logs of its pods, and its volumes.

    The command fails if the cluster is running, or if the folder contains files other than those of a local cluster. If
    the folder does not exist, the command does nothing and succeeds.

    Examples:
        # Delete the objects, logs and volumes of the cluster in .spark-local
        spark-operator local down
        spark-operator local reset
    """
    path = Path(home).absolute()
    try:
        if read_home(path).is_running:
            raise CommandError(
                f"a local cluster runs in {path}. Stop it with `spark-operator local down --home {home}`",
                ExitCode.INVALID,
            )
        was_removed = remove_home(path)
    except UnusableHome as error:
        raise CommandError(f"--home: {error}", ExitCode.INVALID) from None
    except LocalClusterError as error:
        raise CommandError(str(error), ExitCode.INFRASTRUCTURE_FAILED) from None
    print_note(f"deleted {path}" if was_removed else f"there is no local cluster in {path}")
    return ExitCode.SUCCESS
