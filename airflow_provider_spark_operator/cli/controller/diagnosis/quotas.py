"""Check that the ResourceQuotas of a namespace leave room for an application."""

from ....core.kubernetes.json_object import JsonObject
from ....core.kubernetes.pods import get_object
from ....core.kubernetes.quantities import parse_quantity
from ....kube.client import KubeClient
from ....kube.errors import KubeError
from ....kube.resources import RESOURCE_QUOTAS
from .finding import Finding, Status, report_error

_CHECK = "ResourceQuotas"
_COMPUTE = ("cpu", "requests.cpu", "limits.cpu", "memory", "requests.memory", "limits.memory")
_OBJECTS = ("pods", "configmaps", "services")
_COUNTS = (*(f"count/{name}" for name in _OBJECTS), "count/sparkapplications.spark.apache.org")
# What every application uses. Other resources, such as load balancers, can be at their limit.
_USED_BY_APPLICATIONS = frozenset({*_COMPUTE, *_OBJECTS, *_COUNTS, "count/sparkapplications.sparkoperator.k8s.io"})


async def check_quotas(client: KubeClient, namespace: str) -> list[Finding]:
    """Check each ResourceQuota of a namespace."""
    try:
        quotas = (await client.list(RESOURCE_QUOTAS, namespace)).items
    except KubeError as error:
        return [report_error(_CHECK, error)]
    if not quotas:
        return [Finding(_CHECK, Status.PASSED, f"namespace {namespace} has none")]
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
