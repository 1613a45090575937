"""Draw a timeline as an SVG picture."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from html import escape
from typing import Final, TypeAlias

from ..kubernetes.times import format_duration
from .timeline import MarkKind, Timeline
from .timeline_rows import (
    Bar,
    Tone,
    build_groups,
    choose_ticks,
    describe_parts,
    describe_timeline,
    list_parts,
    list_tones,
)

_WIDTH: Final = 1100
_LEFT: Final = 250  # of the bars; the labels are left of them
_RIGHT: Final = 930  # of the bars; the text of the last bar is right of it
_TOP: Final = 106  # of the lanes; the parts of the run are above them
_KEY: Final = 95  # the width of an entry of the legend
_ROW: Final = 22
_COUNTS: Final = 110  # the height of the curve of the executors
_MAX_TICKS: Final = 10
_LONGEST_TEXT: Final = 120
_COLOURS: Final[Mapping[Tone, str]] = {
    Tone.WAITING: "#8a94a5",
    Tone.STARTING: "#b8860b",
    Tone.RUNNING: "#3a9d5d",
    Tone.SUCCEEDED: "#1f6f3f",
    Tone.FAILED: "#c8402f",
    Tone.RELEASED: "#7c8594",
    Tone.DRIVER: "#6f5fb5",
    Tone.EXECUTOR: "#2f7fb8",
}
_MARKS: Final[Mapping[MarkKind, Tone]] = {
    MarkKind.ATTEMPT_FAILED: Tone.FAILED,
    MarkKind.EXECUTOR_FAILED: Tone.FAILED,
    MarkKind.FAILED: Tone.FAILED,
    MarkKind.SUCCEEDED: Tone.SUCCEEDED,
}
# The colours on a dark page, by those on a light one. The others are visible on both.
_DARK: Final[Mapping[str, str]] = {
    "#ffffff": "#15181e",
    "#1c2430": "#e6e9ee",
    "#5b6472": "#a6aebb",
    "#e4e7ec": "#363c47",
    _COLOURS[Tone.SUCCEEDED]: "#93dcb1",
    _COLOURS[Tone.FAILED]: "#e8705f",
}
_STYLE: Final = "".join(
    f'[{name}="{light}"]{{{name}:{dark}}}' for light, dark in _DARK.items() for name in ("fill", "stroke")
)
_Place: TypeAlias = Callable[[datetime], float]


def draw_timeline(timeline: Timeline) -> str:
    """Return an SVG document with the states, the executors and the number of executors over time."""
    begin = timeline.begin or timeline.end
    span = max(timeline.end - begin, timedelta(seconds=1))

    def place(time: datetime) -> float:
        return round(_LEFT + (_RIGHT - _LEFT) * min(max((time - begin) / span, 0.0), 1.0), 1)

    groups = build_groups(timeline)
    rows: list[Bar | str] = []
    for group in groups:
        rows += [group.title, *group.bars]
    middle = _TOP + _ROW * len(rows)
    bottom = middle + (_COUNTS if timeline.counts else 0)
    title = _clean(describe_timeline(timeline))
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {bottom + 44}" font-family="sans-serif" '
        'font-size="12">',
        f"<title>{title}</title>",
        f"<style>@media (prefers-color-scheme: dark){{{_STYLE}}}</style>",
        f'<rect width="{_WIDTH}" height="{bottom + 44}" fill="#ffffff"/>',
        f'<text x="16" y="28" font-size="15" font-weight="bold" fill="#1c2430">{title}</text>',
        *(line for index, tone in enumerate(list_tones(groups)) for line in _draw_key(tone, _LEFT + _KEY * index)),
        *_draw_axis((begin + tick for tick in choose_ticks(span, _MAX_TICKS)), begin, place, bottom),
        *(line for mark in timeline.marks for line in _draw_mark(place(mark.time), mark.kind, mark.text, bottom)),
        *_draw_parts(timeline, place),
        *(line for index, row in enumerate(rows) for line in _draw_row(row, _TOP + _ROW * index, place)),
        *(_draw_counts(timeline.counts, timeline.end, place, bottom) if timeline.counts else ()),
    ]
    if timeline.begin:
        drawn.append(_write(_LEFT, bottom + 36, f"since {timeline.begin:%Y-%m-%d %H:%M:%S} UTC", "#5b6472"))
    return "\n".join([*drawn, "</svg>", ""])


def _draw_key(tone: Tone, x: int) -> Iterator[str]:
    yield f'<rect x="{x}" y="42" width="10" height="10" rx="2" fill="{_COLOURS[tone]}"/>'
    yield _write(x + 15, 51, tone.label, "#5b6472")


def _draw_axis(times: Iterable[datetime], begin: datetime, place: _Place, bottom: int) -> Iterator[str]:
    for time in times:
        x = place(time)
        yield f'<path d="M{x} {_TOP - 6}V{bottom}" stroke="#e4e7ec"/>'
        yield _write(x, bottom + 18, format_duration(time - begin), "#5b6472", anchor="middle")


def _draw_mark(x: float, kind: MarkKind, text: str, bottom: int) -> Iterator[str]:
    colour = _COLOURS[_MARKS.get(kind, Tone.STARTING)]
    line = f'<path d="M{x} {_TOP - 6}V{bottom}" stroke="{colour}" stroke-dasharray="4 3">'
    yield f"{line}<title>{_clean(text)}</title></path>"
    if kind in (MarkKind.FAILED, MarkKind.SUCCEEDED):
        yield _write(x + 6, _TOP - 4, text, colour)


def _draw_parts(timeline: Timeline, place: _Place) -> Iterator[str]:
    parts = list_parts(timeline)
    if parts:
        yield _write(16, _TOP - 13, "time", "#1c2430", weight="bold")
        yield _write(_LEFT, _TOP - 30, describe_parts(timeline), "#1c2430")
    for part in parts:
        begin, end = place(part.begin), place(part.end)
        yield (
            f'<rect class="part" x="{begin}" y="{_TOP - 24}" width="{end - begin:g}" height="14" '
            f'fill="{_COLOURS[part.tone]}"><title>{part.label}</title></rect>'
        )


def _draw_row(row: Bar | str, top: int, place: _Place) -> Iterator[str]:
    if isinstance(row, str):
        yield _write(16, top + 15, row, "#1c2430", weight="bold")
        return
    x = place(row.begin)
    width = max(place(row.end) - x, 2)  # a state that lasts milliseconds stays visible
    yield _write(28, top + 15, row.label if len(row.label) <= 34 else f"…{row.label[-33:]}", "#1c2430")
    yield (
        f'<rect x="{x}" y="{top + 3}" width="{width:g}" height="{_ROW - 6}" rx="2" fill="{_COLOURS[row.tone]}">'
        f"<title>{_clean(row.label)}</title></rect>"
    )
    yield _write(x + width + 6, top + 15, f"{row.lasted} {row.detail}".rstrip(), "#5b6472")


def _draw_counts(counts: Sequence[tuple[datetime, int]], end: datetime, place: _Place, bottom: int) -> Iterator[str]:
    most = max(max(number for _, number in counts), 1)
    height = _COUNTS - 30
    steps = "".join(f"H{place(time)}V{round(bottom - height * number / most, 1)}" for time, number in counts)
    begin, last = place(counts[0][0]), place(max(end, counts[-1][0]))
    colour = _COLOURS[Tone.EXECUTOR]
    yield f'<path d="M{begin} {bottom}{steps}H{last}V{bottom}Z" fill="{colour}" fill-opacity="0.35" stroke="{colour}"/>'
    yield _write(28, bottom - height + 4, f"executors, at most {most}", "#1c2430")


def _write(x: float, y: float, text: str, colour: str, *, anchor: str = "", weight: str = "") -> str:
    style = (f' text-anchor="{anchor}"' if anchor else "") + (f' font-weight="{weight}"' if weight else "")
    return f'<text x="{x:g}" y="{y:g}" fill="{colour}"{style}>{_clean(text)}</text>'


def _clean(text: str) -> str:
    """Return a text for XML, which has no control characters, cut to a length that a picture can show."""
    short = text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"
    return escape("".join(one if one.isprintable() else " " for one in short))
