"""Read the addresses of web interfaces from the logs of pods that are processes of this machine."""

from contextlib import aclosing
from typing import Final

from local_kubernetes.kubeconfig import LOOPBACK

from ...core.report.summary import ApplicationSummary
from ...core.spark.spark_ui import DRIVER_UI, find_ui_url
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
    return await read_started_url(client, summary.namespace, summary.progress.driver_name, DRIVER_UI)


async def read_started_url(client: KubeClient, namespace: str, pod: str, name: str) -> str | None:
    """Return the URL of an interface in the log of a pod; None if the pod does not run, or has not started it.

    Args:
        client: The client of a local cluster.
        namespace: The namespace of the pod.
        pod: The name of the pod.
        name: The interface. See `core.spark.spark_ui`.
    """
    try:
        async with aclosing(client.logs(namespace, pod, limit_bytes=_LOG_BYTES)) as lines:
            async for line in lines:
                if url := find_ui_url(line, LOOPBACK, name):
                    return url
    except KubeError:  # the pod has not started yet, or was deleted
        return None
    return None
