"""Check the DNS of the cluster, by which executors find their driver."""

from collections.abc import Mapping
from typing import Any

from ....kube.client import KubeClient
from ....kube.errors import KubeError
from ....kube.resources import ENDPOINT_SLICES, SERVICES
from .finding import Finding, Status, report_error

_CHECK = "DNS of the cluster"
_NAMESPACE = "kube-system"
# kube-dns, CoreDNS and the packages of CoreDNS keep this label.
_SELECTOR = "k8s-app=kube-dns"


async def check_dns(client: KubeClient) -> Finding:
    """Check that the Service of the DNS has ready endpoints."""
    try:
        services = (await client.list(SERVICES, _NAMESPACE, label_selector=_SELECTOR)).items
        if not services:
            absent = f"namespace {_NAMESPACE} has no Service with the label {_SELECTOR}"
            return Finding(_CHECK, Status.SKIPPED, absent)
        name = services[0]["metadata"]["name"]
        slices = await client.list(ENDPOINT_SLICES, _NAMESPACE, label_selector=f"kubernetes.io/service-name={name}")
    except KubeError as error:
        return report_error(_CHECK, error)
    endpoints = [endpoint for one in slices.items for endpoint in one.get("endpoints") or ()]
    ready = sum(_is_ready(endpoint) for endpoint in endpoints)
    result = f"Service {_NAMESPACE}/{name}: {ready} of {len(endpoints)} endpoints ready"
    if not ready:
        fix = (
            f"Check `kubectl get pods -n {_NAMESPACE} -l {_SELECTOR}`. Without DNS, executors cannot find their driver"
        )
        return Finding(_CHECK, Status.FAILED, result, fix)
    return Finding(_CHECK, Status.PASSED, result)


def _is_ready(endpoint: Mapping[str, Any]) -> bool:
    # A missing condition counts as ready: see the API reference of EndpointSlice.
    return (endpoint.get("conditions") or {}).get("ready") is not False
