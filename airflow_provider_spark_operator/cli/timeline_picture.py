"""Draw a timeline as a picture with matplotlib, the extra `pictures`."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from io import BytesIO
from typing import Any, Final

from matplotlib.figure import Figure

from airflow_provider_spark_operator.cli.ages import format_duration
from airflow_provider_spark_operator.cli.output import clean_cell
from airflow_provider_spark_operator.cli.timeline_rows import Bar, Tone, build_groups, choose_ticks, describe_timeline
from airflow_provider_spark_operator.core.report.timeline import MarkKind, Timeline

_WIDTH_INCHES: Final = 11.0
_ROW_INCHES: Final = 0.27
_COUNT_INCHES: Final = 1.3
_COLOURS: Final[Mapping[Tone, str]] = {
    Tone.WAITING: "#b0b7c3",
    Tone.STARTING: "#e0a82e",
    Tone.RUNNING: "#3a9d5d",
    Tone.SUCCEEDED: "#1f6f3f",
    Tone.FAILED: "#c8402f",
    Tone.RELEASED: "#7c8594",
    Tone.EXECUTOR: "#2f7fb8",
}
_FAILURES: Final = frozenset({MarkKind.ATTEMPT_FAILED, MarkKind.EXECUTOR_FAILED, MarkKind.FAILED})


def draw_timeline(timeline: Timeline, kind: str) -> bytes:
    """Return a picture of a timeline.

    Args:
        timeline: The timeline.
        kind: The format: `svg` or `png`.
    """
    rows = _list_rows(timeline)
    has_counts = bool(timeline.counts)
    heights = [max(1, len(rows)) * _ROW_INCHES, *([_COUNT_INCHES] if has_counts else [])]
    figure = Figure(figsize=(_WIDTH_INCHES, sum(heights) + 1.2), layout="constrained")
    axes = figure.subplots(len(heights), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights})
    begin = timeline.begin or timeline.end
    span = max(timeline.end - begin, timedelta(seconds=1))
    _draw_bars(axes[0][0], rows, begin, span)
    _draw_marks(axes[0][0], timeline, begin)
    if has_counts:
        _draw_counts(axes[1][0], timeline, begin)
    last = axes[-1][0]
    ticks = choose_ticks(span, 10)
    last.set_xticks([tick.total_seconds() for tick in ticks], [format_duration(tick) for tick in ticks])
    last.set_xlim(0, span.total_seconds() * 1.12)
    if timeline.begin:
        last.set_xlabel(f"since {timeline.begin:%Y-%m-%d %H:%M:%S} UTC")
    figure.suptitle(_escape(describe_timeline(timeline)), fontweight="bold")
    picture = BytesIO()
    figure.savefig(picture, format=kind, dpi=144, metadata={"Date": None} if kind == "svg" else None)
    return picture.getvalue()


def _list_rows(timeline: Timeline) -> list[tuple[str, Bar | None]]:
    """Return the label and the bar of each row. A title has no bar."""
    rows: list[tuple[str, Bar | None]] = []
    for group in build_groups(timeline):
        rows.append((group.title, None))
        rows += [(bar.label, bar) for bar in group.bars]
    return rows


def _draw_bars(axes: Any, rows: Sequence[tuple[str, Bar | None]], begin: datetime, span: timedelta) -> None:
    smallest = span.total_seconds() / 250  # a state that lasts milliseconds stays visible
    for position, (_, bar) in enumerate(rows):
        if bar is None:
            continue
        start, length = (bar.begin - begin).total_seconds(), (bar.end - bar.begin).total_seconds()
        width = max(length, smallest)
        axes.barh(position, width, left=start, height=0.7, color=_COLOURS[bar.tone])
        axes.text(
            start + width + smallest,
            position,
            _escape(f"{bar.lasted} {bar.detail}".rstrip()),
            va="center",
            fontsize=8,
            color="#444444",
        )
    axes.set_yticks(range(len(rows)), [_escape(label) for label, _ in rows])
    for label, (_, bar) in zip(axes.get_yticklabels(), rows, strict=True):
        label.set_fontweight("bold" if bar is None else "normal")
        label.set_fontsize(9)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    _remove_frame(axes)


def _draw_marks(axes: Any, timeline: Timeline, begin: datetime) -> None:
    for mark in timeline.marks:
        colour = _COLOURS[Tone.FAILED] if mark.kind in _FAILURES else _COLOURS[Tone.STARTING]
        if mark.kind is MarkKind.SUCCEEDED:
            colour = _COLOURS[Tone.SUCCEEDED]
        axes.axvline((mark.time - begin).total_seconds(), color=colour, linewidth=0.8, linestyle="--", zorder=0)


def _draw_counts(axes: Any, timeline: Timeline, begin: datetime) -> None:
    times = [(time - begin).total_seconds() for time, _ in timeline.counts]
    numbers = [number for _, number in timeline.counts]
    end = (timeline.end - begin).total_seconds()
    axes.fill_between(
        [*times, max(end, times[-1])], [*numbers, numbers[-1]], step="post", color=_COLOURS[Tone.EXECUTOR], alpha=0.35
    )
    axes.set_ylabel("executors", fontsize=9)
    axes.set_ylim(0, max(numbers) + 1)
    axes.yaxis.get_major_locator().set_params(integer=True)
    _remove_frame(axes)


def _remove_frame(axes: Any) -> None:
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.grid(axis="x", color="#e4e7ec", linewidth=0.8)
    axes.set_axisbelow(True)


def _escape(text: str) -> str:
    """Return a text that matplotlib does not read as a formula."""
    return clean_cell(text).replace("$", r"\$")
