"""Write docs/concepts/lifecycle.md with the state diagram: `python docs/draw_states.py`.

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
    ("Initializing", "SchedulingFailure"): "rejected",
    ("Initializing", "Failed"): "unsupported",
    ("Initializing", "ResourceReleased"): "deleted",
    ("WithDriver", "ScheduledToRestart"): "suspended",
    ("WithDriver", "ResourceReleased"): "deleted",
    ("WithDriver", "Failed"): "failed or lost",
    ("WithDriver", "DriverEvicted"): "evicted",
    ("WithDriver", "Succeeded"): "exit code 0",
    ("Running", "Running"): "number of executors changes",
    ("Stopping", "ScheduledToRestart"): "restart",
    ("Stopping", "Terminated"): "no restart",
    ("TerminatedWithoutReleaseResources", "ResourceReleased"): "retention expired, deleted",
}


@dataclass(frozen=True)
class Arrow:
    """An arrow of the diagram. Its ends are states or names of `SETS`."""

    source: str
    target: str

    @property
    def label(self) -> str:
        """The cause of the move; empty if the names of the states say it."""
        return _LABELS.get((self.source, self.target), "")


def find_arrows() -> list[Arrow]:
    """Return the fewest arrows that show all moves: between sets, from a set to a state, and between states."""
    left = {(origin, target) for origin, targets in MOVES.items() for target in targets}
    drawn: list[Arrow] = []
    ends: dict[str, frozenset[ApplicationState]] = {**SETS, **{str(state): frozenset({state}) for state in _State}}
    for source, target in product(ends, ends):
        moves = set(_pair(ends[source], ends[target]))
        joined = source in SETS and (target not in SETS or len(ends[target]) > 1)
        if joined and len(moves) > 1 and moves <= left:
            drawn.append(Arrow(source, target))
            left -= moves
    order = list(_State)
    rest = sorted(left, key=lambda move: (order.index(move[0]), order.index(move[1])))
    return drawn + [Arrow(str(origin), str(target)) for origin, target in rest]


def list_moves(arrow: Arrow) -> Iterator[_Move]:
    """Return the moves that an arrow stands for."""
    return _pair(_list_members(arrow.source), _list_members(arrow.target))


def _list_members(name: str) -> frozenset[ApplicationState]:
    return SETS[name] if name in SETS else frozenset({_State(name)})


def _pair(origins: Iterable[ApplicationState], targets: Iterable[ApplicationState]) -> Iterator[_Move]:
    return ((origin, target) for origin, target in product(origins, targets) if origin is not target)


def draw_diagram() -> str:
    """Return the diagram in Mermaid's notation."""
    lines = ["stateDiagram-v2", "    direction TB", f"    [*] --> {_State.SUBMITTED}"]
    for name in ("Initializing", "WithDriver", "Stopping", "Terminated"):
        lines += [f"    {line}" for line in _draw_set(name)]
    for arrow in find_arrows():
        label = f": {arrow.label}" if arrow.label else ""
        # Mermaid cannot draw an arrow from a set to itself.
        ends = sorted(list_moves(arrow)) if arrow.source == arrow.target else [(arrow.source, arrow.target)]
        lines += [f"    {source} --> {target}{label}" for source, target in ends]
    return "\n".join([*lines, f"    {_State.RESOURCE_RELEASED} --> [*]"])


def _draw_set(name: str) -> Iterator[str]:
    title = _TITLES.get(name)
    yield f'state "{title}" as {name} {{' if title else f"state {name} {{"
    inner = [each for each in SETS if SETS[each] < SETS[name]]
    for each in inner:
        yield from (f"    {line}" for line in _draw_set(each))
    if not inner:
        yield from (f"    {state}" for state in _State if state in SETS[name])
    yield "}"


