"""`spark-operator cluster forward`: the web interface of the master of a SparkCluster on a local port."""

from typing import Any

from ...core.kubernetes.names import MASTER_WEB_PORT, build_master_pod_name
from ...follow.access.find import find_cluster
from ...follow.access.reference import ApplicationReference
from ...kube.client import KubeClient
from ...kube.errors import NotFound
from ...kube.resources import PODS
from ..applications.port_forward import Interface, LocalPort, Unavailable, forward, get_port
from ..base.errors import ExitCode
from ..options.cluster_access import ClusterOptions, run_with_client
from ..options.options import ClusterName
from .cluster_list import read_state

_PORT_NAME = "web"


def run(access: ClusterOptions, name: ClusterName, port: LocalPort = None) -> ExitCode:
    """Show the web interface of the master of a SparkCluster on a local port, until the SparkCluster is deleted.

    The address is printed. Only programs on this machine can connect. The links to workers and applications lead into
    the network of the Kubernetes cluster, and do not work.

    You need the permissions to get and create pods/portforward. Ctrl+C ends the command with exit code 0.

    Examples:
        # Show the web interface of the master at http://127.0.0.1:8080
        spark-operator cluster forward analytics
    """
    return run_with_client(access, lambda client: _forward(client, name, port))


async def _forward(client: KubeClient, name: str, port: int | None) -> ExitCode:
    cluster, kind = await find_cluster(client, name)
    reference = ApplicationReference.of(cluster, kind)
    master = build_master_pod_name(name)

    async def find() -> tuple[str, int]:
        try:
            pod = await client.get(PODS, master, reference.namespace)
        except NotFound:
            raise Unavailable(f"the master of {reference} is not running") from None
        if (pod.get("status") or {}).get("phase") != "Running":
            raise Unavailable(f"the master of {reference} is not running")
        return master, get_port(pod, _PORT_NAME, MASTER_WEB_PORT)

    interface = Interface("the web interface", reference, find, MASTER_WEB_PORT, _is_over, read_state)
    return await forward(client, interface, port)


def _is_over(_: dict[str, Any]) -> bool:
    return False  # until the SparkCluster is deleted
