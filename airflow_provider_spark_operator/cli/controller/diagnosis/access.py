"""Check the connection, the namespace, the CustomResourceDefinitions and the permissions of the client."""

from collections.abc import Sequence
from typing import Final

from ....core.dialects.dialect import DIALECTS
from ....follow.access.access_review import Check, Permission, check_permissions, review_access
from ....follow.access.versions import KindNotServed, choose_served_version
from ....kube.client import KubeClient
from ....kube.errors import KubeError, NotFound
from ....kube.resources import NAMESPACES, PODS, SPARK_CLUSTERS, STATEFUL_SETS, ResourceType
from .finding import Finding, Status, report_error

FORWARD_PERMISSION: Final = Permission(PODS, ("get", "create"), "portforward")
"""What `forward` and `cluster forward` need in addition to docs/manifests/airflow.yaml."""
SCALE_PERMISSION: Final = Permission(STATEFUL_SETS, ("patch",), "scale")
"""What `cluster scale` needs in addition to docs/manifests/airflow.yaml."""

_FIX: Final = (
    "To use it, bind the Role in docs/manifests/command-line.yaml, in the repository of this package, to your user"
)


async def check_access(client: KubeClient, namespace: str) -> list[Finding]:
    """Check the connection, the definitions of applications and each permission of docs/manifests/airflow.yaml."""
    connection, *others = await review_access(client, namespace)
    return [_convert(connection, is_access=True), *(_convert(check, is_access=check.is_permission) for check in others)]


async def check_verbs(client: KubeClient, namespace: str, served: Sequence[ResourceType]) -> list[Finding]:
    """Check the permissions that only some verbs need, and Airflow does not. A missing one is a warning.

    Args:
        client: The client of the cluster.
        namespace: The namespace of the applications.
        served: The kinds of applications that the cluster serves.
    """
    has_clusters = SPARK_CLUSTERS.group in {kind.group for kind in served}
    verbs = [(FORWARD_PERMISSION, "`forward`"), *([(SCALE_PERMISSION, "`cluster scale`")] if has_clusters else [])]
    return [
        Finding(check.title, Status.PASSED)
        if check.passed
        else Finding(check.title, Status.WARNING, f"{check.problem}: {verb} needs it", check.fix)
        for permission, verb in verbs
        for check in await check_permissions(client, [permission], namespace, _FIX)
    ]


async def check_optional_kinds(client: KubeClient, served: Sequence[ResourceType]) -> list[Finding]:
    """Check the kinds that not every user needs: SparkClusters, and the applications of other API groups.

    Args:
        client: The client of the cluster.
        served: The kinds of applications that the cluster serves.
    """
    groups = {kind.group for kind in served}
    findings = [await _check_clusters(client)] if SPARK_CLUSTERS.group in groups else []
    missing = [dialect for dialect in DIALECTS if groups and dialect.group not in groups]
    return [
        *findings,
        *(Finding(f"SparkApplication of {one.group}", Status.SKIPPED, "the kind is not installed") for one in missing),
    ]


async def _check_clusters(client: KubeClient) -> Finding:
    check = f"SparkCluster of {SPARK_CLUSTERS.group}"
    try:
        kind = await choose_served_version(client, SPARK_CLUSTERS)
    except KindNotServed as error:
        fix = f"To use SparkClusters, {error.advice}"
        return Finding(check, Status.WARNING, "the kind is not installed in a supported version", fix)
    except KubeError as error:
        return report_error(check, error)
    return Finding(f"{check} ({kind.version})", Status.PASSED)


def _convert(check: Check, *, is_access: bool) -> Finding:
    if check.passed:
        return Finding(check.title, Status.PASSED, check.problem, is_access=is_access)
    return Finding(check.title, Status.FAILED, check.problem, check.fix, is_access)


async def check_namespace(client: KubeClient, namespace: str) -> Finding:
    """Check that a namespace exists and is not being deleted."""
    check = f"namespace {namespace}"
    try:
        found = await client.get(NAMESPACES, namespace, None)
    except NotFound:
        return Finding(check, Status.FAILED, "it does not exist", f"Run `kubectl create namespace {namespace}`")
    except KubeError as error:
        return report_error(check, error)
    if found["metadata"].get("deletionTimestamp"):
        return Finding(check, Status.FAILED, "it is being deleted", "Use another namespace")
    return Finding(check, Status.PASSED)
