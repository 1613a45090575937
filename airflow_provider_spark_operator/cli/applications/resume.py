"""`spark-operator resume`: resume suspended applications."""

from ...kube.connection import ClusterAccess
from ..base.cluster_client import run_with_client
from ..base.exit_codes import ExitCode
from ..options.options import Context, Kubeconfig, Namespace
from .named_applications import ApplicationNames
from .suspend import set_all_suspended


def run(
    names: ApplicationNames,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    namespace: Namespace = None,
) -> ExitCode:
    """Resume suspended applications: the operator starts a new attempt as soon as the old pods are deleted.

    Examples:
        # Resume a suspended application
        spark-operator resume pi
    """
    access = ClusterAccess(kubeconfig=kubeconfig, context=context, namespace=namespace)
    return run_with_client(access, lambda client: set_all_suspended(client, names, suspended=False))
