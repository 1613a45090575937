"""`spark-operator timeline`: the states, attempts and executors of an application over time."""

import shutil
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

from rich.columns import Columns
from rich.text import Text

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.times import format_duration
from ...core.report.prices import PriceTable
from ...core.report.run_record import build_record
from ...core.report.timeline import MarkKind, Timeline, build_timeline
from ...core.report.timeline_picture import draw_timeline
from ...core.report.timeline_rows import (
    Bar,
    Group,
    Tone,
    build_groups,
    choose_ticks,
    describe_parts,
    describe_timeline,
    list_tones,
)
from ...follow.access.snapshot import read_snapshot
from ...kube.client import KubeClient
from ..base.errors import CommandError, ExitCode, print_note, report_failures
from ..base.streams import is_unicode
from ..files.price_file import read_prices
from ..options.cluster_access import ClusterOptions, TaskOptions
from ..options.declaration import Parameter
from ..options.options import OptionalName, Prices, ReportFormat, ReportOutput, require_text
from ..output.output import clean_cell, format_value, open_console
from ..views.description import LOST_EXECUTORS, Description, read_description
from .named_applications import run_with_application

_STANDARD_OUTPUT: Final = "-"


def run(
    access: ClusterOptions,
    name: OptionalName = None,
    svg: Annotated[
        str | None, Parameter("--svg FILE", "draw an SVG picture; - is standard output", check=require_text)
    ] = None,
    output: ReportOutput = ReportFormat.TEXT,
    prices: Prices = None,
    *,
    wanted: TaskOptions,
) -> ExitCode:
    """Show the states, the attempts and the executors of an application over time.

    The application can be running or ended. Executors whose pods are deleted are usually left out, because their
    Events cannot be found. With --svg, the command draws a picture instead of printing the timeline. The JSON
    output is the record of the run: the timeline with waits, requests, totals, the verdict and what is missing. With
    --prices, it contains the cost.

    Without a name, the options of the task select the newest application that the task has submitted.

    Examples:
        # Show the timeline on the terminal
        spark-operator timeline pi

        # Draw it for a report
        spark-operator timeline pi --svg pi.svg

        # The core-hours that the executors requested, for a script
        spark-operator timeline pi -o json | jq .totals.requested.executor.coreHours
    """
    if svg is not None and output is ReportFormat.JSON:
        raise CommandError("--svg and --output json cannot be combined", ExitCode.INVALID)
    if prices is not None and output is not ReportFormat.JSON:
        raise CommandError("--prices needs --output json", ExitCode.INVALID)
    table = read_prices(prices) if prices is not None else None

    async def show(client: KubeClient, name: str) -> ExitCode:
        if output is ReportFormat.JSON:
            description = await read_description(client, name)
            print(format_value(_build_record(description, table), output), end="")
            return report_failures(description.snapshot.refusals)
        snapshot = await read_snapshot(client, name)
        timeline = build_timeline(
            snapshot.resource, client.get_time(), all_pods=snapshot.pods, events=snapshot.events or ()
        )
        if svg is None:
            print_timeline(timeline)
        else:
            _write(draw_timeline(timeline), svg)
        if timeline.has_lost_executors:
            print_note(f"the executors are not known: no pod or Event shows them. {LOST_EXECUTORS}")
        return report_failures(snapshot.refusals)

    return run_with_application(access, name, wanted, show)


def _build_record(description: Description, prices: PriceTable | None) -> JsonObject:
    snapshot, unread = description.snapshot, {}
    if snapshot.pods is None:
        unread["pods"] = str(snapshot.refusals[0])
    if snapshot.events is None:
        unread["events"] = str(snapshot.refusals[-1])
    if description.verdict.has_cause_in_log and description.evidence and description.evidence.log_problem:
        unread["log"] = description.evidence.log_problem
    return build_record(
        description.timeline,
        verdict=description.verdict,
        cause=description.cause,
        waiting=description.wait,
        unread=unread,
        prices=prices,
    )


def _write(picture: str, path: str) -> None:
    if path == _STANDARD_OUTPUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(picture.encode())
        return
    try:
        Path(path).write_text(picture, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"could not write {path}: {error.strerror or error}", ExitCode.INVALID) from None
    print_note(f"wrote {path}")


