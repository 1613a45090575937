"""`spark-operator reconcile --check`: list the resources that other controllers manage."""

from collections import Counter

from airflow_provider_spark_operator.cli.errors import print_note
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.core.ownership import LeaseReference, find_owner
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Forbidden, NotFound
from airflow_provider_spark_operator.kube.resources import NAMESPACES, SPARK_APPLICATIONS, SPARK_CLUSTERS, ResourceType
from airflow_provider_spark_operator.kube.transport import JsonObject
from airflow_provider_spark_operator.reconcile.cache import key_of
from airflow_provider_spark_operator.reconcile.claims import is_settled, read_state
from airflow_provider_spark_operator.reconcile.scope import NamedNamespaces, Scope, SelectedNamespaces

_NONE = "not claimed"
_SETTLED = "released, nothing due"


async def check(client: KubeClient, scope: Scope, lease: LeaseReference) -> ExitCode:
    """Print each resource in scope that another controller manages, then the number of resources of each controller.

    Settled applications are counted separately, because no controller has to do anything for them.

    Args:
        client: The client of the cluster.
        scope: The namespaces.
        lease: The Lease of this controller.

    Raises:
        KubeError: The resources could not be listed.
    """
    totals: Counter[str] = Counter()
    own = str(lease)
    for kind in (SPARK_APPLICATIONS, SPARK_CLUSTERS):
        for namespace in await _list_namespaces(client, scope):
            for item in await _list_resources(client, kind, namespace):
                owner = _SETTLED if is_settled(item) else find_owner(item) or _NONE
                totals[owner] += 1
                if owner not in (own, _NONE, _SETTLED):
                    print(f"{kind.plural}/{key_of(item)} {read_state(item) or 'Submitted'} {owner}")
    for owner, number in sorted(totals.items()):
        print(f"{number} {'this controller, ' if owner == own else ''}{owner}")
    return ExitCode.CHECK_FAILED if totals.keys() - {own, _NONE, _SETTLED} else ExitCode.SUCCESS


async def _list_namespaces(client: KubeClient, scope: Scope) -> tuple[str | None, ...]:
    match scope:
        case NamedNamespaces(names):
            return names
        case SelectedNamespaces(selector):
            listed = await client.list(NAMESPACES, label_selector=selector)
            return tuple(item["metadata"]["name"] for item in listed.items)
    return (None,)


async def _list_resources(client: KubeClient, kind: ResourceType, namespace: str | None) -> list[JsonObject]:
    try:
        return (await client.list(kind, namespace)).items
    except NotFound:
        return []  # the definition of a kind and the namespace may be missing
    except Forbidden:
        if kind is SPARK_APPLICATIONS:
            raise
        print_note(f"{kind.plural} are left out: the permission to list them is missing")
        return []
