"""The rows of a report: what each run took and requested, and the sums of runs."""

from collections.abc import Iterable, Mapping
from typing import Final

from ..kubernetes import pods
from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import ROLE_DRIVER, ROLE_EXECUTOR

_AMOUNTS: Final = ("coreHours", "gibHours")
NUMBERS: Final = (
    "seconds",
    "waitingSeconds",
    *(f"{role}{amount[0].upper()}{amount[1:]}" for role in (ROLE_DRIVER, ROLE_EXECUTOR) for amount in _AMOUNTS),
    "cost",
)
"""The members of a row that are summed."""
SEVERAL: Final = "several"
_LARGEST: Final = 10**12
_MAX_GAPS: Final = 20


def build_row(record: Mapping[str, object]) -> JsonObject:
    """Return the row of a run. Never raises on a malformed record. Unknown values are None.

    Args:
        record: The record of the run.
    """
    application, totals = pods.get_object(record.get("application")), pods.get_object(record.get("totals"))
    task, verdict = pods.get_object(application.get("task")), pods.get_object(record.get("verdict"))
    requested, cost = pods.get_object(totals.get("requested")), pods.get_object(totals.get("cost"))
    usages = [pods.get_object(requested.get(role)) for role in (ROLE_DRIVER, ROLE_EXECUTOR)]
    amounts = [usage.get(amount) for usage in usages for amount in _AMOUNTS]
    numbers = [totals.get("seconds"), totals.get("waitingSeconds"), *amounts, cost.get("amount")]
    texts = {
        "namespace": application.get("namespace"),
        "application": application.get("name"),
        "dag": task.get("dagId"),
        "task": task.get("taskId"),
        "team": application.get("team"),
        "outcome": verdict.get("outcome"),
    }
    return {
        **{name: pods.get_text(text) or None for name, text in texts.items()},
        **{name: _read_number(number) for name, number in zip(NUMBERS, numbers, strict=True)},
        "currency": pods.get_text(cost.get("currency")) or None,
        "missing": [
            {"what": pods.get_text(gap.get("what")), "why": pods.get_text(gap.get("why"))}
            for gap in pods.list_objects(record.get("missing"))[:_MAX_GAPS]
        ],
    }


def _read_number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value <= _LARGEST else None


def sum_up(rows: Iterable[JsonObject]) -> JsonObject:
    """Return the sums of rows, or of other sums.

    The sum of a number contains the runs in which it is known; None if it is known in none. If runs have several
    currencies, the currency is `SEVERAL`, and the cost is None. `missing` names the gaps with the number of runs.

    Args:
        rows: Rows of `build_row`, or sums.
    """
    numbers: dict[str, float] = {}
    counts = {"runs": 0, "failed": 0}
    currencies: set[str] = set()
    gaps: dict[str, JsonObject] = {}
    for row in rows:
        counts["runs"] += row.get("runs", 1)
        counts["failed"] += row.get("failed", row.get("outcome") == "Failed")
        for name in NUMBERS:
            if row[name] is not None:
                numbers[name] = numbers.get(name, 0) + row[name]
        currencies |= {row["currency"]} - {None}
        for gap in row["missing"]:
            if gap["what"] in gaps or len(gaps) < _MAX_GAPS:
                runs = gaps.get(gap["what"], {}).get("runs", 0) + gap.get("runs", 1)
                gaps[gap["what"]] = {**gap, "runs": runs}
    if len(currencies) > 1:
        numbers.pop("cost", None)
    return {
        **counts,
        **{name: round(numbers[name], 6) if name in numbers else None for name in NUMBERS},
        "currency": SEVERAL if len(currencies) > 1 else next(iter(currencies), None),
        "missing": list(gaps.values()),
    }
