"""`spark-operator resume`: resume suspended applications."""

from airflow_provider_spark_operator.cli.applications.named_applications import ApplicationNames
from airflow_provider_spark_operator.cli.applications.suspend import set_all_suspended
from airflow_provider_spark_operator.cli.base.cluster_client import run_with_client
from airflow_provider_spark_operator.cli.base.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.options.options import Context, Kubeconfig, Namespace
from airflow_provider_spark_operator.kube.connection import ClusterAccess

EXAMPLES = """
# Resume a suspended application
spark-operator resume pi
"""


def run(
    names: ApplicationNames,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    namespace: Namespace = None,
) -> ExitCode:
    """Resume suspended applications: the operator starts a new attempt as soon as the old pods are deleted."""
    access = ClusterAccess(kubeconfig=kubeconfig, context=context, namespace=namespace)
    return run_with_client(access, lambda client: set_all_suspended(client, names, suspended=False))
