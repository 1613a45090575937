"""The server for `spark-operator reconcile --webhook`."""

from contextlib import AbstractAsyncContextManager

from airflow_provider_spark_operator.cli.errors import CommandError
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.kube.client import KubeClient


def open_webhook(port: int, address: str, client: KubeClient, configuration: str) -> AbstractAsyncContextManager[int]:
    """Return a context that serves the webhooks of a ValidatingWebhookConfiguration; it yields the port.

    Args:
        port: The port to listen on; 0 for a free one.
        address: The IP address to listen on, or `*` for all interfaces.
        client: The client for the cluster, which writes the certificate into the configuration.
        configuration: The name of the ValidatingWebhookConfiguration.

    Raises:
        CommandError: The package for certificates is not installed.
    """
    try:
        # This module needs `cryptography`, which only the extra `webhook` installs. `reconcile` works without it.
        from airflow_provider_spark_operator.reconcile.webhook import serve_webhook  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise CommandError(
            f"--webhook: missing package {error.name}. "
            "Install it with pip install 'airflow-provider-spark-operator[webhook]'",
            ExitCode.INVALID,
        ) from None
    return serve_webhook(port, client, configuration, address=address)
