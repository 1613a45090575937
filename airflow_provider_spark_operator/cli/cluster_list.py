"""`spark-operator cluster list`: list SparkClusters."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime

from airflow_provider_spark_operator.cli.ages import format_age
from airflow_provider_spark_operator.cli.cluster_client import run_with_client
from airflow_provider_spark_operator.cli.cluster_columns import ClusterView, read_message, read_state, read_view
from airflow_provider_spark_operator.cli.columns import Column, Table
from airflow_provider_spark_operator.cli.errors import print_error, print_note
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.options import (
    TABLE,
    AllNamespaces,
    Context,
    Kubeconfig,
    Namespace,
    Output,
    Selector,
)
from airflow_provider_spark_operator.cli.resource_list import open_list
from airflow_provider_spark_operator.cli.styles import style_state
from airflow_provider_spark_operator.core.names import build_master_url
from airflow_provider_spark_operator.follow.versions import choose_served_version
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.collection import ObjectList
from airflow_provider_spark_operator.kube.connection import ClusterAccess
from airflow_provider_spark_operator.kube.resources import SPARK_CLUSTERS
from airflow_provider_spark_operator.kube.transport import JsonObject

EXAMPLES = """
# SparkClusters in the current namespace
spark-operator cluster list

# SparkClusters of a team in all namespaces, with the URLs of their masters
spark-operator cluster list -A -l team=a -o wide
"""


def run(
    selector: Selector = None,
    output: Output = TABLE,
    all_namespaces: AllNamespaces = False,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> ExitCode:
    """List SparkClusters with their state and the number of ready pods.

    The command needs the permission to list pods. The column WORKERS shows the number of ready workers and
    the desired number. The desired number comes from the StatefulSet or, if you may not list StatefulSets, from the
    SparkCluster.
    """
    access = ClusterAccess(kubeconfig=kubeconfig, context=context, namespace=namespace)
    return run_with_client(access, lambda client: _list(client, selector, output, all_namespaces=all_namespaces))


async def _list(client: KubeClient, selector: str | None, output: str, *, all_namespaces: bool) -> ExitCode:
    place = None if all_namespaces else client.default_namespace
    kind = await choose_served_version(client, SPARK_CLUSTERS)
    async with aclosing(client.list_pages(kind, place, label_selector=selector)) as pages:
        if output in (TABLE, "wide"):
            return await _print_rows(client, pages, place, is_wide=output == "wide")
        printer = open_list(output)
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
            table = Table(_build_columns(view, with_namespace=place is None), is_wide=is_wide)
        if table is not None:
            table.print(page.items)
    if table is None:
        print_note(f"no SparkClusters found in {f'namespace {place}' if place else 'any namespace'}")
    if refusal:
        print_error(refusal)
        return ExitCode.API_FAILED
    return ExitCode.SUCCESS


def _build_columns(view: ClusterView, *, with_namespace: bool) -> list[Column[JsonObject]]:
    now = datetime.now(UTC)

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
