"""The rows of a report: what each run took and requested, and the sums of runs."""

from collections.abc import Container, Iterable, Mapping
from typing import Final

from ..dialects.progress import Phase
from ..kubernetes import pods
from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import ROLE_DRIVER, ROLE_EXECUTOR
from ..kubernetes.times import read_time
from .record_values import cut_text
from .run_record import MAX_TRIES, VERSION
from .timeline_rows import Tone

_PLACES: Final = {ROLE_DRIVER: 2, ROLE_EXECUTOR: 4}  # of the amounts of a role in `NUMBERS`
_AMOUNTS: Final = ("coreHours", "gibHours")
SPOT_COST: Final = "spotCost"
"""The member of a row with the part of the cost that is for spot nodes. It is as incomplete as the cost."""
_IDLE: Final = "idleCoreHours"
NUMBERS: Final = (
    "seconds",
    "waitingSeconds",
    *(f"{role}{amount[0].upper()}{amount[1:]}" for role in _PLACES for amount in _AMOUNTS),
    _IDLE,
    "cost",
    SPOT_COST,
)
"""The members of a row that are summed."""
_POD_NUMBERS: Final = tuple(name for name in NUMBERS[2:] if name != _IDLE)
# The members that are too small, or unknown, because of a gap in the record.
_AFFECTED: Final[Mapping[str, tuple[str, ...]]] = {
    "end": NUMBERS,
    "waitingSeconds": ("waitingSeconds",),
    "attempts": NUMBERS[1:],
    "pods": _POD_NUMBERS,
    "executors": _POD_NUMBERS[2:],
    "spark": (_IDLE,),
    **{f"totals.requested.{role}": (*NUMBERS[at : at + 2], "cost") for role, at in _PLACES.items()},
    f"totals.requested.{ROLE_EXECUTOR}": _POD_NUMBERS[2:],
    **{f"totals.cost.{role}": ("cost",) for role in _PLACES},
}
AMOUNT_GAPS: Final = frozenset(gap for gap, names in _AFFECTED.items() if {*names} & {*_POD_NUMBERS})
"""The gaps of a record that make its core-hours, GiB-hours or cost too small."""
_TRIES: Final = "earlierTries"  # a gap of the sums, not of the run itself
GROUPS: Final = {"dag": ("dag",), "task": ("dag", "task"), "team": ("team",)}
"""The members of the rows that are summed together, by the name of the grouping."""
SEVERAL: Final = "several"
_LONGEST: Final = 256
_MAX_GAPS: Final = 20


def build_row(record: Mapping[str, object]) -> JsonObject:
    """Return the row of a run. Never raises on a malformed record. Unknown values are None.

    `incomplete` names the numbers that are unknown, or that the true ones exceed.

    Args:
        record: The record of the run.
    """
    application, totals = pods.get_object(record.get("application")), pods.get_object(record.get("totals"))
    task, verdict = pods.get_object(application.get("task")), pods.get_object(record.get("verdict"))
    requested, cost = pods.get_object(totals.get("requested")), pods.get_object(totals.get("cost"))
    usages = [pods.get_object(requested.get(role)) for role in _PLACES]
    amounts = [usage.get(amount) for usage in usages for amount in _AMOUNTS]
    idle, is_lower_limit = _count_idle(record)
    numbers = [
        totals.get("seconds"),
        totals.get("waitingSeconds"),
        *amounts,
        idle,
        cost.get("amount"),
        cost.get("spot"),
    ]
    texts = {
        "namespace": application.get("namespace"),
        "application": application.get("name"),
        "dag": task.get("dagId"),
        "task": task.get("taskId"),
        "team": application.get("team"),
        "outcome": Phase.RUNNING if _is_running(record) else verdict.get("outcome"),
    }
    missing = [
        {name: cut_text(pods.get_text(gap.get(name)), _LONGEST) for name in ("what", "why")}
        for gap in pods.list_objects(record.get("missing"))[:_MAX_GAPS]
    ]
    incomplete = {name for gap in missing for name in _AFFECTED.get(gap["what"], ())}
    return {
        **{name: cut_text(pods.get_text(text), _LONGEST) or None for name, text in texts.items()},
        **{name: pods.get_number(number) for name, number in zip(NUMBERS, numbers, strict=True)},
        "currency": cut_text(pods.get_text(cost.get("currency")), 8) or None,
        "incomplete": _order(incomplete | {_IDLE} if is_lower_limit else incomplete),
        "missing": missing,
    }


