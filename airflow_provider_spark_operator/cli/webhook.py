"""`--webhook` of `spark-operator reconcile`: what the webhook needs is loaded where it is asked for only."""

from contextlib import AbstractAsyncContextManager

from airflow_provider_spark_operator.cli.errors import CommandError
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.kube.client import KubeClient


def webhook(port: int, client: KubeClient, configuration: str) -> AbstractAsyncContextManager[int]:
    """The webhook that the ValidatingWebhookConfiguration of this name tells the API server of; gives the port.

    Raises:
        CommandError: the package that makes certificates is not installed.
    """
    try:
        # An optional package.
        from airflow_provider_spark_operator.reconcile.webhook import serve_webhook  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise CommandError(
            f"--webhook needs the package {error.name}: pip install 'airflow-provider-spark-operator[webhook]'",
            ExitCode.INVALID,
        ) from None
    return serve_webhook(port, client, configuration)
