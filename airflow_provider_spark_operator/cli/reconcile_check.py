"""`spark-operator reconcile --check`: list the resources that other controllers manage."""

from collections import Counter
from dataclasses import dataclass

from airflow_provider_spark_operator.cli.errors import print_note
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.core.names import APPLICATION_FINALIZER, CLUSTER_FINALIZER
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Forbidden, NotFound
from airflow_provider_spark_operator.kube.resources import (
    NAMESPACES,
    SPARK_APPLICATIONS,
    SPARK_CLUSTERS,
    ResourceType,
)
from airflow_provider_spark_operator.reconcile.cache import key_of
from airflow_provider_spark_operator.reconcile.managers import (
    ControllerIdentity,
    find_last_manager,
    is_settled,
    read_state,
)
from airflow_provider_spark_operator.reconcile.scope import NamedNamespaces, Scope, SelectedNamespaces

_FINALIZERS = {SPARK_APPLICATIONS: APPLICATION_FINALIZER, SPARK_CLUSTERS: CLUSTER_FINALIZER}
_NONE = "new"
_SETTLED = "released, nothing due"


@dataclass(frozen=True)
class _Owned:
    """A resource, and the field manager of the controller that managed it last."""

    name: str
    state: str
    manager: str


async def check(client: KubeClient, scope: Scope, identity: ControllerIdentity) -> ExitCode:
    """Print each resource in scope that another controller manages, then the number of resources of each controller.

    Settled applications are counted separately, because no controller has to do anything for them.

    Raises:
        KubeError: The resources could not be listed.
    """
    totals: Counter[str] = Counter()
    own = identity.field_manager
    for kind in _FINALIZERS:
        for namespace in await _list_namespaces(client, scope):
            for owned in await _list_owned(client, kind, namespace, own):
                totals[owned.manager] += 1
                if owned.manager not in (own, _NONE, _SETTLED):
                    print(f"{kind.plural}/{owned.name} {owned.state} {owned.manager}")
    for manager, number in sorted(totals.items()):
        print(f"{number} {'this controller, ' if manager == own else ''}{manager}")
    return ExitCode.CHECK_FAILED if totals.keys() - {own, _NONE, _SETTLED} else ExitCode.SUCCESS


async def _list_namespaces(client: KubeClient, scope: Scope) -> tuple[str | None, ...]:
    match scope:
        case NamedNamespaces(names):
            return names
        case SelectedNamespaces(selector):
            listed = await client.list(NAMESPACES, label_selector=selector)
            return tuple(item["metadata"]["name"] for item in listed.items)
    return (None,)


async def _list_owned(client: KubeClient, kind: ResourceType, namespace: str | None, own: str) -> list[_Owned]:
    try:
        listed = await client.list(kind, namespace)
    except NotFound:
        return []  # the definition of a kind and the namespace may be missing
    except Forbidden:
        if kind is not SPARK_CLUSTERS:
            raise
        print_note(f"{kind.plural} are left out: the permission to list them is missing")
        return []
    found = []
    for item in listed.items:
        manager = _SETTLED if is_settled(item) else find_last_manager(item, _FINALIZERS[kind], own) or _NONE
        found.append(_Owned(str(key_of(item)), read_state(item) or "Submitted", manager))
    return found