_FEWEST_COLUMNS: Final = 20
_WIDEST_LABEL: Final = 36
_TICK: Final = 12
_STYLES: Final[Mapping[Tone, str]] = {
    Tone.WAITING: "default",
    Tone.STARTING: "yellow",
    Tone.RUNNING: "green",
    Tone.SUCCEEDED: "bright_green",
    Tone.FAILED: "red",
    Tone.RELEASED: "bright_black",
    Tone.DRIVER: "magenta",
    Tone.EXECUTOR: "cyan",
}
_SIGNS: Final[Mapping[MarkKind, tuple[str, str, str]]] = {
    MarkKind.ATTEMPT_FAILED: ("✗", "x", "red"),
    MarkKind.RESTARTED: ("↻", "@", "yellow"),
    MarkKind.SUSPENDED: ("‖", "=", "yellow"),
    MarkKind.RESUMED: ("↻", "@", "yellow"),
    MarkKind.EXECUTOR_FAILED: ("✗", "x", "red"),
    MarkKind.SUCCEEDED: ("✓", "+", "green"),
    MarkKind.FAILED: ("✗", "x", "red"),
}


def print_timeline(timeline: Timeline) -> None:
    """Print the chart of a timeline for the width of the terminal. In a locale without UTF-8, it is drawn in ASCII."""
    console = open_console()
    console.print(Text(clean_cell(describe_timeline(timeline)), "bold"), soft_wrap=True)
    if words := describe_parts(timeline):
        console.print(Text(words, "dim"), soft_wrap=True)
    groups = build_groups(timeline)
    if timeline.begin is not None and groups:
        chart = _Chart(timeline, timeline.begin, groups)
        console.print(chart.build_axis(), soft_wrap=True)
        for group in groups:
            console.print(Text(group.title, "bold"), soft_wrap=True)
            for bar in group.bars:
                console.print(chart.build_row(bar), soft_wrap=True)
        if console.color_system:
            console.print(chart.build_legend(list_tones(groups)))
    for mark in timeline.marks:
        sign, plain, style = _SIGNS[mark.kind]
        since = format_duration(mark.time - timeline.begin) if timeline.begin else ""
        line = f"{sign if is_unicode(sys.stdout) else plain} +{since:<7} {clean_cell(mark.text)}"
        console.print(Text(line, style), soft_wrap=True)


class _Chart:
    """The columns of the chart, and the scale of its bars."""

    def __init__(self, timeline: Timeline, begin: datetime, groups: list[Group]) -> None:
        bars = [bar for group in groups for bar in group.bars]
        self._begin = begin
        self._span = max(timeline.end - begin, timedelta(seconds=1))
        self._label = min(_WIDEST_LABEL, max(len(bar.label) for bar in bars))
        self._lasted = max(len(bar.lasted) for bar in bars)
        free = shutil.get_terminal_size().columns - self._label - self._lasted - 6
        self._width = max(_FEWEST_COLUMNS, min(free, 100))
        self._full = "█" if is_unicode(sys.stdout) else "#"

    def build_axis(self) -> Text:
        """Return the line with the times from the beginning."""
        line = [" "] * self._width
        for tick in choose_ticks(self._span, max(2, self._width // _TICK)):
            place = self._find_column(self._begin + tick)
            lasted = format_duration(tick)
            text = f"|{lasted}"
            if place + len(text) > self._width:  # near the end, the time stands before its mark
                text, place = f"{lasted}|", min(place, self._width - 1) - len(lasted)
            line[place : place + len(text)] = text
        return Text(" " * (self._label + self._lasted + 6) + "".join(line).rstrip(), "dim")

    def build_row(self, bar: Bar) -> Text:
        """Return the label, the duration and the bar."""
        first = min(self._find_column(bar.begin), self._width - 1)
        last = max(first + 1, self._find_column(bar.end))
        label = _shorten(clean_cell(bar.label), self._label)
        return Text.assemble(
            f"  {label:<{self._label}}  ",
            (f"{bar.lasted:>{self._lasted}}  ", "dim"),
            " " * first,
            (self._full * (last - first), _STYLES[bar.tone]),
        )

    def build_legend(self, tones: Iterable[Tone]) -> Columns:
        """Return what the colours mean. An entry stays on one line."""
        entries = (Text.assemble((self._full, _STYLES[tone]), (f" {tone.label}", "dim")) for tone in tones)
        return Columns(entries, padding=(0, 3))

    def _find_column(self, time: datetime) -> int:
        share = (time - self._begin) / self._span
        return max(0, min(self._width, round(share * self._width)))


def _shorten(text: str, width: int) -> str:
    """Return a text that fits. The end of a name tells executors apart."""
    return text if len(text) <= width else f"..{text[len(text) - width + 2 :]}"
