"""Write docs/concepts/lifecycle.md with the state diagram: `python docs/draw_states.py`.

A move that all states of a set have in common is drawn once, from the set.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final, TypeAlias

from airflow_provider_spark_operator.core.lifecycle.transitions import MOVES
from airflow_provider_spark_operator.core.states.states import (
    FAILURE,
    INITIALIZING,
    RUNNING,
    STARTING,
    STOPPING,
    TERMINATED,
    ApplicationState,
)

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
    ("Initializing", "ResourceReleased"): "application deleted",
    ("WithDriver", "ResourceReleased"): "application deleted",
    ("WithDriver", "Suspended"): "suspended",
    ("Suspended", "Submitted"): "resumed",
    ("Suspended", "Suspended"): "cause changes",
    ("Suspended", "ResourceReleased"): "application deleted",
    ("WithDriver", "Failed"): "failed, or driver pod deleted or lost",
    ("WithDriver", "DriverEvicted"): "evicted",
    ("WithDriver", "Succeeded"): "exit code 0",
    ("Running", "Running"): "number of executors changes",
    ("Stopping", "ScheduledToRestart"): "restart",
    ("Stopping", "Terminated"): "no restart",
    ("TerminatedWithoutReleaseResources", "ResourceReleased"): "retention expired, or application deleted",
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
    origins, targets = _list_members(arrow.source), _list_members(arrow.target)
    # A group is no state: an arrow from a group to itself joins different states.
    return ((origin, target) for origin, target in product(origins, targets) if origin != target or len(origins) == 1)


def _list_members(name: str) -> frozenset[ApplicationState]:
    return SETS[name] if name in SETS else frozenset({_State(name)})


def _pair(origins: Iterable[ApplicationState], targets: Iterable[ApplicationState]) -> Iterator[_Move]:
    return ((origin, target) for origin, target in product(origins, targets) if origin is not target)


def draw_diagram() -> str:
    """Return the diagram in Mermaid's notation."""
    lines = ["stateDiagram-v2", "    direction TB", f"    [*] --> {_State.SUBMITTED}"]
    for name in ("Initializing", "WithDriver", "Stopping", "Terminated"):
        lines += [f"    {line}" for line in _draw_set(name)]
    lines += [f"    {state}" for state in _State if not any(state in members for members in SETS.values())]
    for arrow in find_arrows():
        label = f": {arrow.label}" if arrow.label else ""
        # Mermaid cannot draw an arrow from a set to itself.
        ends = sorted(list_moves(arrow)) if arrow.source == arrow.target in SETS else [(arrow.source, arrow.target)]
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

A SparkApplication has one state at a time, in `status.currentState`. The names of the states are those of the Apache
operator.

An application starts in `Submitted`, unless it is created with `spec.suspend: true` (see *Suspension* below). Each new
driver is an *attempt*. Unless the application is suspended or deleted, an attempt ends in one of the states in the
group *Stopping* (see the diagram). Then either another attempt is scheduled, or the application ends. An application
has ended only when it is in `ResourceReleased` or `TerminatedWithoutReleaseResources`; until then, a restart can
follow. The *Stopping* state of the last attempt, if it has one, shows whether the application succeeded. The controller
of this package also writes `status.outcome`: `Succeeded`, `Failed`, or `Cancelled`. `Cancelled` means that
the application was deleted or suspended before its last attempt entered a *Stopping* state.
Kubeflow's operator has [other states](../guides/kubeflow.md#understand-the-states).

- **Quick transitions.** If several transitions happen at the same time, the controller writes them in one update. For
  example, if the driver and enough executors are already ready when the controller first reads them, the application
  moves from `DriverRequested` to `RunningHealthy` in one write. The history still contains the states between.
