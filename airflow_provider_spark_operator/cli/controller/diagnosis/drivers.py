"""Check the service account of drivers and its permissions."""

import asyncio
from collections.abc import Mapping

from ....kube import resources
from ....kube.client import KubeClient
from ....kube.errors import KubeError, NotFound
from .access import join_permissions
from .finding import Finding, Status, report_error

DEFAULT_ACCOUNT = "spark"
"""The service account in docs/manifests/workload.yaml."""
_WRITE = ("create", "update", "patch", "delete", "deletecollection")
DRIVER_PERMISSIONS: Mapping[resources.ResourceType, tuple[str, ...]] = {
    resources.PODS: ("get", "list", "watch", *_WRITE),
    resources.CONFIG_MAPS: ("get", "list", *_WRITE),
    resources.PERSISTENT_VOLUME_CLAIMS: ("get", "list", *_WRITE),
    resources.SERVICES: ("get", "list", *_WRITE),
}
"""The permissions of the Role in docs/manifests/workload.yaml."""


async def check_drivers(client: KubeClient, namespace: str, account: str) -> list[Finding]:
    """Check that the service account of drivers exists and has the permissions of docs/manifests/workload.yaml.

    Args:
        client: The client of the cluster.
        namespace: The namespace of the applications.
        account: The name of the service account.
    """
    found = await _check_account(client, namespace, account)
    if found.status is Status.FAILED:  # what creates the account grants the permissions
        return [found]
    return [found, await _check_permissions(client, namespace, account)]


def _advise(namespace: str) -> str:
    return f"with `spark-operator roles --for driver -n {namespace} | kubectl apply -f -`"


def _advise_creation(namespace: str, account: str) -> str:
    if account == DEFAULT_ACCOUNT:
        return (
            f"Create the service account {account} and its permissions {_advise(namespace)}. If your applications use "
            "another service account, name it with --service-account"
        )
    return (
        f"Create it with `kubectl create serviceaccount {account} -n {namespace}`. Create the Role spark-driver "
        f"{_advise(namespace)}, and bind it with `kubectl create rolebinding spark-driver-{account} "
        f"--role=spark-driver --serviceaccount={namespace}:{account} -n {namespace}`"
    )


async def _check_account(client: KubeClient, namespace: str, account: str) -> Finding:
    check = f"service account {account} of drivers"
    try:
        await client.get(resources.SERVICE_ACCOUNTS, account, namespace)
    except NotFound:
        return Finding(
            check, Status.FAILED, f"it does not exist in namespace {namespace}", _advise_creation(namespace, account)
        )
    except KubeError as error:
        return report_error(check, error)
    return Finding(check, Status.PASSED)


async def _check_permissions(client: KubeClient, namespace: str, account: str) -> Finding:
    check = f"permissions of the service account {account} of drivers"
    needed = [(kind, verb) for kind, verbs in DRIVER_PERMISSIONS.items() for verb in verbs]
    try:
        answers = await asyncio.gather(*(_is_allowed(client, namespace, account, kind, verb) for kind, verb in needed))
    except KubeError as error:
        return report_error(check, error)
    missing = [f"{verb} {kind.plural}" for (kind, verb), allowed in zip(needed, answers, strict=True) if not allowed]
    if missing:
        fix = (
            f"Create the Role spark-driver {_advise(namespace)}. It is bound to the service account spark; bind it to "
            "any other account"
        )
        return Finding(check, Status.FAILED, f"missing: {join_permissions(missing)}", fix)
    return Finding(check, Status.PASSED, f"all {len(needed)}")


async def _is_allowed(
    client: KubeClient, namespace: str, account: str, kind: resources.ResourceType, verb: str
) -> bool:
    attributes = {"namespace": namespace, "verb": verb, "group": kind.group, "resource": kind.plural}
    spec = {
        "user": f"system:serviceaccount:{namespace}:{account}",
        "groups": ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"],
        "resourceAttributes": attributes,
    }
    body = {
        "apiVersion": resources.LOCAL_ACCESS_REVIEWS.api_version,
        "kind": resources.LOCAL_ACCESS_REVIEWS.kind,
        "metadata": {"namespace": namespace},
        "spec": spec,
    }
    review = await client.create(resources.LOCAL_ACCESS_REVIEWS, body, namespace)
    return bool((review.get("status") or {}).get("allowed"))
