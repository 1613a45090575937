"""The totals of a run: time, waiting, executors, core-hours and GiB-hours."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from ..dialects.progress import ExecutorState
from ..kubernetes.names import ROLE_DRIVER, ROLE_EXECUTOR
from ..states.states import INITIALIZING, STARTING, ApplicationState
from .pod_spans import PodSpan
from .prices import PriceTable
from .resources import Resources
from .timeline import Timeline

_HOUR: Final = Decimal(3600)
_GIB: Final = Decimal(2**30)
_TOLERANCE: Final = Decimal("0.02")
_WAITING: Final = INITIALIZING | STARTING | {ApplicationState.SUSPENDED}


@dataclass(frozen=True)
class Usage:
    """The requests of the pods of one role, over time.

    Attributes:
        core_hours: Cores times hours.
        gib_hours: Memory in GiB times hours.
        pods: The number of pods that are counted.
        uncounted: The number of pods that are not counted, because their start, end or requests are unknown. A pod that
            has not been assigned to a node needs nothing and is not among them.
        cost: The cost of the counted pods. 0 without prices.
        spot_cost: The part of the cost on spot nodes.
        unpriced: The number of counted pods that match no price, or of which too little is known to choose one.
        inexact: The number of counted pods whose start or end is not exact, if the amounts can be wrong by more than
            2 %. Then the amounts are their least possible values.
        waiting_share: The part of the core-hours before the containers started. It concerns the counted pods whose
            assignment to a node is known; None if there are none.
    """

    core_hours: Decimal
    gib_hours: Decimal
    pods: int
    uncounted: int
    cost: Decimal = Decimal()
    spot_cost: Decimal = Decimal()
    unpriced: int = 0
    waiting_share: Decimal | None = None
    inexact: int = 0


@dataclass(frozen=True)
class Totals:
    """The totals of a run.

    Attributes:
        duration: From the submission to the end, or to now. None if unknown.
        waiting: The time in states in which the program does not run yet, or is suspended. None if unknown.
        usage: What the driver and the executors requested, by role.
        executors: The number of executors by state.
    """

    duration: timedelta | None
    waiting: timedelta | None
    usage: Mapping[str, Usage]
    executors: Mapping[ExecutorState, int]

    @property
    def waiting_share(self) -> Decimal | None:
        """The part of the duration that the run waited. None if unknown."""
        if self.waiting is None or not self.duration:
            return None
        return min(Decimal(1), Decimal(self.waiting / self.duration))


def compute_totals(timeline: Timeline, prices: PriceTable | None = None) -> Totals:
    """Return the totals of a run.

    Args:
        timeline: The timeline.
        prices: The prices. None if the cost is not computed.
    """
    now = timeline.end if timeline.is_live else None
    spans = {
        ROLE_DRIVER: [attempt.driver for attempt in timeline.attempts if attempt.driver],
        ROLE_EXECUTOR: timeline.executors,
    }
    return Totals(
        duration=timeline.end - timeline.begin if timeline.begin else None,
        waiting=_measure_waiting(timeline),
        usage={role: measure_pods(each, now, timeline.requests.get(role), prices) for role, each in spans.items()},
        executors=Counter(span.state for span in timeline.executors),
    )


def _measure_waiting(timeline: Timeline) -> timedelta | None:
    waiting, is_known = timedelta(), False
    for state in (state for attempt in timeline.attempts for state in attempt.states):
        end = state.end or (timeline.end if timeline.is_live else None)
        if state.begin and end:
            is_known = True
            lasted = max(end - state.begin, timedelta()) if state.apache_state in _WAITING else timedelta()
            waiting = min(waiting, timedelta.max - lasted) + lasted  # the times of a status can be far apart
    return waiting if is_known else None


def measure_pods(
    spans: Iterable[PodSpan], now: datetime | None, usual: Resources | None = None, prices: PriceTable | None = None
) -> Usage:
    """Return what pods requested over time.

    Args:
        spans: The pods.
        now: Until when a pod counts that has not ended. None if such a pod is not counted.
        usual: The requests of pods whose own are unknown.
        prices: The prices. None if the cost is not computed.
    """
    known = [*spans]
    usage, doubtful = _add_up(known, now, usual, prices), sum(bool(span.doubt) for span in known)
    if not doubtful:
        return usage
    shortened = (replace(span, end=span.end - span.doubt) if span.end else span for span in known)
    least = _add_up(shortened, now, usual, prices)
    is_exact = usage.core_hours - least.core_hours <= _TOLERANCE * usage.core_hours
    return usage if is_exact else replace(least, inexact=doubtful)


def _add_up(
    spans: Iterable[PodSpan], now: datetime | None, usual: Resources | None, prices: PriceTable | None
) -> Usage:
    cores, memory, cost, spot_cost, unstarted, assigned = (Decimal() for _ in range(6))
    counted, uncounted, unpriced = 0, 0, 0
    for span in spans:
        begin, end = span.scheduled or span.begin, _find_end(span, now)
        requested = span.requested or usual
        if begin and end and requested:
            hours = _count_hours(begin, end)
            core_hours = max(requested.cores, Decimal()) * hours
            if span.scheduled and hours:
                assigned += core_hours
                unstarted += core_hours * min(Decimal(1), _count_hours(begin, span.begin or end) / hours)
            gib_hours = max(requested.memory, Decimal()) / _GIB * hours
            price = prices.find(span) if prices else None
            amount = price.core_hour * core_hours + price.gib_hour * gib_hours if price else Decimal()
            cost, spot_cost = cost + amount, spot_cost + (amount if price and price.is_spot else 0)
            unpriced += prices is not None and price is None
            cores, memory, counted = cores + core_hours, memory + gib_hours, counted + 1
        elif begin or span.state is not ExecutorState.PENDING:
            uncounted += 1
    waiting_share = unstarted / assigned if assigned else None
    return Usage(cores, memory, counted, uncounted, cost, spot_cost, unpriced, waiting_share)


def _find_end(span: PodSpan, now: datetime | None) -> datetime | None:
    """Return when a pod ended, or until when it is known to run. None if the end is unknown."""
    return span.end or (now if span.state in (ExecutorState.RUNNING, ExecutorState.PENDING) else None)


def _count_hours(begin: datetime, end: datetime) -> Decimal:
    return Decimal(max(end - begin, timedelta()) // timedelta(milliseconds=1)) / 1000 / _HOUR
