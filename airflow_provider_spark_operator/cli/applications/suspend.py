"""`spark-operator suspend`: suspend applications."""

from airflow_provider_spark_operator.cli.applications.named_applications import ApplicationNames
from airflow_provider_spark_operator.cli.applications.suspension import set_all_suspended
from airflow_provider_spark_operator.cli.base.cluster_client import run_with_client
from airflow_provider_spark_operator.cli.base.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.options.options import Context, Kubeconfig, Namespace
from airflow_provider_spark_operator.kube.connection import ClusterAccess

EXAMPLES = """
# Stop the driver of an application until it is resumed
spark-operator suspend pi
"""


def run(
    names: ApplicationNames,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    namespace: Namespace = None,
) -> ExitCode:
    """Suspend applications: the operator deletes their pods.

    If an application has no driver yet, the operator creates none until the application is resumed.

    After `resume`, the program starts again from its beginning, in a new attempt. The suspension does not count as a
    restart. An application that has ended cannot be suspended. The command fails, and changes nothing, if the
    CustomResourceDefinition in the cluster has no `spec.suspend`. If a driver runs, the command waits up to 15 s until
    the operator stops it, and fails if the operator ignores the field.
    """
    access = ClusterAccess(kubeconfig=kubeconfig, context=context, namespace=namespace)
    return run_with_client(access, lambda client: set_all_suspended(client, names, suspended=True))
