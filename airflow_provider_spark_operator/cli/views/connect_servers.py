"""The Spark Connect servers of Kubeflow's operator, which `list` and `describe` show."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from ...core.dialects.dialect import KUBEFLOW
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.pods import get_object, get_text
from ...kube.client import KubeClient
from ...kube.errors import Forbidden, NotFound
from ...kube.resources import ResourceType
from ..base.ages import format_age
from ..output.section_printer import SectionPrinter
from ..output.tables import Column, Table

_KIND: Final = ResourceType(KUBEFLOW.group, "v1alpha1", "sparkconnects", "SparkConnect")


async def print_connect_servers(
    client: KubeClient, kinds: Sequence[ResourceType], namespace: str | None, selector: str | None
) -> int:
    """Print a table of the servers below the applications, and return their number.

    Nothing is printed if the user may not list them, because other users do not need this permission.

    Args:
        client: The client of the cluster.
        kinds: The kinds of applications that the cluster serves. Without those of Kubeflow, there are no servers.
        namespace: The namespace. None for all namespaces.
        selector: Selects servers by their labels.
    """
    if all(kind.group != KUBEFLOW.group for kind in kinds):
        return 0
    try:
        if not await client.is_served(_KIND):
            return 0
        servers = (await client.list(_KIND, namespace, label_selector=selector)).items
    except Forbidden:
        return 0
    if servers:
        print("\nSpark Connect servers of Kubeflow's operator:")
        Table(_build_columns(client.get_time(), with_namespace=namespace is None), indent="  ").print(servers)
    return len(servers)


async def describe_connect_server(client: KubeClient, name: str) -> bool:
    """Print the server with a name, and return whether it exists and the user may read it.

    Raises:
        KubeError: The API rejected the request or could not be reached.
    """
    try:
        if not await client.is_served(_KIND):
            return False
        server = await client.get(_KIND, name, client.default_namespace)
    except (NotFound, Forbidden):
        return False
    pairs = [("Kind", _KIND.kind), ("API version", _KIND.api_version)]
    shown = [(column.title.capitalize(), column.read(server)) for column in _build_columns(client.get_time())]
    SectionPrinter().print_pairs([*shown, *pairs, ("Message", _read_message(server))])
    return True


def _build_columns(now: datetime, *, with_namespace: bool = True) -> list[Column[JsonObject]]:
    columns: list[Column[JsonObject]] = [
        Column("NAME", lambda server: str(server["metadata"]["name"]), 12),
        Column("STATE", lambda server: get_text(_get_status(server).get("state")) or "New"),
        Column("SERVER", lambda server: get_text(get_object(_get_status(server).get("server")).get("podName")) or "-"),
        Column("AGE", lambda server: format_age(server["metadata"].get("creationTimestamp"), now)),
    ]
    place: Column[JsonObject] = Column("NAMESPACE", lambda server: str(server["metadata"]["namespace"]))
    return [place, *columns] if with_namespace else columns


def _get_status(server: Mapping[str, Any]) -> Mapping[str, object]:
    return get_object(server.get("status"))


def _read_message(server: Mapping[str, Any]) -> str:
    conditions = _get_status(server).get("conditions")
    last = conditions[-1] if isinstance(conditions, list) and conditions else {}
    return get_text(get_object(last).get("message"))
