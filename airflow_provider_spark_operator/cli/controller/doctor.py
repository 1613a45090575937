"""`spark-operator doctor`: check everything that an application needs in a cluster."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from ...follow.access.find import list_served_kinds
from ...kube.client import KubeClient
from ...kube.errors import KubeError
from ...kube.resources import ResourceType
from ..base.errors import ExitCode, print_note
from ..options.cluster_access import ClusterOptions, run_with_client
from ..options.declaration import Parameter
from ..options.options import require_text
from .diagnosis.access import (
    DEFAULT_ACCOUNT,
    check_access,
    check_drivers,
    check_namespace,
    check_optional_kinds,
    check_verbs,
    find_subject,
)
from .diagnosis.cluster import check_definitions, check_dns, check_quotas
from .diagnosis.controllers import check_controllers
from .diagnosis.finding import Finding, Status, print_findings


class ReportFormat(StrEnum):
    """The formats of the report."""

    TABLE = "table"
    JSON = "json"


def run(
    access: ClusterOptions,
    service_account: Annotated[
        str, Parameter("--service-account NAME", "service account of the drivers", check=require_text)
    ] = DEFAULT_ACCOUNT,
    output: Annotated[ReportFormat, Parameter("-o --output table|json", "format of the report")] = ReportFormat.TABLE,
) -> ExitCode:
    """Check everything that an application needs in a cluster, and print how to fix what failed.

    The command changes nothing. It checks the connection, the CustomResourceDefinitions and their versions, the
    controllers, and your own permissions (those of the kubeconfig). It also checks the service account of drivers and
    its permissions, the ResourceQuotas of the namespace, and DNS.

    The permissions that one Role grants are one check. A missing permission that only some verbs or
    `spark_metrics` need is a warning. If you lack the permission for a check, the check is skipped, and the fix says
    which role has it.

    The exit code is 0 if no check failed; skipped checks do not change it. It is 3 if the connection failed, or if a
    permission that applications need is missing. It is 5 if another check failed.

    Examples:
        # Check the cluster and the current namespace
        spark-operator doctor

        # Print only the checks that failed, as JSON
        spark-operator doctor -n jobs -o json | jq '.checks[] | select(.status == "failed")'
    """
    return run_with_client(access, lambda client: _diagnose(client, service_account, output))


async def _diagnose(client: KubeClient, account: str, output: ReportFormat) -> ExitCode:
    findings = await _collect(client, account)
    if output is ReportFormat.JSON:
        _print_json(client, findings)
    else:
        print_findings(findings)
        counts = Counter(one.status for one in findings)
        print_note(", ".join(f"{counts[status]} {status}" for status in Status))
    failed = [one for one in findings if one.status is Status.FAILED]
    if not failed:
        return ExitCode.SUCCESS
    return ExitCode.API_FAILED if any(one.is_access for one in failed) else ExitCode.INFRASTRUCTURE_FAILED


async def _collect(client: KubeClient, account: str) -> list[Finding]:
    """Run all checks. Without a connection, there is only one."""
    namespace = client.default_namespace
    subject = await find_subject(client)
    access = await check_access(client, namespace, subject)
    if access[0].status is Status.FAILED:
        return [access[0]]
    kinds = await _list_kinds(client)
    verbs = await check_verbs(client, namespace, kinds, subject)
    place = await check_namespace(client, namespace)
    optional, definitions, controllers, drivers, quotas, dns = await asyncio.gather(
        check_optional_kinds(client, kinds),
        check_definitions(client, kinds),
        check_controllers(client, namespace, kinds, client.get_time()),
        check_drivers(client, namespace, account),
        check_quotas(client, namespace),
        check_dns(client),
    )
    general = [one for one in access if not one.is_access or one is access[0]]
    permissions = [one for one in access[1:] if one.is_access]
    return [*general, *optional, *definitions, *controllers, place, *permissions, *verbs, *drivers, *quotas, dns]


async def _list_kinds(client: KubeClient) -> list[ResourceType]:
    """Return the kinds of applications that the cluster serves. `check_access` reports why there are none."""
    try:
        return await list_served_kinds(client)
    except KubeError:
        return []


def _print_json(client: KubeClient, findings: Sequence[Finding]) -> None:
    checks = [{"check": one.check, "status": one.status, "result": one.result, "fix": one.fix} for one in findings]
    print(json.dumps({"server": client.server, "namespace": client.default_namespace, "checks": checks}, indent=2))
