"""`spark-operator report`: what the applications of a time took, requested and cost."""

import csv
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.times import format_duration
from ...core.report.prices import PriceTable
from ...core.report.record_values import format_amount
from ...core.report.report_rows import GROUPS, NUMBERS, SPOT_COST, build_recorded_rows, build_row, sum_up
from ...core.report.run_record import VERSION, build_record
from ...core.report.timeline import build_timeline
from ...follow.access.find import list_served_kinds
from ...kube.client import KubeClient
from ...kube.errors import Forbidden
from ..airflow_api.client import TOKEN_VARIABLE, open_airflow, require_address
from ..airflow_api.recorded_runs import list_recorded_runs
from ..base.ages import check_age, parse_duration
from ..base.errors import CommandError, ExitCode, print_error, print_note, report_failures
from ..base.signals import GRACE_SECONDS, run_until_signal
from ..files.price_file import read_prices
from ..options.cluster_access import ClusterOptions, run_with_client
from ..options.declaration import Parameter
from ..options.options import AllNamespaces, DagId, Prices, Selector
from ..options.selection import TaskFilter
from ..output.output import format_value
from ..output.tables import Column, Table, format_incomplete
from ..views.application_columns import style_cell
from ..views.pod_census import PodCensus

_TOTAL: Final = "TOTAL"
# A spreadsheet reads a cell that begins with one of them as a formula. Anybody may write the annotations of a task.
_FORMULA: Final = ("=", "+", "-", "@")
_KEY: Final = "application"
_TEXTS: Final = (_KEY, "namespace", "dag", "task", "team", "outcome")
_TITLES: Final = {
    _KEY: "APPLICATION",
    "namespace": "NAMESPACE",
    "dag": "DAG",
    "task": "TASK",
    "team": "TEAM",
    "outcome": "OUTCOME",
    "seconds": "DURATION",
    "waitingSeconds": "WAITING",
    "driverCoreHours": "DRIVER CORE-H",
    "driverGibHours": "DRIVER GIB-H",
    "executorCoreHours": "EXEC CORE-H",
    "executorGibHours": "EXEC GIB-H",
    "idleCoreHours": "IDLE CORE-H",
    "cost": "COST",
    SPOT_COST: "SPOT",
}
# The columns that a narrow terminal leaves out, the first one first.
_DROPPED: Final = (
    *(
        "idleCoreHours",
        "driverGibHours",
        "executorGibHours",
        "waitingSeconds",
        SPOT_COST,
        "task",
        "team",
        "dag",
        "driverCoreHours",
    ),
    "seconds",
    "namespace",
)
_WIDTHS: Final = {"cost": 14}  # a sum can be longer than the first rows


class ReportPrinter:
    """Prints pages of rows, then the sums of each group, and the sums of all.

    Args:
        output: `table`, `csv` or `json`. Only `json` keeps all rows until the end.
        by: The grouping, a key of `GROUPS`. None for no groups.
        nothing: The note if there are no rows.
        with_namespace: Whether a table shows the namespace.
    """

    def __init__(self, output: str, by: str | None, nothing: str, *, with_namespace: bool) -> None:
        self._output = output
        self._group = GROUPS[by] if by else ()
        self._nothing = nothing
        self._rows: list[JsonObject] = []
        self._sums = sum_up(())
        self._groups: dict[tuple[str, ...], JsonObject] = {}
        shown = [name for name in _TITLES if with_namespace or name != "namespace"]
        self._table = Table[JsonObject](_build_column(name, is_kept=name in self._group) for name in shown)
        self._csv = _CsvPrinter((*self._group, "runs", "failed") if by else _TEXTS)

    def print(self, rows: Sequence[JsonObject]) -> None:
        """Print a page. CSV with groups contains only these, because a sum is no row."""
        self._sums = sum_up([self._sums, *rows])
        for row in rows if self._group else ():
            key = tuple(row[name] or "" for name in self._group)
            self._groups[key] = sum_up([*([self._groups[key]] if key in self._groups else []), row])
        if self._output == "json":
            self._rows += rows
        elif self._output == "table":
            self._table.print(rows)
        elif not self._group:
            self._csv.print(rows)

    def finish(self) -> None:
        """Print the sums, and what they do not contain. CSV has no sum of all, so that it can be summed up again."""
        groups = [dict(zip(self._group, key, strict=True)) | self._groups[key] for key in sorted(self._groups)]
        if self._output == "json":
            members = {"applications": self._rows, **({"groups": groups} if self._group else {}), "total": self._sums}
            print(format_value(members, "json"), end="")
            return
        if self._output == "csv":
            self._csv.print(groups)
        elif self._sums["runs"]:
            named = [
                {_KEY: f"SUM {'/'.join(one[key] or f'(no {key})' for key in self._group)}", **one} for one in groups
            ]
            self._table.print([*named, {_KEY: _TOTAL, **self._sums}])
        if not self._sums["runs"]:
            print_note(self._nothing)
        for gap in self._sums["missing"]:
            runs = f"{gap['runs']} of {self._sums['runs']} runs"
            print_note(f"{gap['what']} unknown or incomplete in {runs}, for example: {gap['why']}")


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


class _CsvPrinter:
    """Prints rows as CSV, with titles above the first row."""

    def __init__(self, first: Sequence[str]) -> None:
        self._names = (*first, *NUMBERS, "currency", "incomplete", "missing")
        self._writer = csv.writer(sys.stdout, lineterminator="\n")
        self._has_titles = False

    def print(self, rows: Sequence[JsonObject]) -> None:
        if not self._has_titles:
            self._writer.writerow(self._names)
            self._has_titles = True
        self._writer.writerows([_format_csv(row.get(name)) for name in self._names] for row in rows)
        sys.stdout.flush()


def _build_column(name: str, *, is_kept: bool) -> Column[JsonObject]:
    return Column(
        _TITLES[name],
        _build_reader(name),
        _WIDTHS.get(name, 0),
        drop_rank=0 if is_kept or name not in _DROPPED else len(_DROPPED) - _DROPPED.index(name),
        is_key=name == _KEY,
        style=style_cell if name == "outcome" else None,
    )


def _build_reader(name: str) -> Callable[[JsonObject], str]:
    def read(row: JsonObject) -> str:
        value = row.get(name)
        if not isinstance(value, int | float):
            return str(value or "")
        if name == SPOT_COST:
            return f"{value / row['cost']:.0%}" if row["cost"] else ""
        is_time = name.lower().endswith("seconds")
        shown = format_duration(timedelta(seconds=value)) if is_time else format_amount(value)
        unit = f" {row['currency'] or ''}" if name == "cost" else ""
        return format_incomplete(f"{shown}{unit}", is_incomplete=name in row["incomplete"])

    return read


def _format_csv(value: object) -> object:
    if isinstance(value, list):
        return "; ".join(each if isinstance(each, str) else f"{each['what']}: {each['why']}" for each in value)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
