"""`spark-operator cluster list`: list SparkClusters."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any

from ...core.cluster_resources.frame import build_object_name
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import LABEL_CLUSTER_NAME, ROLE_WORKER, build_master_url
from ...core.kubernetes.pods import get_object, get_text
from ...follow.access.versions import choose_served_version
from ...follow.watching.cluster_ready import Readiness, count_ready, count_wanted_workers
from ...kube.client import KubeClient
from ...kube.collection import ObjectList
from ...kube.errors import KubeError
from ...kube.resources import PODS, SPARK_CLUSTERS, STATEFUL_SETS
from ..base.ages import format_age
from ..base.errors import ExitCode, print_error, print_note
from ..base.styles import style_state
from ..options.cluster_access import ClusterOptions, run_with_client
from ..options.options import TABLE, AllNamespaces, Output, Selector
from ..output.output import ResourceList
from ..output.tables import Column, Table


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


def run(
    access: ClusterOptions, selector: Selector = None, output: Output = TABLE, all_namespaces: AllNamespaces = False
) -> ExitCode:
    """List SparkClusters with their state and the number of ready pods.

    The command needs the permission to list pods. The column WORKERS shows the number of ready workers and
    the desired number. The desired number comes from the StatefulSet or, if you may not list StatefulSets, from the
    SparkCluster.

    Examples:
        # SparkClusters in the current namespace
        spark-operator cluster list

        # SparkClusters of a team in all namespaces, with the URLs of their masters
        spark-operator cluster list -A -l team=a -o wide
    """
    return run_with_client(access, lambda client: _list(client, selector, output, all_namespaces=all_namespaces))


async def _list(client: KubeClient, selector: str | None, output: str, *, all_namespaces: bool) -> ExitCode:
    place = None if all_namespaces else client.default_namespace
    kind = await choose_served_version(client, SPARK_CLUSTERS)
    async with aclosing(client.list_pages(kind, place, label_selector=selector)) as pages:
        if output in (TABLE, "wide"):
            return await _print_rows(client, pages, place, is_wide=output == "wide")
        printer = ResourceList(output)
        async for page in pages:
            printer.print(page.items)
    printer.finish()
    return ExitCode.SUCCESS


async def _print_rows(
    client: KubeClient, pages: AsyncIterator[ObjectList], place: str | None, *, is_wide: bool
) -> ExitCode:
    table, refusal = None, ""
    async for page in pages:
        if page.items and table is None:
            view, refusal = await read_view(client, place)
            table = Table(_build_columns(view, client.get_time(), with_namespace=place is None), is_wide=is_wide)
        if table is not None:
            table.print(page.items)
    if table is None:
        print_note(f"no SparkClusters found in {f'namespace {place}' if place else 'any namespace'}")
    if refusal:
        print_error(refusal)
        return ExitCode.API_FAILED
    return ExitCode.SUCCESS


def _build_columns(view: ClusterView, now: datetime, *, with_namespace: bool) -> list[Column[JsonObject]]:
    def count_masters(cluster: JsonObject) -> str:
        ready = view.read_readiness(cluster)
        return f"{ready.masters if ready else '?'}/1"

    def count_workers(cluster: JsonObject) -> str:
        ready = view.read_readiness(cluster)
        return f"{ready.workers if ready else '?'}/{view.count_workers(cluster)}"

    columns: list[Column[JsonObject]] = [
        Column("NAME", lambda cluster: str(cluster["metadata"]["name"]), 12),
        Column("STATE", read_state, style=lambda state: style_state(state.partition(" ")[0])),
        Column("MASTER", count_masters),
        Column("WORKERS", count_workers),
        Column("AGE", lambda cluster: format_age(cluster["metadata"].get("creationTimestamp"), now)),
        Column("URL", _read_url, is_wide=True),
        Column("MESSAGE", read_message, is_wide=True),
    ]
    place: Column[JsonObject] = Column("NAMESPACE", lambda cluster: str(cluster["metadata"]["namespace"]))
    return [place, *columns] if with_namespace else columns


def _read_url(cluster: JsonObject) -> str:
    metadata = cluster["metadata"]
    return build_master_url(f"{metadata['namespace']}/{metadata['name']}")
