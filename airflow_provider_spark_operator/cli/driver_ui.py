"""Read the address of a Spark UI from the log of a driver that runs as a process of this machine."""

from contextlib import aclosing
from typing import Final

from airflow_provider_spark_operator.core.report.summary import ApplicationSummary
from airflow_provider_spark_operator.core.spark_ui import find_ui_url
from airflow_provider_spark_operator.core.verdict import Outcome
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import KubeError
from local_kubernetes.kubeconfig import LOOPBACK

# The driver writes the address of its UI within the first lines of its log.
_LOG_BYTES: Final = 256 * 1024


async def read_ui_url(client: KubeClient, summary: ApplicationSummary) -> str | None:
    """Return the URL in the driver's log; None if the driver does not run, or has not started its UI.

    Args:
        client: The client of a local cluster.
        summary: The summary of the application.
    """
    if summary.driver is None or summary.verdict.outcome is not Outcome.WAITING:
        return None
    try:
        async with aclosing(client.logs(summary.namespace, summary.driver, limit_bytes=_LOG_BYTES)) as lines:
            async for line in lines:
                if url := find_ui_url(line, LOOPBACK):
                    return url
    except KubeError:  # the driver has not started yet, or was deleted
        return None
    return None
