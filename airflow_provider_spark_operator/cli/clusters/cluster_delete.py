"""`spark-operator cluster delete`: delete SparkClusters."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated

from ...core.kubernetes.json_object import JsonObject
from ...follow.access.find import find_cluster
from ...follow.access.reference import ApplicationReference
from ...kube.client import KubeClient
from ..applications.delete import wait_for_deletion
from ..applications.named_applications import act_on_names
from ..base.ages import check_duration, parse_duration
from ..base.errors import ExitCode
from ..base.object_names import require_clusters
from ..options.cluster_access import ClusterOptions, run_with_client
from ..options.completers import complete_clusters
from ..options.declaration import Parameter


def run(
    access: ClusterOptions,
    names: Annotated[
        list[str], Parameter("NAME…", "names of the SparkClusters", check=require_clusters, complete=complete_clusters)
    ],
    wait: Annotated[bool, Parameter("--wait", "wait until the SparkClusters no longer exist")] = False,
    timeout: Annotated[
        str,
        Parameter("--timeout DURATION", "stop waiting after this time; the exit code is then 4", check=check_duration),
    ] = "5m",
) -> ExitCode:
    """Delete SparkClusters. There is no confirmation.

    When a SparkCluster is deleted, Kubernetes deletes its master and its workers, too. Applications that run on the
    SparkCluster fail.

    Examples:
        # Delete a SparkCluster, and wait until it no longer exists
        spark-operator cluster delete analytics --wait
    """
    limit = parse_duration(timeout) if wait else None
    return run_with_client(access, lambda client: _delete(client, names, limit))


async def _delete(client: KubeClient, names: Sequence[str], limit: timedelta | None) -> ExitCode:
    async def delete(reference: ApplicationReference, _: JsonObject) -> str:
        await client.delete(reference.resource, reference.name, reference.namespace, uid=reference.uid)
        if limit is not None:
            await wait_for_deletion(client, reference, limit)
        return "deleted"

    return await act_on_names(client, names, delete, find_cluster)
