"""Check that the namespace of the applications exists."""

from ....kube.client import KubeClient
from ....kube.errors import KubeError, NotFound
from ....kube.resources import NAMESPACES
from .finding import Finding, Status, report_error


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
