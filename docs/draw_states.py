"""Draws docs/states.md and docs/states.svg from the table of legal moves; `python docs/draw_states.py` writes both.

Moves that all states of a set have in common are drawn once, from the set.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from itertools import pairwise, product
from pathlib import Path
from typing import Final, TypeAlias

from airflow_provider_spark_operator.core.states import (
    FAILURE,
    INITIALIZING,
    RUNNING,
    STARTING,
    STOPPING,
    TERMINATED,
    ApplicationState,
)
from airflow_provider_spark_operator.core.transitions import MOVES

FOLDER = Path(__file__).parent
_State = ApplicationState
_Move: TypeAlias = tuple[ApplicationState, ApplicationState]

SETS: Final[Mapping[str, frozenset[ApplicationState]]] = {
    "WithDriver": STARTING | RUNNING,
    "Initializing": INITIALIZING,
    "Starting": STARTING,
    "Running": RUNNING,
    "Stopping": STOPPING,
    "Terminated": TERMINATED,
}
_TITLES = {"WithDriver": "With a driver"}
_LABELS = {
    ("Initializing", "DriverRequested"): "created",
    ("Initializing", "SchedulingFailure"): "refused",
    ("Initializing", "Failed"): "unsupported",
    ("Initializing", "ResourceReleased"): "deleted",
    ("WithDriver", "ScheduledToRestart"): "suspended",
    ("WithDriver", "ResourceReleased"): "deleted",
    ("WithDriver", "Failed"): "fails, or is lost",
    ("WithDriver", "DriverEvicted"): "evicted",
    ("WithDriver", "Succeeded"): "exit code 0",
    ("Running", "Running"): "executors come and go",
    ("Stopping", "ScheduledToRestart"): "restart",
    ("Stopping", "Terminated"): "no restart",
    ("TerminatedWithoutReleaseResources", "ResourceReleased"): "retention over, deleted",
}


@dataclass(frozen=True)
class Arrow:
    """One drawn arrow; its ends are states or names of `SETS`."""

    source: str
    target: str

    @property
    def label(self) -> str:
        """What makes the move happen, in a word or a few; empty where the states' names say it."""
        return _LABELS.get((self.source, self.target), "")


def arrows() -> list[Arrow]:
    """The fewest arrows that say what the table says: between sets, from a set to a state, between states."""
    left = {(origin, target) for origin, targets in MOVES.items() for target in targets}
    drawn: list[Arrow] = []
    ends: dict[str, frozenset[ApplicationState]] = {**SETS, **{str(state): frozenset({state}) for state in _State}}
    for source, target in product(ends, ends):
        moves = set(_between(ends[source], ends[target]))
        joined = source in SETS and (target not in SETS or len(ends[target]) > 1)
        if joined and len(moves) > 1 and moves <= left:
            drawn.append(Arrow(source, target))
            left -= moves
    order = list(_State)
    rest = sorted(left, key=lambda move: (order.index(move[0]), order.index(move[1])))
    return drawn + [Arrow(str(origin), str(target)) for origin, target in rest]


def moves_of(arrow: Arrow) -> Iterator[_Move]:
    """What an arrow stands for."""
    return _between(_members(arrow.source), _members(arrow.target))


def _members(name: str) -> frozenset[ApplicationState]:
    return SETS[name] if name in SETS else frozenset({_State(name)})


def _between(origins: Iterable[ApplicationState], targets: Iterable[ApplicationState]) -> Iterator[_Move]:
    return ((origin, target) for origin, target in product(origins, targets) if origin is not target)


# --- Mermaid and the page ---


