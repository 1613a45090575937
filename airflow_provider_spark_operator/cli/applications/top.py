"""`spark-operator top`: the cores and the memory of applications or of the pods of one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from ...core.dialects.dialect import DIALECTS
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import LABEL_ROLE, ROLE_DRIVER, ROLE_EXECUTOR
from ...core.kubernetes.pods import get_status, get_text, read_phase
from ...core.kubernetes.quantities import format_bytes, format_cores
from ...core.report.resources import Resources, add_up, read_requests, read_usage
from ...follow.access.find import find_application
from ...kube.client import KubeClient
from ...kube.connection import ClusterAccess
from ...kube.errors import Forbidden, NotFound, ServerError
from ...kube.resources import POD_METRICS, PODS
from ..base.cluster_client import run_with_client
from ..base.errors import CommandError, print_note
from ..base.exit_codes import ExitCode
from ..base.object_names import require_application
from ..options.completers import complete_applications
from ..options.declaration import Parameter
from ..options.options import AllNamespaces, Context, Kubeconfig, Namespace, PodSelector
from ..output.tables import print_table

EXAMPLES = """
# Executors, cores and memory of the applications in the current namespace
spark-operator top

# The largest applications of the cluster first
spark-operator top -A --sort-by memory

# The driver and each executor of one application
spark-operator top pi
"""

_ENDED: Final = frozenset({"succeeded", "failed"})
_ROLES: Final = f"{LABEL_ROLE} in ({ROLE_DRIVER},{ROLE_EXECUTOR})"


class SortKey(StrEnum):
    """The orders of the rows."""

    NAME = "name"
    CORES = "cores"
    MEMORY = "memory"


@dataclass(frozen=True)
class _Row:
    namespace: str
    name: str
    executors: int
    requested: Resources
    used: Resources | None


def run(
    name: Annotated[
        str | None,
        Parameter(
            "NAME",
            "name of an application whose pods are shown (default: all applications)",
            check=require_application,
            complete=complete_applications,
        ),
    ] = None,
    sort_by: Annotated[SortKey, Parameter("--sort-by KEY", "order of the rows: name, cores or memory")] = SortKey.NAME,
    selector: PodSelector = None,
    all_namespaces: AllNamespaces = False,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> ExitCode:
    """Show the executors of applications, and the cores and memory that their pods request and use.

    The usage comes from the metrics API (metrics.k8s.io). If this API is not available or not permitted, the command
    shows only the requests. -l selects pods by their own labels, which can differ from those of the application.
    """
    if name is not None and all_namespaces:
        raise CommandError("NAME and --all-namespaces cannot be combined. Use -n NAMESPACE", ExitCode.INVALID)
    access = ClusterAccess(kubeconfig=kubeconfig, context=context, namespace=namespace)

    async def show(client: KubeClient) -> ExitCode:
        place = None if all_namespaces else client.default_namespace
        if name is not None:
            application, _ = await find_application(client, name)
            place = str(application["metadata"]["namespace"])
        found = None if name is None else str(application["metadata"]["name"])
        pods = await _list_pods(client, place, found, selector)
        usage = await _read_usage(client, place) if pods else {}
        rows = [_build_pod_row(pod, usage) for pod in pods] if name else _build_application_rows(pods, usage)
        _print(
            _sort(rows, sort_by), of_pods=name is not None, with_namespace=place is None, with_usage=usage is not None
        )
        if not rows:
            print_note(f"no running pods of {f'application {name}' if name else 'applications'} found")
        return ExitCode.SUCCESS

    return run_with_client(access, show)


async def _list_pods(
    client: KubeClient, namespace: str | None, name: str | None, selector: str | None
) -> list[JsonObject]:
    """List the pods of applications that have not ended: an ended pod holds no resources."""
    wanted = ",".join(part for part in (_ROLES, selector) if part)
    found = (await client.list(PODS, namespace, label_selector=wanted)).items
    alive = [pod for pod in found if read_phase(get_status(pod)) not in _ENDED]
    return [pod for pod in alive if _name_application(pod) and name in (None, _name_application(pod))]


async def _read_usage(client: KubeClient, namespace: str | None) -> dict[tuple[str, str], Resources] | None:
    """Return the usage of pods by namespace and name. None if it is not available."""
    try:
        found = await client.list(POD_METRICS, namespace, label_selector=_ROLES)
    except NotFound:
        print_note("the usage is not available: the cluster does not serve metrics.k8s.io (metrics-server)")
        return None
    except (Forbidden, ServerError) as error:
        print_note(f"the usage is not available: {error}")
        return None
    return {_identify(item): read_usage(item) for item in found.items}


def _build_pod_row(pod: JsonObject, usage: Mapping[tuple[str, str], Resources] | None) -> _Row:
    namespace, name = _identify(pod)
    used = usage.get((namespace, name)) if usage else None
    return _Row(namespace, name, int(_read_role(pod) == ROLE_EXECUTOR), read_requests(pod), used)


def _build_application_rows(
    pods: Sequence[JsonObject], usage: Mapping[tuple[str, str], Resources] | None
) -> list[_Row]:
    """Return one row for each application, with the sums of its pods."""
    groups: dict[tuple[str, str], list[_Row]] = {}
    for pod in pods:
        row = _build_pod_row(pod, usage)
        groups.setdefault((row.namespace, _name_application(pod)), []).append(row)
    return [
        _Row(
            namespace,
            name,
            sum(row.executors for row in rows),
            add_up(row.requested for row in rows),
            add_up(row.used for row in rows if row.used) if any(row.used for row in rows) else None,
        )
        for (namespace, name), rows in groups.items()
    ]


def _sort(rows: Sequence[_Row], key: SortKey) -> list[_Row]:
    named = sorted(rows, key=lambda row: (row.namespace, row.name))
    if key is SortKey.NAME:
        return named
    return sorted(named, key=lambda row: -(row.requested.cores if key is SortKey.CORES else row.requested.memory))


def _print(rows: Sequence[_Row], *, of_pods: bool, with_namespace: bool, with_usage: bool) -> None:
    if not rows:
        return
    titles = ["NAMESPACE"] * with_namespace + ["POD" if of_pods else "NAME"] + ["EXECUTORS"] * (not of_pods)
    titles += ["CORES", "MEMORY", *(["CORES USED", "MEMORY USED"] if with_usage else [])]
    lines = []
    for row in rows:
        cells = [row.namespace] * with_namespace + [row.name] + [str(row.executors)] * (not of_pods)
        cells += _format(row.requested)
        if with_usage:
            cells += _format(row.used) if row.used else ["", ""]
        lines.append(cells)
    print_table(titles, lines)


def _format(amount: Resources) -> list[str]:
    return [format_cores(amount.cores), format_bytes(amount.memory)]


def _identify(document: JsonObject) -> tuple[str, str]:
    return str(document["metadata"].get("namespace", "")), str(document["metadata"]["name"])


def _name_application(pod: JsonObject) -> str:
    labels = pod["metadata"].get("labels") or {}
    return next((str(labels[one.application_label]) for one in DIALECTS if one.application_label in labels), "")


def _read_role(pod: JsonObject) -> str:
    return get_text((pod["metadata"].get("labels") or {}).get(LABEL_ROLE))
