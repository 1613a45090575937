"""`spark-operator list`: list applications of every API group that the cluster serves."""

from contextlib import aclosing, suppress
from enum import StrEnum
from typing import Annotated

from ...core.dialects.progress import Phase
from ...core.kubernetes.json_object import JsonObject
from ...core.verdict.verdict import Outcome
from ...follow.access.find import list_served_kinds
from ...kube.client import KubeClient
from ...kube.errors import Forbidden, KubeError
from ...kube.resources import NAMESPACES
from ..base.ages import check_age, parse_duration
from ..base.cluster_client import run_with_client
from ..base.errors import CommandError, ExitCode, print_note, report_failures
from ..base.usage_errors import suggest
from ..options.declaration import Parameter
from ..options.groups import ClusterOptions, TaskOptions
from ..options.options import TABLE, AllNamespaces, Output, Selector
from ..options.state_words import complete_states, require_states
from ..output.resource_list import ResourceList
from ..views.application_columns import ApplicationFilter, ApplicationTable, Query
from ..views.connect_servers import print_connect_servers
from ..views.pod_census import PodCensus
from .list_watch import watch_applications
from .named_applications import describe_absence, list_applications

_WIDE = "wide"
_NAME = "name"
_WORDS = (*Phase, Outcome.SUCCEEDED, Outcome.FAILED)


class Failure(StrEnum):
    """The kinds of failures."""

    APPLICATION = "application"
    INFRASTRUCTURE = "infrastructure"
    SCHEDULING = "scheduling"


class Order(StrEnum):
    """The order of the applications of one API group: by name, or the newest first."""

    NAME = "name"
    AGE = "age"


def run(
    access: ClusterOptions,
    state: Annotated[
        list[str] | None,
        Parameter(
            "--state STATE",
            "only applications with this state (for example RunningHealthy), phase (waiting, running, stopping, "
            "ended) or outcome (succeeded, failed); can be repeated",
            check=require_states(_WORDS),
            complete=complete_states(_WORDS),
        ),
    ] = None,
    failure: Annotated[
        Failure | None,
        Parameter(
            "--failure KIND",
            "only applications that failed for this kind of cause: application, infrastructure or scheduling",
        ),
    ] = None,
    *,
    wanted: TaskOptions,
    older_than: Annotated[
        str | None,
        Parameter(
            "--older-than AGE",
            "only those created longer ago than this, for example 7d (in `cleanup`, the age counts from the end)",
            check=check_age,
        ),
    ] = None,
    younger_than: Annotated[
        str | None,
        Parameter("--younger-than AGE", "only those created more recently than this, for example 90m", check=check_age),
    ] = None,
    selector: Selector = None,
    sort: Annotated[
        Order, Parameter("--sort name|age", "order by name, or by age with the newest first; not with --watch")
    ] = Order.NAME,
    watch: Annotated[bool, Parameter("-w --watch", "keep running, and print each application that changes")] = False,
    output: Output = TABLE,
    all_namespaces: AllNamespaces = False,
) -> ExitCode:
    """List applications with their outcome, executors and duration.

    The list contains the applications of spark.apache.org and, if Kubeflow's operator is installed, those of
    sparkoperator.k8s.io. The number of executors is shown only if you may list pods. `-o wide`
    adds the time since the end, the reason, the driver pod, the queue of Kueue, the DAG run and the apiVersion.

    A narrow terminal shows the outcome of an ended application in place of its state, and leaves out columns. `-o wide`
    and pipes leave out nothing.

    Examples:
        # Applications in the current namespace
        spark-operator list

        # The applications that one task of Airflow has submitted, in all runs
        spark-operator list --dag sales --task load

        # Applications of the last day that failed because of the infrastructure, in all namespaces
        spark-operator list -A --failure infrastructure --younger-than 1d

        # Failed applications in all namespaces, with the reason and the time since their end
        spark-operator list -A --state failed -o wide

        # Follow the running applications of a team
        spark-operator list -l team=a --state running --watch
    """
    if watch and sort is Order.AGE:
        raise CommandError("--sort and --watch cannot be combined", ExitCode.INVALID)
    criteria = ApplicationFilter(
        states=[word.lower() for word in state or ()],
        failure=failure,
        task=wanted,
        older_than=parse_duration(older_than) if older_than else None,
        younger_than=parse_duration(younger_than) if younger_than else None,
    )

    async def print_applications(client: KubeClient) -> ExitCode:
        place = None if all_namespaces else client.default_namespace
        query = Query(place, selector, criteria, output)
        return await (watch_applications(client, query) if watch else _list(client, query, sort))

    return run_with_client(access, print_applications)


async def _list(client: KubeClient, query: Query, order: Order) -> ExitCode:
    """Print each page of applications as soon as it is received. Groups that are not permitted are named last.

    To print the newest first, all pages are needed.
    """
    refusals, count = list[Forbidden](), 0
    census = PodCensus(client, query.namespace)
    table = ApplicationTable(census, query.namespace, is_wide=query.output == _WIDE)
    printer = None if query.output in (TABLE, _WIDE) else ResourceList(query.output)
    kinds = await list_served_kinds(client)
    for kind in kinds:
        pages, kept = client.list_pages(kind, query.namespace, label_selector=query.selector), list[JsonObject]()
        try:
            async with aclosing(pages) as stream:
                async for page in stream:
                    shown = await query.select(page.items, census)
                    count += len(shown)
                    kept += shown
                    if order is Order.NAME:
                        await _print(kept, table, printer)
                        kept.clear()
            await _print(sort_by_age(kept), table, printer)
        except Forbidden as error:
            refusals.append(error)
    if printer is not None:
        printer.finish()
    elif not str(query.criteria):
        count += await print_connect_servers(client, kinds, query.namespace, query.selector)
    if not count and not refusals and query.output in (TABLE, _WIDE, _NAME):
        print_note(await _explain_absence(client, query, refusals))
    refusals += census.refusals
    return report_failures(refusals)


async def _explain_absence(client: KubeClient, query: Query, refusals: list[Forbidden]) -> str:
    """Return why a list is empty: there is no application, none meets the conditions, or the namespace is missing."""
    found = await list_applications(client, query.namespace, None, refusals)
    place, conditions = query.describe_place(), query.describe_conditions()
    if found and conditions:
        return describe_absence("application", conditions, place, query.criteria.task, found)
    with suppress(KubeError):  # a user may not be permitted to read namespaces
        if query.namespace and query.namespace not in (known := await _list_namespaces(client)):
            return f"{place} does not exist{suggest(query.namespace, known)}"
    return f"no applications found in {place}"


async def _list_namespaces(client: KubeClient) -> list[str]:
    return [str(item["metadata"]["name"]) for item in (await client.list(NAMESPACES)).items]


def sort_by_age(applications: list[JsonObject]) -> list[JsonObject]:
    """Return applications, the newest first. Those of the same second keep their order."""
    return sorted(applications, key=lambda one: str(one["metadata"].get("creationTimestamp")), reverse=True)


async def _print(applications: list[JsonObject], table: ApplicationTable, printer: ResourceList | None) -> None:
    if applications and printer is None:
        await table.print(applications)
    elif applications and printer is not None:
        printer.print(applications)
