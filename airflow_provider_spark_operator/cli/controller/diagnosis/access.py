"""Check the connection, the namespace, the CustomResourceDefinitions, and the permissions of the client and drivers."""

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from ....core.dialects.dialect import DIALECTS
from ....follow.access.access_review import MISSING, Check, Permission, check_permissions, review_access
from ....follow.access.versions import KindNotServed, choose_served_version
from ....kube import resources
from ....kube.client import KubeClient
from ....kube.errors import KubeError, NotFound
from ....kube.resources import NAMESPACES, PODS, SELF_REVIEWS, SPARK_CLUSTERS, STATEFUL_SETS, ResourceType
from ...base.program_name import PROGRAM
from .finding import Finding, Status, report_error

FORWARD_PERMISSION: Final = Permission(PODS, ("get", "create"), "portforward")
"""What `forward` and `cluster forward` need in addition to docs/manifests/airflow.yaml."""
STOP_PERMISSION: Final = Permission(PODS, ("patch",))
"""What `stop` needs in addition to docs/manifests/airflow.yaml."""
SCALE_PERMISSION: Final = Permission(STATEFUL_SETS, ("patch",), "scale")
"""What `cluster scale` needs in addition to docs/manifests/airflow.yaml."""
METRICS_PERMISSION: Final = Permission(PODS, ("get",), "proxy")
"""The permission for the parameter `spark_metrics`. The rule is a comment in docs/manifests/airflow.yaml."""


_START_FOR_FINALIZERS: Final = (
    "A controller removes the finalizers of Spark. Without Helm, start it with `spark-operator reconcile --namespaces "
    "NAMESPACE --lease OTHER-NAMESPACE/NAME`"
)


_ACCOUNT: Final = "system:serviceaccount:"
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


async def find_subject(client: KubeClient) -> str:
    """Return the option with which `kubectl create rolebinding` names the identity of the client."""
    try:
        review = await client.create(SELF_REVIEWS, {}, None)
    except KubeError:  # Kubernetes before 1.28
        return "--user USER"
    user = str(review["status"]["userInfo"]["username"])
    if user.startswith(_ACCOUNT):
        return f"--serviceaccount {user.removeprefix(_ACCOUNT)}"
    return f"--user {shlex.quote(user)}"


def _advise_role(audience: str, role: str, namespace: str, subject: str) -> str:
    return (
        f"Create the Role with `{PROGRAM} roles --for {audience} -n {namespace} | kubectl apply -f -`, and bind it "
        f"with `kubectl create rolebinding NAME -n {namespace} --role {role} {subject}`"
    )


async def check_access(client: KubeClient, namespace: str, subject: str) -> list[Finding]:
    """Check the connection, the definitions of applications and the permissions of docs/manifests/airflow.yaml.

    Args:
        client: The client of the cluster.
        namespace: The namespace of the applications.
        subject: The identity of the client, see `find_subject`.
    """
    connection, *others = await review_access(client, namespace)
    permissions = [check for check in others if check.is_permission]
    role = _advise_role("airflow", "airflow-spark-operator", namespace, subject)
    return [
        _convert(connection, is_access=True),
        *(_convert(check) for check in others if not check.is_permission),
        *merge_permissions(f"permissions in namespace {namespace}", permissions, role),
    ]


def merge_permissions(title: str, checks: Sequence[Check], role: str, status: Status = Status.FAILED) -> list[Finding]:
    """Return one finding for each cause, instead of one for each permission.

    Args:
        title: What the permissions are for.
        checks: The checks of the permissions.
        role: How to grant missing permissions.
        status: How a check ended that did not pass.
    """
    causes: dict[tuple[str, str], list[str]] = {}
    for check in checks:
        if not check.passed:
            fix = role if check.problem == MISSING else check.fix
            causes.setdefault((check.problem, fix), []).append(check.permission)
    found = [
        Finding(title, status, f"{problem}: {join_permissions(permissions)}", fix, is_access=status is Status.FAILED)
        for (problem, fix), permissions in causes.items()
    ]
    passed = Finding(title, Status.PASSED, f"all {len(checks)}", is_access=True)
    return found or ([passed] if checks else [])


def join_permissions(permissions: Sequence[str]) -> str:
    """Return permissions by their kind: `get, list pods; list events`."""
    verbs: dict[str, list[str]] = {}
    for permission in permissions:
        verb, _, kind = permission.partition(" ")
        verbs.setdefault(kind, []).append(verb)
    return "; ".join(f"{', '.join(each)} {kind}" for kind, each in verbs.items())


async def check_verbs(
    client: KubeClient, namespace: str, served: Sequence[ResourceType], subject: str
) -> list[Finding]:
    """Check the permissions that only some verbs, or tasks with `spark_metrics`, need. A missing one is a warning.

    Args:
        client: The client of the cluster.
        namespace: The namespace of the applications.
        served: The kinds of applications that the cluster serves.
        subject: The identity of the client, see `find_subject`.
    """
    has_clusters = SPARK_CLUSTERS.group in {kind.group for kind in served}
    permissions = [FORWARD_PERMISSION, STOP_PERMISSION, *([SCALE_PERMISSION] if has_clusters else [])]
    *checks, metrics = await check_permissions(client, [*permissions, METRICS_PERMISSION], namespace)
    role = _advise_role("cli", "spark-operator-command-line", namespace, subject)
    verbs = "`forward`, `stop` and `cluster scale`" if has_clusters else "`forward` and `stop`"
    metrics_role = (
        f"If tasks set `spark_metrics`, uncomment the rule of {METRICS_PERMISSION.name} in the output of "
        f"`{PROGRAM} roles --for airflow -n {namespace}`, and apply it"
    )
    return [
        *merge_permissions(f"permissions for {verbs} in namespace {namespace}", checks, role, Status.WARNING),
        *merge_permissions(
            f"permission for `spark_metrics` in namespace {namespace}", [metrics], metrics_role, Status.WARNING
        ),
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


def _convert(check: Check, *, is_access: bool = False) -> Finding:
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
        conditions = found.get("status", {}).get("conditions") or ()
        left = [one["message"] for one in conditions if one["type"] == "NamespaceFinalizersRemaining"]
        fix = "Use another namespace" + (f". {_START_FOR_FINALIZERS}" if left else "")
        return Finding(check, Status.FAILED, ": ".join(["it is being deleted", *left]), fix)
    return Finding(check, Status.PASSED)


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
