"""Draws docs/concepts/lifecycle.md from the table of legal moves: `python docs/draw_states.py`.

A move that all states of a set have in common is drawn once, from the set.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
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
    """The page docs/concepts/lifecycle.md."""
    words = {state: ", ".join(str(each) for each in _State if each in MOVES[state]) for state in _State}
    rows = [f"| {state} | {_set_of(state)} | {words[state] or 'nothing'} |" for state in _State]
    return "\n".join(
        [
            "# States of an application",
            "",
            "The diagram shows the states of an application and the moves between them. An arrow from a frame stands",
            "for an arrow from each state in the frame. The names of the states are those of the Apache operator.",
            "`python docs/draw_states.py` writes this page from the table of legal moves.",
            "",
            "What is passed through at once is written at once: a driver that is ready when it is first seen leads",
            "from DriverRequested to RunningHealthy in one write, and the history has the states between.",
            "In ResourceReleased the driver is gone; its services, config maps, network policy and executors follow",
            "it, as Kubernetes' garbage collector comes to them.",
            "",
            "An application that is created with `spec.suspend: true` has no status until you set the field to false,",
            "as with the Apache operator. One that has run before is in ScheduledToRestart while it is suspended.",
            "",
            "```mermaid",
            mermaid(),
            "```",
            "",
            "| State | Set | Leads to |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def _set_of(state: ApplicationState) -> str:
    smallest = min((name for name in SETS if state in SETS[name]), key=lambda name: len(SETS[name]))
    return f"{smallest.lower()}, failure" if state in FAILURE else smallest.lower()


def main() -> None:
    """Write the page."""
    (FOLDER / "concepts" / "lifecycle.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
