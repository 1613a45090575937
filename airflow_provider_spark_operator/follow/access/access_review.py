"""Check whether an identity can submit and follow applications in a cluster, and say what is missing."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...core.dialects.base import Dialect
from ...core.dialects.dialect import DIALECTS, dialect_of
from ...core.kubernetes.names import DEFAULT_API_VERSION
from ...kube.client import KubeClient
from ...kube.errors import KubeError
from ...kube.resources import EVENTS, PODS, SPARK_APPLICATIONS, SPARK_CLUSTERS, ResourceType

ACCESS_REVIEWS = ResourceType("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview")
# The dialect to install in a cluster that serves none.
_DEFAULT = dialect_of(DEFAULT_API_VERSION)
_ALL_VERBS = ("get", "list", "watch", "create", "patch", "delete")
MISSING = "missing"
"""The problem of a check of a permission that the identity does not have."""
_FIX = "Bind the Role in docs/manifests/airflow.yaml to the identity of the connection"


@dataclass(frozen=True)
class Check:
    """The result of one check.

    Attributes:
        title: What was checked.
        problem: What is wrong. Empty if the check passed.
        fix: What to do about the problem.
        permission: The permission that was checked, as `verb kind`. Empty if the check is not about a permission.
    """

    title: str
    problem: str = ""
    fix: str = ""
    permission: str = ""

    @property
    def is_permission(self) -> bool:
        """Whether the check is about a permission."""
        return bool(self.permission)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problem

    def __str__(self) -> str:
        return f"{self.title}: {self.problem}. {self.fix}" if self.problem else self.title


@dataclass(frozen=True)
class Permission:
    """The permission to use verbs on a kind.

    Attributes:
        resource: The kind.
        verbs: The verbs.
        subresource: The subresource. None for the objects themselves.
    """

    resource: ResourceType
    verbs: tuple[str, ...]
    subresource: str | None = None

    @property
    def name(self) -> str:
        """The kind as RBAC rules name it."""
        return f"{self.resource.plural}/{self.subresource}" if self.subresource else self.resource.qualified_name


# The permissions of every client, whatever the dialect.
_COMMON_PERMISSIONS = (
    Permission(PODS, ("get", "list", "watch")),
    Permission(PODS, ("get",), "log"),
    Permission(EVENTS, ("list",)),
)


def list_permissions(dialects: Sequence[Dialect]) -> tuple[Permission, ...]:
    """List the permissions that Airflow needs in a namespace of applications.

    Args:
        dialects: The kinds of applications.
    """
    kinds = [resource for dialect in dialects for resource in _list_kinds(dialect)]
    return (*(Permission(kind, _ALL_VERBS) for kind in kinds), *_COMMON_PERMISSIONS)


async def review_access(client: KubeClient, namespace: str | None = None) -> list[Check]:
    """Check the connection, the definitions and the permissions. Nothing is written.

    Args:
        client: The client of the cluster.
        namespace: The namespace of the applications. None for the namespace of the client.

    Returns:
        All checks, in a useful order to fix them. If the API server cannot be used, the first check says why, and there
        are no others.
    """
    try:
        version = await client.read_server_version()
        served = {dialect: await _list_served(client, dialect) for dialect in DIALECTS}
    except KubeError as error:
        return [Check(f"connection to {client.server}", str(error), "Fix the connection, then test it again")]
    found = [dialect for dialect, versions in served.items() if versions]
    definitions = [_check_versions(dialect, served[dialect]) for dialect in found] or [_report_no_definition()]
    needed = list_permissions(found or [_DEFAULT])
    permissions = await check_permissions(client, needed, namespace or client.default_namespace)
    return [Check(f"connection to {client.server} (Kubernetes {version})"), *definitions, *permissions]


def summarize(checks: Sequence[Check]) -> str:
    """Return one line for each failed check, or what was found if all checks passed."""
    failed = [check for check in checks if not check.passed]
    if failed:
        return "\n".join(str(check) for check in failed)
    permissions = sum(check.is_permission for check in checks)
    found = "; ".join(check.title for check in checks if not check.is_permission)
    return f"{found}; all {permissions} permissions"


def _list_kinds(dialect: Dialect) -> tuple[ResourceType, ...]:
    applications = replace(SPARK_APPLICATIONS, group=dialect.group, version=dialect.versions[0])
    return (applications, SPARK_CLUSTERS) if dialect.has_clusters else (applications,)


async def _list_served(client: KubeClient, dialect: Dialect) -> list[str]:
    """List the versions in which the cluster serves the applications of a dialect."""
    applications = _list_kinds(dialect)[0]
    offered = await client.list_versions(applications)
    return [version for version in offered if await client.is_served(replace(applications, version=version))]


def _check_versions(dialect: Dialect, served: Sequence[str]) -> Check:
    title = f"SparkApplication of {dialect.group} ({', '.join(served)})"
    if set(served) & set(dialect.versions):
        return Check(title)
    return Check(
        title, f"the supported versions are {', '.join(dialect.versions)}", f"To fix it, {dialect.installation}"
    )


def _report_no_definition() -> Check:
    groups = " and ".join(dialect.group for dialect in DIALECTS)
    return Check(
        "SparkApplication",
        f"the cluster has no SparkApplication resource in the API groups {groups}",
        f"To use {_DEFAULT.operator}, {_DEFAULT.installation}",
    )


async def check_permissions(client: KubeClient, permissions: Sequence[Permission], namespace: str) -> list[Check]:
    """Check each verb of some permissions. Nothing is written.

    Args:
        client: The client of the cluster.
        permissions: The permissions.
        namespace: The namespace.
    """
    checks = [
        _check_permission(client, permission, verb, namespace)
        for permission in permissions
        for verb in permission.verbs
    ]
    return list(await asyncio.gather(*checks))


async def _check_permission(client: KubeClient, permission: Permission, verb: str, namespace: str) -> Check:
    attributes: dict[str, Any] = {
        "namespace": namespace,
        "verb": verb,
        "group": permission.resource.group,
        "version": permission.resource.version,
        "resource": permission.resource.plural,
        "subresource": permission.subresource or "",
    }
    body = {
        "apiVersion": ACCESS_REVIEWS.api_version,
        "kind": ACCESS_REVIEWS.kind,
        "spec": {"resourceAttributes": attributes},
    }
    name = f"{verb} {permission.name}"
    title = f"permission to {name} in namespace {namespace}"
    try:
        review = await client.create(ACCESS_REVIEWS, body, None)
    except KubeError as error:
        return Check(title, str(error), "Permit the identity to create SelfSubjectAccessReviews", name)
    problem = "" if (review.get("status") or {}).get("allowed") else MISSING
    return Check(title, problem, _FIX, name)
