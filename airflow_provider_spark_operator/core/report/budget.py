"""The budget of a run: how much of it is used, what to report, and when to check again."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from ..kubernetes import pods
from ..kubernetes.json_object import KubernetesObject

WARNING_SHARE: Final = 0.8
"""The share of a limit from which on there is a warning."""

FIRST_SECONDS: Final = 5.0
"""How long after the beginning a budget is checked first, in seconds."""

_LONGEST_SECONDS: Final = 60.0
_SHORTEST_SECONDS: Final = 1.0
_CORE_HOURS: Final = "core-hours"
# The members of `missing` in a record whose pods are not part of the core-hours.
_UNCOUNTED: Final = ("pods", "executors", "totals.requested.driver", "totals.requested.executor")
_UNKNOWN_CURRENCY: Final = "units of the prices"
_UNPRICED: Final = ("totals.cost.driver", "totals.cost.executor")


@dataclass(frozen=True)
class Budget:
    """The limits of what one application uses, in all its attempts.

    Attributes:
        max_core_hours: The requested core-hours. None if they are not limited.
        max_cost: The cost, in the currency of the prices. None if it is not limited.
        ends_application: Whether the application is ended when it has used more.
    """

    max_core_hours: float | None = None
    max_cost: float | None = None
    ends_application: bool = False

    @property
    def advice(self) -> str:
        """Advice for the user after the budget was exceeded."""
        limits = [name for name in ("max_core_hours", "max_cost") if getattr(self, name) is not None]
        return f"Raise {' or '.join(limits)}, or request fewer executors, cores or less memory"

    @classmethod
    def from_arguments(cls, values: Mapping[str, Any]) -> "Budget":
        """Return the budget that a trigger has stored as plain values. Members of a later release are ignored."""
        return cls(**{each.name: values[each.name] for each in fields(cls) if each.name in values})


@dataclass(frozen=True)
class BudgetUse:
    """The use of one limit.

    Attributes:
        used: What is used, as far as it is known.
        limit: What may be used.
        unit: The unit of both: core-hours or a currency.
        excluded: Why a part of the use is not known. Empty if all of it is known.
        is_unpriced: Whether pods have no price, so that the limit may never be reached.
    """

    used: float
    limit: float
    unit: str
    excluded: tuple[str, ...] = ()
    is_unpriced: bool = False

    @property
    def share(self) -> float:
        """The used share of the limit."""
        return self.used / self.limit

    def __str__(self) -> str:
        """Return the figures, for example `12.4 of at most 10 core-hours`."""
        excluded = f" (not included: {'; '.join(self.excluded)})" if self.excluded else ""
        return f"{_format(self.used)} of at most {_format(self.limit)} {self.unit}{excluded}"


@dataclass(frozen=True)
class BudgetFinding:
    """What one check of a budget found.

    Attributes:
        warnings: The figures of limits to warn about, each of them once per share.
        exceeded: The figures of the limit that was exceeded most, if the application must be ended. Otherwise None.
        seconds: When to check again.
    """

    warnings: tuple[str, ...]
    exceeded: str | None
    seconds: float


class BudgetWatch:
    """Checks the budget of one application again and again.

    Args:
        budget: The budget.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._warned: dict[str, float] = {}
        self._shares: dict[str, float] = {}
        self._seconds = FIRST_SECONDS

    def check(self, record: KubernetesObject | None) -> BudgetFinding:
        """Return what a record of the run shows. The previous check must be the returned number of seconds ago.

        Args:
            record: The record of the run as of now. None if nothing is known yet.
        """
        uses = tuple(_measure(record or {}, self._budget))
        warnings = []
        for use in uses:
            reached = max((share for share in (WARNING_SHARE, 1.0) if use.share >= share), default=0.0)
            if reached > self._warned.get(use.unit, 0.0) or (use.is_unpriced and use.unit not in self._warned):
                self._warned[use.unit] = reached
                warnings.append(str(use))
        worst = max(uses, key=lambda use: use.share, default=None)
        is_over = worst is not None and worst.share > 1 and self._budget.ends_application
        self._seconds = self._find_next_check(uses)
        self._shares = {use.unit: use.share for use in uses}
        return BudgetFinding(tuple(warnings), str(worst) if is_over else None, self._seconds)

    def _find_next_check(self, uses: tuple[BudgetUse, ...]) -> float:
        """Return the seconds until a limit or its warning is reached at the present rate.

        At most twice as many as before the previous check, because more executors can start at any time.
        """
        soonest = min(2 * self._seconds, _LONGEST_SECONDS)
        for use in uses:
            rate = (use.share - self._shares.get(use.unit, 0.0)) / self._seconds
            rest = (WARNING_SHARE if use.share < WARNING_SHARE else 1.0) - use.share
            if rest >= 0 and rate > 0:
                soonest = min(soonest, rest / rate)
        return max(soonest, _SHORTEST_SECONDS)


def _measure(record: KubernetesObject, budget: Budget) -> Iterator[BudgetUse]:
    totals = pods.get_object(record.get("totals"))
    if budget.max_core_hours is not None:
        roles = pods.get_object(totals.get("requested")).values()
        used = sum(pods.get_number(pods.get_object(role).get("coreHours")) or 0 for role in roles)
        yield BudgetUse(used, budget.max_core_hours, _CORE_HOURS, _list_excluded(record, _UNCOUNTED))
    cost, is_unpriced = pods.get_object(totals.get("cost")), bool(_list_excluded(record, _UNPRICED))
    if budget.max_cost is not None and (cost or is_unpriced):
        used, unit = pods.get_number(cost.get("amount")) or 0, pods.get_text(cost.get("currency")) or _UNKNOWN_CURRENCY
        excluded = _list_excluded(record, (*_UNCOUNTED, *_UNPRICED))
        yield BudgetUse(used, budget.max_cost, unit, excluded, is_unpriced)


def _list_excluded(record: KubernetesObject, names: tuple[str, ...]) -> tuple[str, ...]:
    missing = pods.list_objects(record.get("missing"))
    return tuple(f"{each['what']}: {each.get('why')}" for each in missing if each.get("what") in names)


def _format(amount: float) -> str:
    return f"{float(f'{amount:.4g}'):.12g}"
