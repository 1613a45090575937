"""Read the address of a web interface from the log of a pod that is a process of this machine."""

from contextlib import aclosing
from typing import Final

from local_kubernetes.kubeconfig import LOOPBACK

from ...core.report.summary import ApplicationSummary
from ...core.spark.spark_ui import find_ui_url
from ...core.verdict.verdict import Outcome
from ...kube.client import KubeClient
from ...kube.errors import KubeError

# Spark writes the address of an interface within the first lines of its log.
_LOG_BYTES: Final = 256 * 1024


async def read_ui_url(client: KubeClient, summary: ApplicationSummary) -> str | None:
    """Return the URL in the driver's log; None if the driver does not run, or has not started its UI.

    Args:
        client: The client of a local cluster.
        summary: The summary of the application.
    """
    if summary.progress.driver_name is None or summary.verdict.outcome is not Outcome.WAITING:
        return None
    try:
        async with aclosing(
            client.logs(summary.namespace, summary.progress.driver_name, limit_bytes=_LOG_BYTES)
        ) as lines:
            async for line in lines:
                if url := find_ui_url(line, LOOPBACK):
                    return url
    except KubeError:  # the pod has not started yet, or was deleted
        return None
    return None
