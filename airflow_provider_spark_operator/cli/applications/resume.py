"""`spark-operator resume`: resume suspended applications."""

from ..base.errors import ExitCode
from ..options.cluster_access import ClusterOptions, run_with_client
from .named_applications import ApplicationNames
from .suspend import set_all_suspended


def run(access: ClusterOptions, names: ApplicationNames) -> ExitCode:
    """Resume suspended applications: the operator starts a new attempt as soon as the old pods are deleted.

    Examples:
        # Resume a suspended application
        spark-operator resume pi
    """
    return run_with_client(access, lambda client: set_all_suspended(client, names, suspended=False))