def mermaid() -> str:
    """The diagram in Mermaid's notation."""
    lines = ["stateDiagram-v2", "    direction TB", f"    [*] --> {_State.SUBMITTED}"]
    for name in ("Initializing", "WithDriver", "Stopping", "Terminated"):
        lines += [f"    {line}" for line in _mermaid_set(name)]
    for arrow in arrows():
        label = f": {arrow.label}" if arrow.label else ""
        # Mermaid draws no arrow from a set to itself.
        ends = sorted(moves_of(arrow)) if arrow.source == arrow.target else [(arrow.source, arrow.target)]
        lines += [f"    {source} --> {target}{label}" for source, target in ends]
    return "\n".join([*lines, f"    {_State.RESOURCE_RELEASED} --> [*]"])


def _mermaid_set(name: str) -> Iterator[str]:
    title = _TITLES.get(name)
    yield f'state "{title}" as {name} {{' if title else f"state {name} {{"
    inner = [each for each in SETS if SETS[each] < SETS[name]]
    for each in inner:
        yield from (f"    {line}" for line in _mermaid_set(each))
    if not inner:
        yield from (f"    {state}" for state in _State if state in SETS[name])
    yield "}"


def page() -> str:
    """The page docs/states.md."""
    words = {state: ", ".join(str(each) for each in _State if each in MOVES[state]) for state in _State}
    rows = [f"| {state} | {_set_of(state)} | {words[state] or 'nothing'} |" for state in _State]
    return "\n".join(
        [
            "# States of an application",
            "",
            "Drawn from the table of legal moves by `python docs/draw_states.py`; a test fails when they differ.",
            "An arrow from a frame stands for one from each state in it. The words are the Apache operator's.",
            "",
            "What is passed through at once is written at once: a driver that is ready when it is first seen leads",
            "from DriverRequested to RunningHealthy in one write, and the history has the states between.",
            "In ResourceReleased the driver is gone; its services, config maps, network policy and executors follow",
            "it, as Kubernetes' garbage collector comes to them.",
            "",
            "An application that is created with `spec.suspend: true` has no status until you set the field to false,",
            "as with the Apache operator. One that has run before is in ScheduledToRestart while it is suspended.",
            "",
            "![The states of an application and the moves between them](states.svg)",
            "",
            "| State | Set | Leads to |",
            "|---|---|---|",
            *rows,
            "",
            "The same in Mermaid:",
            "",
            "```mermaid",
            mermaid(),
            "```",
            "",
        ]
    )


def _set_of(state: ApplicationState) -> str:
    smallest = min((name for name in SETS if state in SETS[name]), key=lambda name: len(SETS[name]))
    return f"{smallest.lower()}, failure" if state in FAILURE else smallest.lower()


# --- SVG ---

_WIDTH, _HEIGHT = 1400, 790
_BOX_WIDTH, _BOX_HEIGHT = 150, 44
_PADDING, _TITLE_HEIGHT = 18, 24

# The middle of each state's box.
_PLACES: Final[Mapping[ApplicationState, tuple[int, int]]] = {
    _State.SUBMITTED: (250, 74),
    _State.SCHEDULED_TO_RESTART: (640, 74),
    _State.DRIVER_REQUESTED: (510, 238),
    _State.DRIVER_STARTED: (690, 238),
    _State.DRIVER_READY: (870, 238),
    _State.INITIALIZED_BELOW_THRESHOLD_EXECUTORS: (870, 352),
    _State.RUNNING_HEALTHY: (1120, 238),
    _State.RUNNING_WITH_PARTIAL_CAPACITY: (1120, 310),
    _State.RUNNING_WITH_BELOW_THRESHOLD_EXECUTORS: (1120, 382),
    _State.SCHEDULING_FAILURE: (150, 540),
    _State.FAILED: (330, 540),
    _State.DRIVER_START_TIMED_OUT: (510, 540),
    _State.DRIVER_READY_TIMED_OUT: (690, 540),
    _State.EXECUTORS_START_TIMED_OUT: (870, 540),
    _State.DRIVER_EVICTED: (1050, 540),
    _State.SUCCEEDED: (1230, 540),
    _State.TERMINATED_WITHOUT_RELEASE_RESOURCES: (540, 700),
    _State.RESOURCE_RELEASED: (900, 700),
}

