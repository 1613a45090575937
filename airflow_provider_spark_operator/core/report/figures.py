"""The few figures of a run that metrics, asset events and the table of the Spark view show."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ..kubernetes import pods
from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import ROLE_DRIVER, ROLE_EXECUTOR
from .record_values import drop_unknown
from .report_rows import build_recorded_rows, build_row, sum_up

_CORE_HOURS: Final = tuple(f"{role}CoreHours" for role in (ROLE_DRIVER, ROLE_EXECUTOR))
_GIB_HOURS: Final = tuple(f"{role}GibHours" for role in (ROLE_DRIVER, ROLE_EXECUTOR))
# The members of a row from which an amount is computed.
_MEMBERS: Final[Mapping[str, tuple[str, ...]]] = {
    "core_hours": _CORE_HOURS,
    "gib_hours": _GIB_HOURS,
    "cost": ("cost",),
}


@dataclass(frozen=True)
class RunFigures:
    """The figures of a run. Unknown ones are None.

    Attributes:
        seconds: The time from the submission to the end.
        waiting_seconds: The time in which the program did not run.
        core_hours: The requested core-hours.
        gib_hours: The requested GiB-hours.
        cost: The cost.
        currency: The currency of the cost.
        executors: The largest number of executors at once.
        team: The label `team` of the application.
        incomplete: The names of the amounts that the true ones exceed.
    """

    seconds: float | None = None
    waiting_seconds: float | None = None
    core_hours: float | None = None
    gib_hours: float | None = None
    cost: float | None = None
    currency: str | None = None
    executors: int | None = None
    team: str | None = None
    incomplete: tuple[str, ...] = ()


def read_figures(record: Mapping[str, object]) -> RunFigures:
    """Return the figures of a run, as far as its record contains them. Never raises on a malformed record.

    Args:
        record: The record of the run.
    """
    row = build_row(record)
    executors = pods.get_object(record.get("totals")).get("executorsAtOnce")
    amounts = {name: _add(row, members) for name, members in _MEMBERS.items()}
    known = [name for name, amount in amounts.items() if amount is not None]
    return RunFigures(
        seconds=row["seconds"],
        waiting_seconds=row["waitingSeconds"],
        **amounts,
        currency=row["currency"],
        executors=executors if isinstance(executors, int) else None,
        team=row["team"],
        incomplete=tuple(name for name in known if {*_MEMBERS[name]} & {*row["incomplete"]}),
    )


def sum_tries(record: Mapping[str, object]) -> JsonObject:
    """Return what all tries of a task requested and cost, as reports count them. Empty for a first try.

    Args:
        record: The final record of the latest try, with the earlier tries.
    """
    rows, gaps = build_recorded_rows(record, "", ""), pods.list_objects(record.get("missing"))
    lacks_tries = any(gap.get("what") == "earlierTries" for gap in gaps)
    if len(rows) < 2 and not lacks_tries:
        return {}
    sums = sum_up(rows)
    is_incomplete = {*sums["incomplete"]} & {*_CORE_HOURS, *_GIB_HOURS, "cost"}
    cost = None if sums["cost"] is None else {"amount": sums["cost"], "currency": sums["currency"]}
    amounts = {"coreHours": _add(sums, _CORE_HOURS), "gibHours": _add(sums, _GIB_HOURS), "cost": cost}
    return drop_unknown({**amounts, "incomplete": True if is_incomplete else None})


def _add(row: JsonObject, names: tuple[str, ...]) -> float | None:
    """Return the sum of the members that are known; None if none is."""
    known = [row[name] for name in names if row[name] is not None]
    return round(sum(known), 6) if known else None
