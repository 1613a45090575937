"""One source of addresses and tokens for each managed cluster of a connection."""

import importlib
import json
from collections.abc import Callable
from dataclasses import astuple
from functools import lru_cache
from typing import Protocol, TypeVar

from asgiref.sync import sync_to_async

from ...kube.errors import ConfigurationError
from ...kube.managed_cluster import BearerToken, ClusterLocation, ManagedCluster
from .clusters import CloudCluster

T = TypeVar("T")

# More clusters than one Airflow deployment has connections to. A forgotten source costs two requests.
_MAX_CLUSTERS = 256


class CloudModule(Protocol):
    """A module that uses the Airflow provider of a cloud. Its functions block."""

    def locate(self, cluster: CloudCluster) -> ClusterLocation:
        """Read the address of a cluster."""

    def issue_token(self, cluster: CloudCluster) -> BearerToken:
        """Issue a token for a cluster."""


@lru_cache(maxsize=_MAX_CLUSTERS)
def share_cluster(conn_id: str | None, cluster: CloudCluster) -> ManagedCluster:
    """Return the source for a cluster. All clients of the process receive the same object.

    Args:
        conn_id: The id of the connection that selects the cluster.
        cluster: The cluster.
    """

    async def locate() -> ClusterLocation:
        return await _run(cluster, lambda cloud: cloud.locate(cluster))

    async def issue_token() -> BearerToken:
        return await _run(cluster, lambda cloud: cloud.issue_token(cluster))

    return ManagedCluster(
        title=f"{cluster.service} cluster {cluster.name!r} of connection {conn_id!r}",
        key=json.dumps([cluster.service, *astuple(cluster)]),
        renewal=cluster.renewal,
        locate=locate,
        issue_token=issue_token,
    )


async def _run(cluster: CloudCluster, call: Callable[[CloudModule], T]) -> T:
    # The libraries of the clouds block, and read Airflow connections. Airflow permits that in threads of
    # `sync_to_async`. All triggers share its default thread, so a slow cloud would block them.
    return await sync_to_async(lambda: call(_load_module(cluster)), thread_sensitive=False)()


def _load_module(cluster: CloudCluster) -> CloudModule:
    name = cluster.service.lower()
    try:
        module: CloudModule = importlib.import_module(f"airflow_provider_spark_operator.hooks.clouds.{name}")
    except ImportError as error:
        raise ConfigurationError(
            f"{cluster.service} clusters need Airflow's {cluster.provider} provider ({error}). "
            f"Install airflow-provider-spark-operator[{name}]"
        ) from error
    return module
