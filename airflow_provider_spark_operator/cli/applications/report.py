"""`spark-operator report`: what the applications of a time took, requested and cost."""

from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Annotated

from ...core.kubernetes.json_object import JsonObject
from ...core.report.prices import PriceTable
from ...core.report.report_rows import NUMBERS, build_row, sum_up
from ...core.report.run_record import build_record
from ...core.report.timeline import build_timeline
from ...follow.access.find import list_served_kinds
from ...kube.client import KubeClient
from ...kube.connection import ClusterAccess
from ...kube.errors import Forbidden
from ..base.ages import check_age, parse_duration
from ..base.cluster_client import run_with_client
from ..base.errors import report_failures
from ..base.exit_codes import ExitCode
from ..files.price_file import read_prices
from ..options.declaration import Parameter
from ..options.options import AllNamespaces, Context, Kubeconfig, Namespace, Prices, Selector
from ..views.pod_census import PodCensus
from ..views.report_table import ReportPrinter

EXAMPLES = """
# The core-hours of the last 7 days in all namespaces
spark-operator report -A

# The applications of the last day, for a spreadsheet
spark-operator report --since 1d -o csv
"""

_TEXTS = ("application", "namespace", "dag", "task", "team", "outcome")


class ReportOutput(StrEnum):
    """The formats of the report."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


def run(
    since: Annotated[
        str,
        Parameter("--since AGE", "only applications that run, or ended more recently than this", check=check_age),
    ] = "7d",
    prices: Prices = None,
    selector: Selector = None,
    output: Annotated[
        ReportOutput, Parameter("-o --output table|csv|json", "format of the output")
    ] = ReportOutput.TABLE,
    all_namespaces: AllNamespaces = False,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> ExitCode:
    """Show what applications took, requested and cost, with their sums.

    Each application that the cluster still has is a row. The row contains its task, its label `team`, its outcome, its
    duration, and the part of the duration that it waited. It also contains the core-hours and GiB-hours that its pods
    requested and, with --prices, their cost.

    An unknown value is empty, and a note names the reason. Executors are known only while their pods exist, and Spark
    deletes them at the end.
    """
    table, period = read_prices(prices) if prices is not None else None, parse_duration(since)

    names = (*_TEXTS, *NUMBERS, "currency", "missing")
    printer = ReportPrinter(output, names, "applications", nothing=f"no runs of the last {since} found")

    async def report(client: KubeClient) -> ExitCode:
        place = None if all_namespaces else client.default_namespace
        census = PodCensus(client, place, for_timeline=True)
        refusals = await _report(client, place, selector, _Builder(census, period, table), printer)
        return report_failures([*refusals, *census.refusals])

    return run_with_client(ClusterAccess(kubeconfig=kubeconfig, context=context, namespace=namespace), report)


@dataclass(frozen=True)
class _Builder:
    """Builds the rows of the applications that run, or ended within a period."""

    census: PodCensus
    period: timedelta
    prices: PriceTable | None

    def build(self, applications: Iterable[JsonObject]) -> list[JsonObject]:
        now, refusals = self.census.get_time(), self.census.refusals
        unread = {"pods": str(refusals[0])} if refusals else {}
        timelines = (build_timeline(one, now, all_pods=self.census.get_pods(one)) for one in applications)
        return [
            build_row(build_record(timeline, unread=unread, prices=self.prices))
            for timeline in timelines
            if timeline.is_live or now - timeline.end <= self.period
        ]


async def _report(
    client: KubeClient, namespace: str | None, selector: str | None, builder: _Builder, printer: ReportPrinter
) -> list[Forbidden]:
    """Print the rows of each page as soon as it is received, and then the sums. Return the missing permissions."""
    refusals, sums = list[Forbidden](), sum_up(())
    for kind in await list_served_kinds(client):
        try:
            async with aclosing(client.list_pages(kind, namespace, label_selector=selector)) as pages:
                async for page in pages:
                    if page.items:
                        await builder.census.read_all()
                    rows = builder.build(page.items)
                    printer.print(rows)
                    sums = sum_up([sums, *rows])
        except Forbidden as error:
            refusals.append(error)
    printer.finish(sums)
    return refusals