_INTRODUCTION: Final = """\
# Lifecycle of an application

After this page you can read the state of a SparkApplication, and you know which states can follow. The names of the
states are those of the Apache operator.

An application starts in `Submitted`. Each new driver is an *attempt*. Unless the application is suspended or deleted,
an attempt ends in one of the states in the group *Stopping* (see the diagram). Then either another attempt is
scheduled, or the application ends. An application has ended only when it is in `ResourceReleased` or
`TerminatedWithoutReleaseResources`; until then, a restart can follow. The last *Stopping* state in the history shows
how the application ended. `status.outcome` shows the same. Kubeflow's operator has [other
states](../guides/kubeflow.md#understand-the-states).

- **Quick transitions.** If several transitions happen at the same time, the controller writes them in one update. For
  example, if the driver is already ready when the controller first reads it, the application moves from
  `DriverRequested` to `RunningHealthy` in one write. The history has all states between.
- **Timeouts.** The timeouts in the table below are fields of `applicationTimeoutConfig`. Their defaults are in the [CRD
  reference](../reference/crds.md#fields).
- **Blocked executors.** If `initExecutors` is 0, an application is `RunningHealthy` as soon as its driver is ready. It
  needs no executors. If none of its executors can start within `executorStartTimeoutMillis`, for example because their
  image cannot be pulled, the state becomes `ExecutorsStartTimedOut`. Executors that wait for a node do not count.
- **Release.** In `ResourceReleased` the driver pod no longer exists. Kubernetes' garbage collector deletes its
  services, ConfigMaps, network policy and executors shortly afterwards.
- **Suspension.** An application that is created with `spec.suspend: true` has no status until you set the field to
  false, as with the Apache operator. An application that has already run is in `ScheduledToRestart` while it is
  suspended.
- **Retention.** `resourceRetainPolicy` keeps the driver pod of an ended application. The application is in the state
  `TerminatedWithoutReleaseResources` until the retention time has expired.
- **Time to live.** The operator in the cluster deletes the application when `ttlAfterStopMillis` have passed since its
  end.

## Diagram

An arrow from a group stands for an arrow from each state in the group. `python docs/draw_states.py` writes this page
from the table of legal moves in `core/transitions.py`.
"""

_MEANINGS: Final[Mapping[ApplicationState, str]] = {
    _State.SUBMITTED: "the resource exists; no driver was requested yet",
    _State.SCHEDULED_TO_RESTART: "another attempt follows, or the application is suspended",
    _State.DRIVER_REQUESTED: "the driver pod was created; its container is not ready yet",
    _State.DRIVER_STARTED: "the driver's container is ready",
    _State.DRIVER_READY: "the driver pod is ready and requests executors",
    _State.INITIALIZED_BELOW_THRESHOLD_EXECUTORS: "some executors are ready, but fewer than `initExecutors`",
    _State.RUNNING_HEALTHY: "at the start, at least `initExecutors` executors are ready; later, at least "
    "`minExecutors`. If the field is 0, the application needs no ready executor",
    _State.RUNNING_WITH_PARTIAL_CAPACITY: "as `RunningHealthy`, but fewer executors than `maxExecutors` are ready",
    _State.RUNNING_WITH_BELOW_THRESHOLD_EXECUTORS: "fewer executors than `minExecutors` are ready",
    _State.DRIVER_START_TIMED_OUT: "the driver did not start within `driverStartTimeoutMillis`",
    _State.EXECUTORS_START_TIMED_OUT: "too few executors were ready within `executorStartTimeoutMillis`",
    _State.DRIVER_READY_TIMED_OUT: "the driver was not ready within `driverReadyTimeoutMillis`",
    _State.SUCCEEDED: "the driver ended with exit code 0",
    _State.FAILED: "the driver ended with an error, was deleted or was lost, or the specification is not supported",
    _State.SCHEDULING_FAILURE: "the API rejected the driver, or no driver can be built from the specification",
    _State.DRIVER_EVICTED: "the driver pod was evicted from its node",
    _State.RESOURCE_RELEASED: "the application has ended and its driver pod no longer exists",
    _State.TERMINATED_WITHOUT_RELEASE_RESOURCES: "the application has ended and its driver pod is kept",
}


def build_page() -> str:
    """Return the text of docs/concepts/lifecycle.md."""
    targets = {state: ", ".join(str(each) for each in _State if each in MOVES[state]) for state in _State}
    meanings = [f"| `{state}` | {_name_set(state)} | {_MEANINGS[state]} |" for state in _State]
    moves = [f"| {state} | {targets[state] or 'none'} |" for state in _State]
    return "\n".join(
        [
            _INTRODUCTION,
            "```mermaid",
            draw_diagram(),
            "```",
            "",
            "## States",
            "",
            "| State | Group | Meaning |",
            "|---|---|---|",
            *meanings,
            "",
            "## Moves",
            "",
            "| State | Next states |",
            "|---|---|",
            *moves,
            "",
        ]
    )


def _name_set(state: ApplicationState) -> str:
    smallest = min((name for name in SETS if state in SETS[name]), key=lambda name: len(SETS[name]))
    return f"{smallest}, a failure" if state in FAILURE else smallest


def main() -> None:
    """Write the page."""
    (FOLDER / "concepts" / "lifecycle.md").write_text(build_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