- **Timeouts.** The timeouts in the table below are fields of `applicationTimeoutConfig`. Their defaults are in the [CRD
  reference](../reference/crds.md#fields).
- **Executors.** While an application starts, at least `initExecutors` executors must be ready. Once it runs, at least
  `minExecutors` must be ready. With dynamic allocation, the application is `RunningHealthy` as soon as the required
  number is ready. Without dynamic allocation, it is `RunningWithPartialCapacity` with the required number, and
  `RunningHealthy` when `maxExecutors` executors are ready. If `initExecutors` is 0, the application is `RunningHealthy`
  as soon as its driver is ready, and stays so with any number of executors. If `minExecutors` is 0, it is
  `RunningHealthy` with any number once it runs.
- **Blocked executors.** If `initExecutors` is 0, an application does not wait for executors. But if its driver requests
  executors, and all of them stay blocked for `executorStartTimeoutMillis`, the state becomes `ExecutorsStartTimedOut`.
  An executor is blocked, for example, if its image cannot be pulled. An executor that only waits for a node is not
  blocked.
- **Release.** In `ResourceReleased` the driver pod no longer exists. Kubernetes' garbage collector deletes its
  services, ConfigMaps, network policy and executors shortly afterwards.
- **Suspension.** If `spec.suspend` is true before a driver is requested, the application keeps its state, and no driver
  is requested. An application that is created with `spec.suspend: true` has no status until you set the field to
  false. If the application has a driver, it enters `Suspended`, and its pods are deleted. When the field is false and
  no pod is left, the application enters `Submitted` again. Another attempt then starts from the beginning of the
  program. This attempt does not count as a restart. If the driver ends after the field was set, but before the state
  is `Suspended`, the attempt ends in a *Stopping* state as usual. No timeout and no time to live applies in
  `Suspended`. `suspendReason` is `SpecSuspend`, or `KueueEviction` if Kueue took the quota of the
  application away.
- **Retention.** `resourceRetainPolicy` keeps the driver pod of an ended application. The application is in the state
  `TerminatedWithoutReleaseResources` until the retention time has expired. A driver is deleted nevertheless if its
  start, or that of its executors, timed out: it could run at the same time as a retry.
- **Clusters.** A SparkCluster has fewer states. The
  [guide to clusters](../guides/spark-clusters.md#create-a-cluster-without-airflow) lists them.
- **Time to live.** The operator in the cluster deletes the application when `ttlAfterStopMillis` have passed since its
  end.

## Diagram

An arrow from a group stands for an arrow from each state in the group. An arrow to a group leads to one of its states.
`python docs/draw_states.py` writes the diagram and the tables from the legal moves in `core/lifecycle/transitions.py`.
"""

_MEANINGS: Final[Mapping[ApplicationState, str]] = {
    _State.SUBMITTED: "no driver of this attempt has been requested yet",
    _State.SCHEDULED_TO_RESTART: "another attempt follows",
    _State.DRIVER_REQUESTED: "the driver pod was created; its container with Spark is not ready yet",
    _State.DRIVER_STARTED: "the container with Spark is ready, but the whole pod is not: it waits for another "
    "container or for a readiness gate",
    _State.DRIVER_READY: "the whole driver pod is ready; Spark requests executors",
    _State.INITIALIZED_BELOW_THRESHOLD_EXECUTORS: "some executors are ready, but fewer than `initExecutors`",
    _State.RUNNING_HEALTHY: "enough executors are ready: see *Executors* above",
    _State.RUNNING_WITH_PARTIAL_CAPACITY: "enough executors are ready, but fewer than `maxExecutors`",
    _State.RUNNING_WITH_BELOW_THRESHOLD_EXECUTORS: "fewer executors than `minExecutors` are ready",
    _State.DRIVER_START_TIMED_OUT: "the driver did not start within `driverStartTimeoutMillis`",
    _State.EXECUTORS_START_TIMED_OUT: "too few executors were ready within `executorStartTimeoutMillis`, or "
    "none could start",
    _State.DRIVER_READY_TIMED_OUT: "the driver was not ready within `driverReadyTimeoutMillis`",
    _State.SUCCEEDED: "the driver ended with exit code 0",
    _State.FAILED: "the driver ended with an error, was deleted or was lost, or the specification has client mode or "
    "an incomplete entry in `driverHttpRouteList` or `driverGrpcRouteList`",
    _State.SCHEDULING_FAILURE: "the API rejected the driver, or no driver can be built from the specification",
    _State.DRIVER_EVICTED: "the driver pod was evicted from its node",
    _State.RESOURCE_RELEASED: "the application has ended and its driver pod no longer exists",
    _State.TERMINATED_WITHOUT_RELEASE_RESOURCES: "the application has ended and its driver pod is kept",
    _State.SUSPENDED: "the application is suspended; its pods are being deleted or no longer exist",
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
    groups = [name for name in SETS if state in SETS[name]]
    if not groups:
        return "none"
    smallest = min(groups, key=lambda name: len(SETS[name]))
    return f"{smallest}, a failure" if state in FAILURE else smallest


def main() -> None:
    """Write the page."""
    (FOLDER / "concepts" / "lifecycle.md").write_text(build_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
