"""`spark-operator top`: the cores and the memory of applications or of the pods of one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from ...core.dialects.dialect import DIALECTS
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import LABEL_ROLE, ROLE_DRIVER, ROLE_EXECUTOR
from ...core.kubernetes.pods import get_status, get_text, read_phase
from ...core.kubernetes.quantities import format_bytes, format_cores
from ...core.report.pod_spans import PodSpan, count_unknown_executors, read_pod
from ...core.report.prices import PriceTable
from ...core.report.record_values import format_amount
from ...core.report.resources import Resources, add_up, read_requests, read_usage
from ...core.report.totals import Usage, measure_pods
from ...follow.access.find import find_application
from ...kube.client import KubeClient
from ...kube.errors import Forbidden, NotFound, ServerError
from ...kube.resources import POD_METRICS, PODS
from ..base.errors import CommandError, ExitCode, print_note
from ..base.object_names import require_application
from ..files.price_file import read_prices
from ..options.cluster_access import ClusterOptions, run_with_client
from ..options.completers import complete_applications
from ..options.declaration import Parameter
from ..options.options import AllNamespaces, PodSelector, Prices
from ..output.tables import format_incomplete, print_table

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
    core_hours: str | None = None
    cost: str | None = None


def run(
    access: ClusterOptions,
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
    cost: Annotated[
        bool, Parameter("--cost", "show the core-hours so far and, with --prices, the cost of applications")
    ] = False,
    prices: Prices = None,
    selector: PodSelector = None,
    all_namespaces: AllNamespaces = False,
) -> ExitCode:
    """Show the executors of applications, and the cores and memory that their pods request and use.

    The usage comes from the metrics API (metrics.k8s.io). If this API is not available or not permitted, the command
    shows only the requests. -l selects pods by their own labels, which can differ from those of the application.

    The cost of a running application contains that of its ended pods, as long as they exist. Spark deletes the pods of
    ended executors. `≥` marks an amount that is incomplete, and a note names what it does not contain.

    Examples:
        # Executors, cores and memory of the applications in the current namespace
        spark-operator top

        # The largest applications of the cluster first
        spark-operator top -A --sort-by memory

        # The driver and each executor of one application
        spark-operator top pi

        # What the running applications have cost so far
        spark-operator top -A --cost --prices prices.json
    """
    if prices is not None and not cost:
        raise CommandError("--prices needs --cost", ExitCode.INVALID)
    table = read_prices(prices) if prices is not None else None
    if name is not None and all_namespaces:
        raise CommandError("NAME and --all-namespaces cannot be combined. Use -n NAMESPACE", ExitCode.INVALID)

    async def show(client: KubeClient) -> ExitCode:
        place = None if all_namespaces else client.default_namespace
        if name is not None:
            application, _ = await find_application(client, name)
            place = str(application["metadata"]["namespace"])
        found = None if name is None else str(application["metadata"]["name"])
        all_pods = await _list_pods(client, place, found, selector)
        pods = [pod for pod in all_pods if read_phase(get_status(pod)) not in _ENDED]  # the others hold no resources
        usage = await _read_usage(client, place) if pods else {}
        rows = [_build_pod_row(pod, usage) for pod in pods] if name else _build_application_rows(pods, usage)
        if cost:
            find_row = _identify if name else _identify_application
            rows = _add_costs(rows, all_pods, find_row, client.get_time(), table)
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
    """List the pods of all applications, or of one."""
    wanted = ",".join(part for part in (_ROLES, selector) if part)
    found = (await client.list(PODS, namespace, label_selector=wanted)).items
    return [pod for pod in found if _name_application(pod) and name in (None, _name_application(pod))]


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
        groups.setdefault(_identify_application(pod), []).append(_build_pod_row(pod, usage))
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


def _add_costs(
    rows: Sequence[_Row],
    all_pods: Sequence[JsonObject],
    find_row: Callable[[JsonObject], tuple[str, str]],
    now: datetime,
    prices: PriceTable | None,
) -> list[_Row]:
    """Return the rows with what their pods requested so far, and print which pods this does not contain."""
    spans: dict[tuple[str, str], list[PodSpan]] = {(row.namespace, row.name): [] for row in rows}
    for pod in all_pods:
        if find_row(pod) in spans:
            spans[find_row(pod)].append(read_pod(pod))
    usages = [measure_pods(spans[row.namespace, row.name], now, prices=prices) for row in rows]
    is_of_pods = find_row is _identify
    deleted = [0 if is_of_pods else count_unknown_executors(spans[row.namespace, row.name]) for row in rows]
    missing = {
        "executors whose pods were deleted": sum(deleted),
        "pods whose start or end is unknown": sum(usage.uncounted for usage in usages),
        "pods without a price": sum(usage.unpriced for usage in usages),
    }
    if any(missing.values()):
        gaps = ", ".join(f"{what}: {number}" for what, number in missing.items() if number)
        print_note(f"the core-hours or the cost are not complete. Not counted: {gaps}")
    return [_add_cost(*each, prices) for each in zip(rows, usages, deleted, strict=True)]


def _add_cost(row: _Row, usage: Usage, deleted: int, prices: PriceTable | None) -> _Row:
    """Return a row with its core-hours, and with its cost if there are prices. `deleted` pods are not counted."""
    gaps = deleted + usage.uncounted
    core_hours = format_amount(usage.core_hours) if usage.pods else ""
    cost = None
    if prices is not None:
        amount = f"{format_amount(usage.cost)} {prices.currency}" if usage.unpriced < usage.pods else ""
        cost = format_incomplete(amount, is_incomplete=gaps + usage.unpriced > 0)
    return replace(row, core_hours=format_incomplete(core_hours, is_incomplete=gaps > 0), cost=cost)


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
    titles += ["CORE-HOURS"] * (rows[0].core_hours is not None) + ["COST"] * (rows[0].cost is not None)
    lines = []
    for row in rows:
        cells = [row.namespace] * with_namespace + [row.name] + [str(row.executors)] * (not of_pods)
        cells += _format(row.requested)
        if with_usage:
            cells += _format(row.used) if row.used else ["", ""]
        lines.append(cells + [cell for cell in (row.core_hours, row.cost) if cell is not None])
    print_table(titles, lines)


def _format(amount: Resources) -> list[str]:
    return [format_cores(amount.cores), format_bytes(amount.memory)]


def _identify(document: JsonObject) -> tuple[str, str]:
    return str(document["metadata"].get("namespace", "")), str(document["metadata"]["name"])


def _identify_application(pod: JsonObject) -> tuple[str, str]:
    return _identify(pod)[0], _name_application(pod)


def _name_application(pod: JsonObject) -> str:
    labels = pod["metadata"].get("labels") or {}
    return next((str(labels[one.application_label]) for one in DIALECTS if one.application_label in labels), "")


def _read_role(pod: JsonObject) -> str:
    return get_text((pod["metadata"].get("labels") or {}).get(LABEL_ROLE))