# The corners of the arrows that a straight line would not serve, from end to end.
_ROUTES: Final[Mapping[tuple[str, str], list[tuple[int, int]]]] = {
    ("Initializing", "DriverRequested"): [(510, 114), (510, 216)],
    ("Initializing", "SchedulingFailure"): [(185, 114), (185, 518)],
    ("Initializing", "Failed"): [(295, 114), (295, 518)],
    ("Initializing", "ResourceReleased"): [(157, 74), (30, 74), (30, 764), (900, 764), (900, 722)],
    ("WithDriver", "ScheduledToRestart"): [(640, 166), (640, 96)],
    ("WithDriver", "ResourceReleased"): [(1231, 270), (1345, 270), (1345, 700), (975, 700)],
    ("WithDriver", "Failed"): [(440, 440), (365, 518)],
    ("WithDriver", "DriverEvicted"): [(1050, 440), (1050, 518)],
    ("WithDriver", "Succeeded"): [(1190, 440), (1190, 518)],
    ("Stopping", "ScheduledToRestart"): [(1323, 540), (1375, 540), (1375, 74), (715, 74)],
    ("Stopping", "Terminated"): [(720, 580), (720, 658)],
    ("DriverReady", "ExecutorsStartTimedOut"): [(815, 260), (780, 290), (780, 470), (830, 518)],
    ("RunningHealthy", "ExecutorsStartTimedOut"): [(1045, 258), (1005, 300), (1005, 470), (895, 518)],
    ("DriverReady", "RunningWithPartialCapacity"): [(945, 250), (1045, 300)],
    ("InitializedBelowThresholdExecutors", "RunningHealthy"): [(945, 340), (1045, 252)],
    ("InitializedBelowThresholdExecutors", "RunningWithPartialCapacity"): [(945, 356), (1045, 318)],
}
_LABEL_PLACES: Final[Mapping[tuple[str, str], tuple[int, int]]] = {
    ("Initializing", "DriverRequested"): (516, 146),
    ("Initializing", "ResourceReleased"): (60, 66),
    ("WithDriver", "ResourceReleased"): (1262, 262),
    ("WithDriver", "Failed"): (300, 470),
    ("Stopping", "ScheduledToRestart"): (1300, 66),
    ("TerminatedWithoutReleaseResources", "ResourceReleased"): (650, 692),
    ("Running", "Running"): (1090, 434),
}


def svg() -> str:
    """The diagram as SVG."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" font-family="Helvetica, Arial, sans-serif" font-size="12">',
        "<title>The states of an application</title>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path d="M0 0 8 4 0 8z" fill="#555"/></marker></defs>',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        *(_frame(name) for name in SETS),
        *(_arrow(arrow) for arrow in arrows() if arrow.source != arrow.target),
        *(_among(arrow.source) for arrow in arrows() if arrow.source == arrow.target),
        *(_box(state) for state in _State),
        *(_label(arrow) for arrow in arrows() if arrow.label),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _bounds(name: str) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of a set's frame, or of a state's box."""
    places = [_PLACES[state] for state in _members(name)]
    left, right = min(x for x, _ in places) - _BOX_WIDTH // 2, max(x for x, _ in places) + _BOX_WIDTH // 2
    top, bottom = min(y for _, y in places) - _BOX_HEIGHT // 2, max(y for _, y in places) + _BOX_HEIGHT // 2
    if name not in SETS:
        return left, top, right, bottom
    depth = 2 if any(SETS[each] < SETS[name] for each in SETS) else 1
    padding = depth * _PADDING
    return left - padding, top - padding - (depth - 1) * _TITLE_HEIGHT // 2 - 2, right + padding, bottom + padding


