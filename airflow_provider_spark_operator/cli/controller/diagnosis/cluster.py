"""Check the cluster: its CustomResourceDefinitions, the ResourceQuotas of the namespace, and DNS."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ....core.kubernetes.json_object import JsonObject
from ....core.kubernetes.pods import get_object
from ....core.kubernetes.quantities import parse_quantity
from ....core.states.states import ApplicationState
from ....kube.client import KubeClient
from ....kube.errors import KubeError
from ....kube.resources import ENDPOINT_SLICES, RESOURCE_QUOTAS, SERVICES, SPARK_APPLICATIONS, ResourceType
from .finding import Finding, Status, report_error

_DEFINITIONS_FIX: Final = (
    "To suspend applications, install newer definitions: "
    "`spark-operator crds | kubectl apply --server-side --force-conflicts -f -`"
)
_STATE_PATH: Final = ("status", "currentState", "currentStateSummary")
_DNS = "DNS of the cluster"
_DNS_NAMESPACE = "kube-system"
# kube-dns, CoreDNS and the packages of CoreDNS keep this label.
_DNS_SELECTOR = "k8s-app=kube-dns"
_QUOTAS = "ResourceQuotas"
_COMPUTE = ("cpu", "requests.cpu", "limits.cpu", "memory", "requests.memory", "limits.memory")
_OBJECTS = ("pods", "configmaps", "services")
_COUNTS = (*(f"count/{name}" for name in _OBJECTS), "count/sparkapplications.spark.apache.org")
# What every application uses. Other resources, such as load balancers, can be at their limit.
_USED_BY_APPLICATIONS = frozenset({*_COMPUTE, *_OBJECTS, *_COUNTS, "count/sparkapplications.sparkoperator.k8s.io"})


async def check_definitions(client: KubeClient, served: Sequence[ResourceType]) -> list[Finding]:
    """Check the definition of the Apache operator's SparkApplication, if the cluster serves one.

    Args:
        client: The client of the cluster.
        served: The kinds of applications that the cluster serves.
    """
    return [await _check_definition(client, kind) for kind in served if kind.group == SPARK_APPLICATIONS.group]


async def _check_definition(client: KubeClient, kind: ResourceType) -> Finding:
    check = f"definition of {kind.kind} ({kind.version})"
    try:
        schema = await client.read_schema(kind)
    except KubeError as error:
        return report_error(check, error)
    if not schema:
        return Finding(check, Status.SKIPPED, "the API server publishes no schema of the kind")
    missing = [
        *([] if _find_part(schema, ("spec", "suspend")) else ["the field spec.suspend"]),
        *([] if _has_state(schema) else [f"the state {ApplicationState.SUSPENDED}"]),
    ]
    if missing:
        return Finding(check, Status.WARNING, f"it lacks {' and '.join(missing)}", _DEFINITIONS_FIX)
    return Finding(check, Status.PASSED)


def _has_state(schema: Mapping[str, object]) -> bool:
    words = _find_part(schema, _STATE_PATH).get("enum")
    return not isinstance(words, list) or ApplicationState.SUSPENDED in words


def _find_part(schema: Mapping[str, object], path: Sequence[str]) -> Mapping[str, object]:
    """Return the schema of the field at `path`; empty if the schema does not contain the field."""
    for name in path:
        schema = get_object(get_object(schema.get("properties")).get(name))
    return schema


async def check_dns(client: KubeClient) -> Finding:
    """Check that the Service of the DNS has ready endpoints."""
    try:
        services = (await client.list(SERVICES, _DNS_NAMESPACE, label_selector=_DNS_SELECTOR)).items
        if not services:
            absent = f"namespace {_DNS_NAMESPACE} has no Service with the label {_DNS_SELECTOR}"
            return Finding(_DNS, Status.SKIPPED, absent)
        name = services[0]["metadata"]["name"]
        slices = await client.list(ENDPOINT_SLICES, _DNS_NAMESPACE, label_selector=f"kubernetes.io/service-name={name}")
    except KubeError as error:
        return report_error(_DNS, error)
    endpoints = [endpoint for one in slices.items for endpoint in one.get("endpoints") or ()]
    ready = sum(_is_ready(endpoint) for endpoint in endpoints)
    result = f"Service {_DNS_NAMESPACE}/{name}: {ready} of {len(endpoints)} endpoints ready"
    if not ready:
        pods = f"`kubectl get pods -n {_DNS_NAMESPACE} -l {_DNS_SELECTOR}`"
        fix = f"Check {pods}. Without DNS, executors cannot find their driver"
        return Finding(_DNS, Status.FAILED, result, fix)
    return Finding(_DNS, Status.PASSED, result)


def _is_ready(endpoint: Mapping[str, Any]) -> bool:
    # A missing condition counts as ready: see the API reference of EndpointSlice.
    return (endpoint.get("conditions") or {}).get("ready") is not False


async def check_quotas(client: KubeClient, namespace: str) -> list[Finding]:
    """Check each ResourceQuota of a namespace."""
    try:
        quotas = (await client.list(RESOURCE_QUOTAS, namespace)).items
    except KubeError as error:
        return [report_error(_QUOTAS, error)]
    if not quotas:
        return [Finding(_QUOTAS, Status.PASSED, f"namespace {namespace} has none")]
    return [_check_quota(quota) for quota in quotas]


def _check_quota(quota: JsonObject) -> Finding:
    check = f"ResourceQuota {quota['metadata']['name']}"
    status = get_object(quota.get("status"))
    hard, used = get_object(status.get("hard")), get_object(status.get("used"))
    limits = {name: limit for name, limit in hard.items() if name in _USED_BY_APPLICATIONS}
    result = ", ".join(f"{name} {used.get(name, 0)} of {limit}" for name, limit in limits.items())
    exhausted = [name for name, limit in limits.items() if parse_quantity(used.get(name)) >= parse_quantity(limit)]
    if not exhausted and "limits.cpu" in limits:
        fix = (
            "Set spark.kubernetes.driver.limit.cores and spark.kubernetes.executor.limit.cores, or create a LimitRange"
        )
        return Finding(
            check, Status.WARNING, f"pods need a CPU limit, which Spark does not set by default: {result}", fix
        )
    if not exhausted:
        return Finding(check, Status.PASSED, result or "it limits nothing that applications use")
    fix = f"Delete ended applications, or raise {', '.join(exhausted)} in the ResourceQuota"
    spec = get_object(quota.get("spec"))
    if spec.get("scopes") or spec.get("scopeSelector"):
        return Finding(check, Status.WARNING, f"the quota has no room for more pods: {result}", fix)
    return Finding(check, Status.FAILED, f"no headroom: {result}", fix)
