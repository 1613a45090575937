"""`spark-operator list --watch`: print the applications, then each change."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from contextlib import aclosing
from typing import TypeAlias

from ...core.kubernetes.json_object import JsonObject
from ...follow.access.find import list_served_kinds
from ...kube.client import KubeClient
from ...kube.errors import Forbidden, KubeError
from ...kube.listwatch import Change, Changed, Listed, list_and_watch
from ...kube.resources import ResourceType
from ..base.errors import ExitCode, print_note, report_failures
from ..options.options import TABLE
from ..output.output import print_resource
from ..views.application_columns import ApplicationTable, Query
from ..views.pod_census import PodCensus

_Arrivals: TypeAlias = "asyncio.Queue[tuple[ResourceType, Change | Forbidden]]"


async def watch_applications(client: KubeClient, query: Query) -> ExitCode:
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
