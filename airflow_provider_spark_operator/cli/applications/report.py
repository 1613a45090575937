"""`spark-operator report`: what the applications of a time took, requested and cost."""

from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated

from ...core.kubernetes.json_object import JsonObject
from ...core.report.prices import PriceTable
from ...core.report.report_rows import build_recorded_rows, build_row
from ...core.report.run_record import VERSION, build_record
from ...core.report.timeline import build_timeline
from ...follow.access.find import list_served_kinds
from ...kube.client import KubeClient
from ...kube.errors import Forbidden
from ..airflow_api.client import TOKEN_VARIABLE, open_airflow, require_address
from ..airflow_api.recorded_runs import list_recorded_runs
from ..base.ages import check_age, parse_duration
from ..base.cluster_client import run_with_client
from ..base.errors import CommandError, ExitCode, print_error, print_note, report_failures
from ..base.signals import GRACE_SECONDS, run_until_signal
from ..files.price_file import read_prices
from ..options.declaration import Parameter
from ..options.groups import ClusterOptions
from ..options.options import AllNamespaces, DagId, Prices, Selector
from ..options.task_filter import TaskFilter
from ..views.pod_census import PodCensus
from ..views.report_table import ReportPrinter


class ReportOutput(StrEnum):
    """The formats of the report."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


class Grouping(StrEnum):
    """The groupings of the rows."""

    DAG = "dag"
    TASK = "task"
    TEAM = "team"


def run(
    access: ClusterOptions,
    since: Annotated[
        str, Parameter("--since AGE", "only applications that run, or ended more recently than this", check=check_age)
    ] = "7d",
    by: Annotated[
        Grouping | None, Parameter("--by dag|task|team", "sum up by DAG, by task, or by the label team")
    ] = None,
    dag: DagId = None,
    prices: Prices = None,
    airflow: Annotated[
        str | None,
        Parameter(
            "--airflow URL",
            f"read what tasks recorded from Airflow's API, with the token in {TOKEN_VARIABLE}, instead of the cluster",
            check=require_address,
        ),
    ] = None,
    selector: Selector = None,
    output: Annotated[
        ReportOutput, Parameter("-o --output table|csv|json", "format of the output")
    ] = ReportOutput.TABLE,
    all_namespaces: AllNamespaces = False,
) -> ExitCode:
    """Show what applications took, requested and cost, with their sums.

    Each application that the cluster still has is a row. The row contains its task, its label `team`, its outcome, its
    duration, and the part of the duration that it waited. It also contains the core-hours and GiB-hours that its pods
    requested and, with --prices, their cost.

    With --airflow, each run that a task recorded is a row, and each earlier try of the task. --since selects the runs
    whose record was stored more recently. The records contain the cost if Airflow's configuration contains prices.

    An unknown value is empty, `≥` marks one that is incomplete, and a note names the reason. Spark deletes the pods of
    executors at the end. For an hour, their Events show them if spark.kubernetes.executor.podNamePrefix is set.

    Examples:
        # The core-hours of the last 7 days in all namespaces
        spark-operator report -A

        # The applications of the last day, for a spreadsheet
        spark-operator report --since 1d -o csv

        # What each DAG of Airflow cost in the last 30 days. AIRFLOW_CLI_TOKEN contains a token
        spark-operator report --airflow https://airflow.example.com --since 30d --by dag
    """
    table, period = read_prices(prices) if prices is not None else None, parse_duration(since)
    nothing, with_namespace = f"no runs of the last {since} found", all_namespaces or airflow is not None
    printer = ReportPrinter(output, by, nothing, with_namespace=with_namespace)
    if airflow is not None:
        selection = access.namespace, access.context, access.kubeconfig, all_namespaces or None
        _refuse_cluster_options(prices, selector, *selection)
        return run_until_signal(
            lambda: _report_recorded(airflow, dag, period, printer),
            after_sigterm=ExitCode.INTERRUPTED,
            grace_seconds=GRACE_SECONDS,
        )

    async def report(client: KubeClient) -> ExitCode:
        place = None if all_namespaces else client.default_namespace
        census = PodCensus(client, place, for_timeline=True)
        refusals = await _report(client, place, selector, _Builder(census, period, table, TaskFilter(dag)), printer)
        return report_failures([*refusals, *census.refusals])

    return run_with_client(access, report)


def _refuse_cluster_options(prices: str | None, *others: object) -> None:
    if prices is not None:
        sentence = "--airflow and --prices cannot be combined. Set prices in Airflow's configuration"
        raise CommandError(f"{sentence}: later records then contain the cost", ExitCode.INVALID)
    if any(value is not None for value in others):
        sentence = "--airflow cannot be combined with options that select a cluster, a namespace or labels"
        raise CommandError(f"{sentence}. Use --dag to select a DAG", ExitCode.INVALID)


async def _report_recorded(address: str, dag: str | None, period: timedelta, printer: ReportPrinter) -> ExitCode:
    """Print the rows of the runs that tasks recorded, page by page, and then the sums."""
    problems, strangers = list[str](), list[str]()
    since = datetime.now(UTC) - min(period, timedelta(days=365 * 100))
    async with open_airflow(address) as client, aclosing(list_recorded_runs(client, dag, since)) as pages:
        async for page in pages:
            rows = []
            for run in page:
                found = build_recorded_rows(run.value, run.dag, run.task)
                rows += found
                if run.problem:
                    problems.append(run.problem)
                elif not found:
                    strangers.append(f"task {run.task} of DAG {run.dag}")
            printer.print(rows)
    printer.finish()
    if strangers:
        reason = f"no record of version {VERSION}, for example that of {strangers[0]}"
        print_note(f"XComs spark_run that contain {reason}: {len(strangers)}")
    if problems:
        print_error(f"records that could not be read: {len(problems)}, for example: {problems[0]}")
    return ExitCode.API_FAILED if problems else ExitCode.SUCCESS


@dataclass(frozen=True)
class _Builder:
    """Builds the rows of the applications of a task that run, or ended within a period."""

    census: PodCensus
    period: timedelta
    prices: PriceTable | None
    tasks: TaskFilter

    def build(self, applications: Iterable[JsonObject]) -> list[JsonObject]:
        census, now = self.census, self.census.get_time()
        timelines = (
            build_timeline(one, now, all_pods=census.get_pods(one), events=census.get_executor_events(one))
            for one in applications
        )
        return [
            build_row(build_record(timeline, unread=census.unread, prices=self.prices))
            for timeline in timelines
            if (timeline.is_live or now - timeline.end <= self.period) and self.tasks.accepts(timeline.summary.task)
        ]


async def _report(
    client: KubeClient, namespace: str | None, selector: str | None, builder: _Builder, printer: ReportPrinter
) -> list[Forbidden]:
    """Print the rows of each page as soon as it is received, and then the sums. Return the missing permissions."""
    refusals = list[Forbidden]()
    for kind in await list_served_kinds(client):
        try:
            async with aclosing(client.list_pages(kind, namespace, label_selector=selector)) as pages:
                async for page in pages:
                    if page.items:
                        await builder.census.read_all()
                    printer.print(builder.build(page.items))
        except Forbidden as error:
            refusals.append(error)
    printer.finish()
    return refusals