def _count_idle(record: Mapping[str, object]) -> tuple[float | None, bool]:
    """Return the core-hours of registered executors in which no task ran, and whether the true ones exceed them.

    Only the latest attempt is measured. Older records lack the time of the executors. Then each task has one core.
    """
    spark, requests = pods.get_object(record.get("spark")), pods.get_object(record.get("requests"))
    share, slots, alive = (
        pods.get_number(spark.get(name)) for name in ("idleShare", "executorSeconds", "aliveSeconds")
    )
    cores = pods.get_number(pods.get_object(requests.get(ROLE_EXECUTOR)).get("cores"))
    seconds = slots if alive is None or cores is None else alive * cores
    if share is None or seconds is None:
        return None, False
    attempts = pods.list_objects(record.get("attempts"))
    return round(min(share, 1) * seconds / 3600, 6), len(attempts) > 1 or "idleShareAtMost" in spark


def _is_running(record: Mapping[str, object]) -> bool:
    attempts = pods.list_objects(record.get("attempts"))
    phases = [state.get("phase") for each in attempts for state in pods.list_objects(each.get("states"))]
    return record.get("live") is True and phases[-1:] == [Tone.RUNNING]


def _order(names: Container[str]) -> list[str]:
    return [name for name in NUMBERS if name in names and name != SPOT_COST]


def build_recorded_rows(value: object, dag: str, task: str) -> list[JsonObject]:
    """Return the row of a run that a task recorded, and those of its earlier tries. Empty if it is no record.

    Args:
        value: The recorded value, which the author of any DAG can choose.
        dag: The id of the DAG, which replaces the recorded one.
        task: The id of the task.
    """
    record = pods.get_object(value)
    if record.get("version") != VERSION:
        return []
    application = {**pods.get_object(record.get("application")), "task": {"dagId": dag, "taskId": task}}
    # No task reads Events, and no number of a row is affected. So this gap would be a note about each run.
    gaps = [gap for gap in pods.list_objects(record.get("missing")) if gap.get("what") != "events"]
    if record.get("live") is not False:
        gaps = [_miss("end", f"no final record; the totals are as of {pods.get_text(record.get('end'))}"), *gaps]
    rows = [build_row({**record, "application": application, "missing": gaps})]
    # A try that adopted the application of an earlier try has recorded it completely.
    earlier = {pods.get_text(each.get("begin")): each for each in pods.list_objects(record.get("earlierTries"))}
    earlier.pop(pods.get_text(record.get("begin")), None)
    return rows + [_build_earlier_row(each, application) for each in list(earlier.values())[:MAX_TRIES]]


def _build_earlier_row(earlier: Mapping[str, object], application: JsonObject) -> JsonObject:
    begin, end = read_time(earlier.get("begin")), read_time(earlier.get("end"))
    totals = {
        "seconds": (end - begin).total_seconds() if begin and end else None,
        "requested": earlier.get("requested"),
        "cost": earlier.get("cost"),
    }
    recorded = earlier.get("missing")
    parts = recorded[:_MAX_GAPS] if isinstance(recorded, list) else []
    gaps = [_miss(pods.get_text(part), "it was not recorded completely in an earlier try") for part in parts]
    gaps.append(_miss("waitingSeconds", "the summary of an earlier try does not contain it"))
    return build_row({**earlier, "application": application, "totals": totals, "missing": gaps})


def _miss(what: str, why: str) -> JsonObject:
    return {"what": what, "why": why}


def sum_up(rows: Iterable[JsonObject]) -> JsonObject:
    """Return the sums of rows, or of other sums.

    The sum of a number contains the runs in which it is known; None if it is known in none. If runs have several
    currencies, the currency is `SEVERAL`, and the cost is None. `missing` names the gaps with the number of runs.

    Args:
        rows: Rows of `build_row`, or sums.
    """
    numbers: dict[str, float] = {}
    counts = {"runs": 0, "failed": 0}
    currencies, incomplete, unmeasured = set[str](), set[str](), set[str]()
    gaps: dict[str, JsonObject] = {}
    for row in rows:
        counts["runs"] += row.get("runs", 1)
        counts["failed"] += row.get("failed", row.get("outcome") == "Failed")
        for name in NUMBERS:
            if row[name] is not None:
                numbers[name] = numbers.get(name, 0) + row[name]
        currencies |= {row["currency"]} - {None}
        incomplete |= {*row["incomplete"]}
        unmeasured |= {name for name in (_IDLE, "cost") if row[name] is None and row.get("runs", 1) > 0}
        for gap in row["missing"]:
            if gap["what"] in gaps or len(gaps) < _MAX_GAPS:
                runs = gaps.get(gap["what"], {}).get("runs", 0) + gap.get("runs", 1)
                gaps[gap["what"]] = {**gap, "runs": runs}
    incomplete |= {*NUMBERS} if _TRIES in gaps else unmeasured & {*numbers}
    if len(currencies) > 1:
        numbers = {name: number for name, number in numbers.items() if not name.lower().endswith("cost")}
    return {
        **counts,
        **{name: round(numbers[name], 6) if name in numbers else None for name in NUMBERS},
        "currency": SEVERAL if len(currencies) > 1 else next(iter(currencies), None),
        "incomplete": _order(incomplete),
        "missing": list(gaps.values()),
    }
