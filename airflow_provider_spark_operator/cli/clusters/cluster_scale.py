"""`spark-operator cluster scale`: change the number of workers of a running SparkCluster."""

from typing import Annotated

from ...core.cluster_resources.frame import build_object_name
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import ROLE_WORKER
from ...core.kubernetes.pods import get_object
from ...follow.access.find import find_cluster
from ...follow.access.reference import ApplicationReference
from ...kube.client import KubeClient
from ...kube.errors import NotFound
from ...kube.resources import STATEFUL_SETS
from ..applications.named_applications import format_name
from ..base.errors import CommandError, ExitCode
from ..options.cluster_access import ClusterOptions, run_with_client
from ..options.declaration import Parameter
from ..options.options import ClusterName


def run(
    access: ClusterOptions,
    name: ClusterName,
    workers: Annotated[int, Parameter("N", "new number of workers in total", at_least=0, at_most=100_000)],
) -> ExitCode:
    """Change the number of workers of a running SparkCluster.

    The verb scales the StatefulSet of the workers, because operators ignore changes of a running SparkCluster. A
    removed worker stops with its executors, and Spark repeats their tasks. The command refuses a SparkCluster that
    scales automatically (minWorkers is less than maxWorkers).

    You need the permission to patch statefulsets/scale.

    Examples:
        # Run a SparkCluster with five workers
        spark-operator cluster scale analytics 5
    """
    return run_with_client(access, lambda client: _scale(client, name, workers))


async def _scale(client: KubeClient, name: str, workers: int) -> ExitCode:
    cluster, kind = await find_cluster(client, name)
    reference = ApplicationReference.of(cluster, kind)
    _require_fixed_size(reference, cluster)
    target = build_object_name(name, ROLE_WORKER)
    try:
        await client.patch(
            STATEFUL_SETS, target, reference.namespace, {"spec": {"replicas": workers}}, subresource="scale"
        )
    except NotFound:
        raise CommandError(
            f"could not scale {reference}: its StatefulSet {target} does not exist. Wait until the SparkCluster runs",
            ExitCode.API_FAILED,
        ) from None
    print(f"{format_name(reference)} scaled to {workers} {'worker' if workers == 1 else 'workers'}")
    return ExitCode.SUCCESS


def _require_fixed_size(reference: ApplicationReference, cluster: JsonObject) -> None:
    tolerations = get_object(get_object(cluster.get("spec")).get("clusterTolerations"))
    instances = get_object(tolerations.get("instanceConfig"))
    least, most = instances.get("minWorkers"), instances.get("maxWorkers")
    if isinstance(least, int) and isinstance(most, int) and least < most:
        raise CommandError(
            f"could not scale {reference}: it scales automatically between {least} and {most} workers, and its "
            "HorizontalPodAutoscaler would undo the change. Change minReplicas and maxReplicas there",
            ExitCode.INVALID,
        )
