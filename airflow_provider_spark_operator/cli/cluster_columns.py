"""What `cluster list` and `cluster status` show about a SparkCluster."""

from collections.abc import Mapping, Sequence
from typing import Any

from airflow_provider_spark_operator.core.cluster_resources.frame import build_object_name
from airflow_provider_spark_operator.core.names import LABEL_CLUSTER_NAME, ROLE_WORKER
from airflow_provider_spark_operator.core.pods import get_object, get_text
from airflow_provider_spark_operator.follow.cluster_ready import Readiness, count_ready, count_wanted_workers
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import KubeError
from airflow_provider_spark_operator.kube.resources import PODS, STATEFUL_SETS
from airflow_provider_spark_operator.kube.transport import JsonObject


class ClusterView:
    """The pods and the StatefulSets of SparkClusters, as far as they may be read.

    Args:
        pods: The pods of the SparkClusters. None if they may not be listed.
        sets: The StatefulSets of the SparkClusters; empty if they may not be listed.
    """

    def __init__(self, pods: Sequence[JsonObject] | None, sets: Sequence[JsonObject]) -> None:
        self._pods = pods
        self._replicas = {_key(one): get_object(one.get("spec")).get("replicas") for one in sets}

    def read_readiness(self, cluster: JsonObject) -> Readiness | None:
        """Return the number of ready pods, or None if the pods may not be listed."""
        if self._pods is None:
            return None
        namespace, name = _key(cluster)
        own = [pod for pod in self._pods if _key(pod)[0] == namespace and _get_cluster(pod) == name]
        return count_ready(cluster, own)

    def count_workers(self, cluster: JsonObject) -> int:
        """Return the number of workers that the cluster should have: that of the StatefulSet, else of the spec."""
        namespace, name = _key(cluster)
        replicas = self._replicas.get((namespace, build_object_name(name, ROLE_WORKER)))
        return replicas if isinstance(replicas, int) else count_wanted_workers(cluster)


async def read_view(client: KubeClient, namespace: str | None, name: str | None = None) -> tuple[ClusterView, str]:
    """Read the pods and the StatefulSets of SparkClusters.

    Args:
        client: The client of the cluster.
        namespace: The namespace. None for all namespaces.
        name: The name of one SparkCluster. None for all.

    Returns:
        The view, and why the pods could not be listed; empty if they could.
    """
    selector = f"{LABEL_CLUSTER_NAME}={name}" if name else LABEL_CLUSTER_NAME
    try:
        sets = (await client.list(STATEFUL_SETS, namespace, label_selector=selector)).items
    except KubeError:  # the spec has the number of workers, too
        sets = []
    try:
        return ClusterView((await client.list(PODS, namespace, label_selector=selector)).items, sets), ""
    except KubeError as error:
        return ClusterView(None, sets), str(error)


def read_state(cluster: Mapping[str, Any]) -> str:
    """Return the state of a SparkCluster, and whether it is being deleted."""
    state = get_text(_read_current_state(cluster).get("currentStateSummary")) or "New"
    return f"{state} (deleting)" if cluster["metadata"].get("deletionTimestamp") else state


def read_message(cluster: Mapping[str, Any]) -> str:
    """Return the message of the state; empty if there is none."""
    return get_text(_read_current_state(cluster).get("message"))


def _read_current_state(cluster: Mapping[str, Any]) -> Mapping[str, object]:
    return get_object(get_object(cluster.get("status")).get("currentState"))


def _key(document: Mapping[str, Any]) -> tuple[str, str]:
    return document["metadata"]["namespace"], document["metadata"]["name"]


def _get_cluster(pod: Mapping[str, Any]) -> str | None:
    label: str | None = (pod["metadata"].get("labels") or {}).get(LABEL_CLUSTER_NAME)
    return label
