"""`spark-operator list`: list applications of every API group that the cluster serves."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from contextlib import aclosing, suppress
from enum import StrEnum
from typing import Annotated, TypeAlias

from ...core.dialects.progress import Phase
from ...core.kubernetes.json_object import JsonObject
from ...core.verdict.verdict import Outcome
from ...follow.access.find import list_served_kinds
from ...kube.client import KubeClient
from ...kube.errors import Forbidden, KubeError
from ...kube.listwatch import Change, Changed, Listed, list_and_watch
from ...kube.resources import NAMESPACES, ResourceType
from ..base.ages import check_age, parse_duration
from ..base.errors import CommandError, ExitCode, print_note, report_failures
from ..base.usage_errors import suggest
from ..options.cluster_access import ClusterOptions, TaskOptions, run_with_client
from ..options.declaration import Parameter
from ..options.options import TABLE, AllNamespaces, Output, Selector
from ..options.selection import complete_states, require_states
from ..output.output import ResourceList, print_resource
from ..views.application_columns import ApplicationFilter, ApplicationTable, Query
from ..views.connect_servers import print_connect_servers
from ..views.pod_census import PodCensus
from .named_applications import describe_absence, list_applications

_WIDE = "wide"
_NAME = "name"
_WORDS = (*Phase, Outcome.SUCCEEDED, Outcome.FAILED)
_Arrivals: TypeAlias = "asyncio.Queue[tuple[ResourceType, Change | Forbidden]]"


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
        return await (_watch(client, query) if watch else _list(client, query, sort))

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


async def _watch(client: KubeClient, query: Query) -> ExitCode:
    """Print the applications of each API group that may be read, then each change, until a signal or an error.

    Args:
        client: The client of the cluster.
        query: Which applications to print, and how.

    Returns:
        The exit code if the permission to read each API group is missing.

    Raises:
        KubeError: The applications could not be listed.
    """
    kinds = await list_served_kinds(client)
    arrivals: _Arrivals = asyncio.Queue()
    readers = [asyncio.create_task(_read(client, kind, query, arrivals)) for kind in kinds]
    printing = asyncio.create_task(_print_changes(client, len(kinds), query, arrivals))
    try:
        while not printing.done():
            running = [task for task in (*readers, printing) if not task.done()]
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in running:
                if task.done():
                    task.result()
    finally:
        for task in (*readers, printing):
            task.cancel()
        await asyncio.gather(*readers, printing, return_exceptions=True)
    return ExitCode.API_FAILED


async def _read(client: KubeClient, kind: ResourceType, query: Query, arrivals: _Arrivals) -> None:
    """Read the changes of a kind. Return if a permission is missing."""

    def report(error: KubeError) -> None:
        if isinstance(error, Forbidden):
            raise error
        print_note(f"{error}; retrying")

    stream = list_and_watch(client, kind, query.namespace, label_selector=query.selector, on_error=report)
    try:
        async with aclosing(stream) as changes:
            async for change in changes:
                arrivals.put_nowait((kind, change))
    except Forbidden as error:
        arrivals.put_nowait((kind, error))


async def _print_changes(client: KubeClient, count: int, query: Query, arrivals: _Arrivals) -> None:
    """Print the changes of a number of kinds. Return if a permission is missing for each of them."""
    census = PodCensus(client, query.namespace)
    views: defaultdict[ResourceType, _View] = defaultdict(lambda: _View(query, census))
    printer, refused, has_begun = _Printer(census, query), 0, False
    while refused < count:
        kind, change = await arrivals.get()
        if isinstance(change, Forbidden):
            report_failures([change])
            refused += 1
            continue
        census.forget()
        changed, deleted = await views[kind].update(change)
        await printer.print_changed(changed)
        printer.print_deleted(deleted)
        if not has_begun and len(views) == count:
            has_begun = True
            if not any(view.shown for view in views.values()):
                wanted = f" with {conditions}" if (conditions := query.describe_conditions()) else ""
                print_note(f"no applications{wanted} found in {query.describe_place()}; waiting for changes")


class _View:
    """The applications of one kind that were printed and still meet the conditions.

    Attributes:
        shown: The applications, by their uid.
    """

    def __init__(self, query: Query, census: PodCensus) -> None:
        self._query = query
        self._census = census
        self.shown: dict[str, JsonObject] = {}

    async def update(self, change: Change) -> tuple[list[JsonObject], list[JsonObject]]:
        """Apply a change. Return the applications to print because they changed, and those that were deleted.

        An application that no longer meets the conditions is printed once more.
        """
        if isinstance(change, Listed):
            return await self._replace(change.items)
        uid = change.object["metadata"]["uid"]
        before = self.shown.pop(uid, None)
        is_accepted = bool(await self._query.select([change.object], self._census))
        if not isinstance(change, Changed):
            return [], [change.object] if before or is_accepted else []
        if is_accepted:
            self.shown[uid] = change.object
        return [change.object] if is_accepted or before else [], []

    async def _replace(self, items: Sequence[JsonObject]) -> tuple[list[JsonObject], list[JsonObject]]:
        """Apply a new list: at the start, and after changes were missed."""
        before, existing = self.shown, {item["metadata"]["uid"] for item in items}
        selected = await self._query.select(items, self._census)
        self.shown = {item["metadata"]["uid"]: item for item in selected}
        changed = [
            item
            for item in items
            if (old := before.get(item["metadata"]["uid"])) is None
            or old["metadata"]["resourceVersion"] != item["metadata"]["resourceVersion"]
        ]
        shown = [item for item in changed if item["metadata"]["uid"] in {*self.shown, *before}]
        return shown, [item for uid, item in before.items() if uid not in existing]


class _Printer:
    """Prints changes in the format of the query."""

    def __init__(self, census: PodCensus, query: Query) -> None:
        is_table = query.output in (TABLE, "wide")
        self._table = ApplicationTable(census, query.namespace, is_wide=query.output == "wide") if is_table else None
        self._census, self._output = census, query.output
        self._reported = 0

    async def print_changed(self, applications: Sequence[JsonObject]) -> None:
        """Print applications that are new or have changed."""
        if self._table is not None:
            await self._table.print(applications)
        else:
            for application in applications:
                print_resource(application, self._output)
        report_failures(self._census.refusals[self._reported :])
        self._reported = len(self._census.refusals)

    def print_deleted(self, applications: Sequence[JsonObject]) -> None:
        """Print that applications no longer exist: a row, or a note where all results are resources."""
        for application in applications:
            if self._table is None:
                metadata = application["metadata"]
                print_note(f"{application['kind']} {metadata['namespace']}/{metadata['name']} was deleted")
            else:
                self._table.print_deleted(application)
