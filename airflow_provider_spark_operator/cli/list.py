"""`spark-operator list`: list applications of every API group that the cluster serves."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import typer

from airflow_provider_spark_operator.cli.ages import parse_duration
from airflow_provider_spark_operator.cli.application_columns import choose_columns
from airflow_provider_spark_operator.cli.application_filter import ApplicationFilter
from airflow_provider_spark_operator.cli.cluster_client import run_with_client
from airflow_provider_spark_operator.cli.errors import print_error, print_note
from airflow_provider_spark_operator.cli.executor_census import ExecutorCensus
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.options import (
    TABLE,
    AllNamespaces,
    Context,
    Kubeconfig,
    Namespace,
    Output,
    Selector,
)
from airflow_provider_spark_operator.cli.output import print_names, print_resources
from airflow_provider_spark_operator.cli.row_printer import RowPrinter
from airflow_provider_spark_operator.core.report.summary import summarize
from airflow_provider_spark_operator.follow.find import list_served_kinds
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess
from airflow_provider_spark_operator.kube.errors import Forbidden
from airflow_provider_spark_operator.kube.listwatch import Changed, Listed, list_and_watch
from airflow_provider_spark_operator.kube.resources import ResourceType
from airflow_provider_spark_operator.kube.transport import JsonObject

EXAMPLES = """
# Applications in the current namespace
spark-operator list

# Applications that failed because of the infrastructure in the last day, in all namespaces
spark-operator list -A --failure infrastructure --younger-than 1d

# Follow the running applications of a team
spark-operator list -l team=a --state running --watch
"""

_WIDE = "wide"
_NAME = "name"


def _check_age(value: str | None) -> str | None:
    if value is not None:
        parse_duration(value)
    return value


class Failure(StrEnum):
    """The kinds of failures."""

    APPLICATION = "application"
    INFRASTRUCTURE = "infrastructure"
    SCHEDULING = "scheduling"


@dataclass(frozen=True)
class _Query:
    namespace: str | None
    selector: str | None
    criteria: ApplicationFilter
    output: str


def run(
    state: Annotated[
        list[str] | None,
        typer.Option(
            "--state",
            metavar="STATE",
            help="only applications in this state, for example RunningHealthy, or in the phase waiting, running, "
            "stopping or ended, or with the outcome succeeded or failed; can be repeated",
        ),
    ] = None,
    failure: Annotated[
        Failure | None,
        typer.Option(
            "--failure",
            metavar="KIND",
            help="only applications that failed for this kind of cause: application, infrastructure or scheduling",
        ),
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", metavar="AGE", callback=_check_age, help="only older ones, for example 7d"),
    ] = None,
    younger_than: Annotated[
        str | None,
        typer.Option("--younger-than", metavar="AGE", callback=_check_age, help="only younger ones, for example 90m"),
    ] = None,
    selector: Selector = None,
    watch: Annotated[bool, typer.Option("-w", "--watch", help="print changed applications until interrupted")] = False,
    output: Output = TABLE,
    all_namespaces: AllNamespaces = False,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> ExitCode:
    """List applications with their outcome, executors and duration.

    The list contains the applications of each API group that the cluster serves: spark.apache.org and Kubeflow's
    sparkoperator.k8s.io. The number of executors needs the permission to list pods.
    """
    criteria = ApplicationFilter(
        states=[word.lower() for word in state or ()],
        failure=failure,
        older_than=parse_duration(older_than) if older_than else None,
        younger_than=parse_duration(younger_than) if younger_than else None,
    )

    async def list_applications(client: KubeClient) -> ExitCode:
        place = None if all_namespaces else client.default_namespace
        query = _Query(place, selector, criteria, output)
        return await (_watch(client, query) if watch else _list(client, query))

    return run_with_client(
        ClusterAccess(kubeconfig=kubeconfig, context=context, namespace=namespace), list_applications
    )


async def _list(client: KubeClient, query: _Query) -> ExitCode:
    """Print each page of applications as soon as it is received. Groups that are not permitted are named last."""
    refusals, collected = list[Forbidden](), list[JsonObject]()
    printer, census = _Printer(query), ExecutorCensus(client, query.namespace)
    for kind in await list_served_kinds(client):
        pages = client.list_pages(kind, query.namespace, label_selector=query.selector)
        try:
            async with aclosing(pages) as stream:
                async for page in stream:
                    shown = _select(page.items, query)
                    collected += await printer.print(shown, census)
        except Forbidden as error:
            refusals.append(error)
    if query.output not in (TABLE, _WIDE, _NAME):
        print_resources(collected, (), query.output)
    elif not printer.count and not refusals:
        place = f"namespace {query.namespace}" if query.namespace else "any namespace"
        print_note(f"no applications found in {place}")
    return _report([*refusals, *census.refusals])


async def _watch(client: KubeClient, query: _Query) -> ExitCode:
    """Print the applications, then each change, until a signal or an error ends the command."""
    printer, census = _Printer(query), ExecutorCensus(client, query.namespace)
    arrivals: asyncio.Queue[list[JsonObject]] = asyncio.Queue()

    async def read(kind: ResourceType) -> None:
        async with aclosing(_follow(client, kind, query)) as changes:
            async for items in changes:
                arrivals.put_nowait(items)

    async def show() -> None:
        while True:
            items = _select(await arrivals.get(), query)
            census.forget()
            for resource in await printer.print(items, census):
                print_resources([resource], (), query.output)

    async with asyncio.TaskGroup() as group:
        for kind in await list_served_kinds(client):
            group.create_task(read(kind))
        group.create_task(show())
    return ExitCode.SUCCESS


async def _follow(client: KubeClient, kind: ResourceType, query: _Query) -> AsyncGenerator[list[JsonObject], None]:
    """Yield the applications of a kind, then each that changes."""
    stream = list_and_watch(
        client,
        kind,
        query.namespace,
        label_selector=query.selector,
        on_error=lambda error: print_note(f"{error}; retrying"),
    )
    async with aclosing(stream) as changes:
        async for change in changes:
            if isinstance(change, Listed):
                yield list(change.items)
            elif isinstance(change, Changed):
                yield [change.object]


def _select(items: list[JsonObject], query: _Query) -> list[JsonObject]:
    now = datetime.now(UTC)
    return [item for item in items if query.criteria.accepts(summarize(item, now))]


def _report(refusals: list[Forbidden]) -> ExitCode:
    for error in refusals:
        print_error(str(error))
    return ExitCode.API_FAILED if refusals else ExitCode.SUCCESS


class _Printer:
    """Prints applications in the format of the query.

    Attributes:
        count: The number of applications so far.
    """

    def __init__(self, query: _Query) -> None:
        self._output = query.output
        self._columns = choose_columns(with_namespace=query.namespace is None, is_wide=query.output == _WIDE)
        widths = [column.width for column in self._columns]
        styles = {column.title: column.style for column in self._columns if column.style}
        self._rows = RowPrinter([column.title for column in self._columns], widths, styles)
        self.count = 0

    async def print(self, items: list[JsonObject], census: ExecutorCensus) -> list[JsonObject]:
        """Print applications. Return those that a format prints all at once: JSON and YAML."""
        self.count += len(items)
        if self._output == _NAME:
            print_names(items)
        elif self._output in (TABLE, _WIDE):
            now = datetime.now(UTC)
            pods = await census.read(items)
            summaries = [summarize(item, now, pods) for item in items]
            self._rows.print([[column.read(each) for column in self._columns] for each in summaries])
        else:
            return items
        return []