def _frame(name: str) -> str:
    left, top, right, bottom = _bounds(name)
    fill = {"WithDriver": "#f4f6f8", "Stopping": "#fbf5f1"}.get(name, "#eef3f8")
    title = _TITLES.get(name, name)
    return (
        f'<rect x="{left}" y="{top}" width="{right - left}" height="{bottom - top}" rx="10" fill="{fill}" '
        f'stroke="#9fb0c0"/><text x="{left + 10}" y="{top + 13}" fill="#5b6b7a" font-size="11">{title}</text>'
    )


def _box(state: ApplicationState) -> str:
    x, y = _PLACES[state]
    stroke = "#2e7d32" if state is _State.SUCCEEDED else "#b3402a" if state in FAILURE else "#34618c"
    lines = _two_lines(str(state))
    first = y + 4 - 7 * (len(lines) - 1)
    text = "".join(f'<tspan x="{x}" y="{first + 14 * number}">{line}</tspan>' for number, line in enumerate(lines))
    return (
        f'<rect x="{x - _BOX_WIDTH // 2}" y="{y - _BOX_HEIGHT // 2}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" '
        f'rx="8" fill="#fff" stroke="{stroke}" stroke-width="1.5"/><text text-anchor="middle">{text}</text>'
    )


def _two_lines(word: str) -> list[str]:
    """A long word of many in two lines, broken where it is most even."""
    if len(word) <= 20:
        return [word]
    breaks = [position for position, letter in enumerate(word) if position and letter.isupper()]
    middle = min(breaks, key=lambda position: abs(position - len(word) / 2))
    return [word[:middle], word[middle:]]


def _arrow(arrow: Arrow) -> str:
    points = _ROUTES.get((arrow.source, arrow.target)) or _straight(arrow)
    path = "M" + " L".join(f"{x} {y}" for x, y in points)
    return f'<path d="{path}" fill="none" stroke="#555" stroke-linejoin="round" marker-end="url(#head)"/>'


def _among(name: str) -> str:
    """Arrows both ways between all states of a set, which stand one above the other."""
    places = sorted((_PLACES[state] for state in SETS[name]), key=lambda place: place[1])
    paths = [f"M{x} {y + _BOX_HEIGHT // 2} V{below - _BOX_HEIGHT // 2}" for (x, y), (_, below) in pairwise(places)]
    right = places[0][0] + _BOX_WIDTH // 2
    paths.append(f"M{right} {places[0][1]} h10 V{places[-1][1]} h-10")
    ends = 'marker-start="url(#head)" marker-end="url(#head)"'
    return "".join(f'<path d="{path}" fill="none" stroke="#555" {ends}/>' for path in paths)


def _straight(arrow: Arrow) -> list[tuple[int, int]]:
    """From the middle of one side to the middle of the other: side by side if they are, else one above the other."""
    source, target = _bounds(arrow.source), _bounds(arrow.target)
    if source[2] < target[0]:
        return [(source[2], (source[1] + source[3]) // 2), (target[0], (target[1] + target[3]) // 2)]
    return [((source[0] + source[2]) // 2, source[3]), ((target[0] + target[2]) // 2, target[1])]


def _label(arrow: Arrow) -> str:
    x, y = _LABEL_PLACES.get((arrow.source, arrow.target)) or _beside(arrow)
    return f'<text x="{x}" y="{y}" fill="#333" font-style="italic" font-size="11">{escape(arrow.label)}</text>'


def _beside(arrow: Arrow) -> tuple[int, int]:
    points = _ROUTES[(arrow.source, arrow.target)]
    first, second = max(pairwise(points), key=lambda pair: abs(pair[0][1] - pair[1][1]))
    return (first[0] + second[0]) // 2 + 6, (first[1] + second[1]) // 2 + 4


def main() -> None:
    """Write both files."""
    (FOLDER / "states.md").write_text(page(), encoding="utf-8")
    (FOLDER / "states.svg").write_text(svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
