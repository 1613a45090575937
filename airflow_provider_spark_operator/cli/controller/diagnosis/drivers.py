"""Check the service account of drivers and its permissions."""

import asyncio
from collections.abc import Mapping

from ....kube.client import KubeClient
from ....kube.errors import KubeError, NotFound
from ....kube.resources import (
    CONFIG_MAPS,
    LOCAL_ACCESS_REVIEWS,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    SERVICE_ACCOUNTS,
    SERVICES,
    ResourceType,
)
from .finding import Finding, Status, report_error

_WRITE = ("create", "update", "patch", "delete", "deletecollection")
DRIVER_PERMISSIONS: Mapping[ResourceType, tuple[str, ...]] = {
    PODS: ("get", "list", "watch", *_WRITE),
    CONFIG_MAPS: ("get", "list", *_WRITE),
    PERSISTENT_VOLUME_CLAIMS: ("get", "list", *_WRITE),
    SERVICES: ("get", "list", *_WRITE),
}
"""The permissions of the Role in docs/manifests/workload.yaml."""


async def check_drivers(client: KubeClient, namespace: str, account: str) -> list[Finding]:
    """Check that the service account of drivers exists and has the permissions of docs/manifests/workload.yaml.

    Args:
        client: The client of the cluster.
        namespace: The namespace of the applications.
        account: The name of the service account.
    """
    permissions = [_check_permissions(client, namespace, account, kind) for kind in DRIVER_PERMISSIONS]
    return list(await asyncio.gather(_check_account(client, namespace, account), *permissions))


async def _check_account(client: KubeClient, namespace: str, account: str) -> Finding:
    check = f"service account {account} of drivers"
    try:
        await client.get(SERVICE_ACCOUNTS, account, namespace)
    except NotFound:
        fix = (
            f"Create it with `kubectl apply -n {namespace} -f docs/manifests/workload.yaml` in the repository of this "
            "package. If your applications use another service account, name it with --service-account"
        )
        return Finding(check, Status.FAILED, f"it does not exist in namespace {namespace}", fix)
    except KubeError as error:
        return report_error(check, error)
    return Finding(check, Status.PASSED)


async def _check_permissions(client: KubeClient, namespace: str, account: str, kind: ResourceType) -> Finding:
    check = f"permissions of drivers on {kind.plural}"
    verbs = DRIVER_PERMISSIONS[kind]
    try:
        answers = await asyncio.gather(*(_is_allowed(client, namespace, account, kind, verb) for verb in verbs))
    except KubeError as error:
        return report_error(check, error)
    missing = [verb for verb, allowed in zip(verbs, answers, strict=True) if not allowed]
    if missing:
        fix = (
            f"Bind the Role in docs/manifests/workload.yaml, in the repository of this package, to service account "
            f"{account} in namespace {namespace}"
        )
        return Finding(check, Status.FAILED, f"missing: {', '.join(missing)}", fix)
    return Finding(check, Status.PASSED, ", ".join(verbs))


async def _is_allowed(client: KubeClient, namespace: str, account: str, kind: ResourceType, verb: str) -> bool:
    attributes = {"namespace": namespace, "verb": verb, "group": kind.group, "resource": kind.plural}
    spec = {
        "user": f"system:serviceaccount:{namespace}:{account}",
        "groups": ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"],
        "resourceAttributes": attributes,
    }
    body = {
        "apiVersion": LOCAL_ACCESS_REVIEWS.api_version,
        "kind": LOCAL_ACCESS_REVIEWS.kind,
        "metadata": {"namespace": namespace},
        "spec": spec,
    }
    review = await client.create(LOCAL_ACCESS_REVIEWS, body, namespace)
    return bool((review.get("status") or {}).get("allowed"))
