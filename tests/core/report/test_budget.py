"""The budget of a run: the figures, the warnings, and the time of the next check."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.report.budget import Budget, BudgetWatch

EUR = {"amount": 0.0, "currency": "EUR"}


def build_record(core_hours: float = 0.0, cost: float | None = None, **more: Any) -> dict[str, Any]:
    requested = {"driver": {"coreHours": core_hours / 4}, "executor": {"coreHours": core_hours * 3 / 4}}
    totals = {"requested": requested} | ({} if cost is None else {"cost": {"amount": cost, "currency": "EUR"}})
    return {"totals": totals, **more}


def test_use_below_the_warning_share_is_silent() -> None:
    finding = BudgetWatch(Budget(max_core_hours=10, ends_application=True)).check(build_record(7.99))
    assert (finding.warnings, finding.exceeded) == ((), None)


def test_warning_share_and_limit_warn_once_each() -> None:
    watch = BudgetWatch(Budget(max_core_hours=10))
    found = [watch.check(build_record(hours)).warnings for hours in (8, 9, 10, 12.4321, 13)]
    assert found == [("8 of at most 10 core-hours",), (), ("10 of at most 10 core-hours",), (), ()]


def test_use_far_above_the_limit_warns_once() -> None:
    watch = BudgetWatch(Budget(max_core_hours=10))
    assert [watch.check(build_record(12.4321)).warnings for _ in range(2)] == [("12.43 of at most 10 core-hours",), ()]


@pytest.mark.parametrize(
    ("ends", "hours", "exceeded"), [(True, 10, None), (True, 10.5, "10.5 of at most 10 core-hours"), (False, 99, None)]
)
def test_application_is_ended_only_above_the_limit_and_on_request(
    ends: bool, hours: float, exceeded: str | None
) -> None:
    assert BudgetWatch(Budget(10, ends_application=ends)).check(build_record(hours)).exceeded == exceeded


def test_limits_warn_separately_and_the_one_that_is_exceeded_most_is_named() -> None:
    watch = BudgetWatch(Budget(10, 2.0, ends_application=True))
    assert watch.check(build_record(8, 1.0)).warnings == ("8 of at most 10 core-hours",)
    finding = watch.check(build_record(11, 3.0))
    assert finding.warnings == ("11 of at most 10 core-hours", "3 of at most 2 EUR")
    assert finding.exceeded == "3 of at most 2 EUR"


def test_what_is_not_known_is_named() -> None:
    missing = [
        {"what": "executors", "why": "no pod shows 2 earlier executors"},
        {"what": "totals.cost.executor", "why": "no price matches 1 of 4 pods"},
        {"what": "events", "why": "not read"},
    ]
    finding = BudgetWatch(Budget(10, 2.0)).check(build_record(8, 1.9, missing=missing))
    executors = "executors: no pod shows 2 earlier executors"
    assert finding.warnings == (
        f"8 of at most 10 core-hours (not included: {executors})",
        f"1.9 of at most 2 EUR (not included: {executors}; totals.cost.executor: no price matches 1 of 4 pods)",
    )


@pytest.mark.parametrize(
    ("cost", "used"), [(0.5, "0.5 of at most 2 EUR"), (None, "0 of at most 2 units of the prices")]
)
def test_pods_without_a_price_warn_once_below_the_warning_share(cost: float | None, used: str) -> None:
    watch = BudgetWatch(Budget(max_cost=2.0, ends_application=True))
    record = build_record(8, cost, missing=[{"what": "totals.cost.driver", "why": "no price matches 1 of 1 pods"}])
    found = [watch.check(record) for _ in range(2)]
    warning = f"{used} (not included: totals.cost.driver: no price matches 1 of 1 pods)"
    assert [finding.warnings for finding in found] == [(warning,), ()]
    assert found[0].exceeded is None


@pytest.mark.parametrize("record", [None, {}, {"totals": {"requested": {"driver": {"coreHours": "9"}}}}])
def test_record_without_figures_uses_nothing(record: Any) -> None:
    finding = BudgetWatch(Budget(1, 1, ends_application=True)).check(record)
    assert (finding.warnings, finding.exceeded) == ((), None)


def test_budget_of_cost_ignores_core_hours() -> None:
    finding = BudgetWatch(Budget(max_cost=2.0)).check(build_record(99, 1.9))
    assert finding.warnings == ("1.9 of at most 2 EUR",)


def test_pauses_grow_to_a_minute() -> None:
    watch = BudgetWatch(Budget(max_core_hours=10))
    assert [watch.check(build_record()).seconds for _ in range(5)] == [10, 20, 40, 60, 60]


def test_next_check_is_when_the_limit_or_its_warning_is_reached_at_the_present_rate() -> None:
    watch = BudgetWatch(Budget(max_core_hours=10))
    pauses = [watch.check(build_record(hours)).seconds for hours in (2, 4, 9, 10)]
    # 8 hours are 4 more after 5 s * 2; 10 hours are 1 more, at 5 hours per 20 s. Then nothing is left to wait for.
    assert pauses == [pytest.approx(10), pytest.approx(20), pytest.approx(4), pytest.approx(1)]


def test_soonest_check_is_after_a_second() -> None:
    assert BudgetWatch(Budget(max_core_hours=10)).check(build_record(7.99)).seconds == 1


def test_budget_of_a_later_release_is_read() -> None:
    stored = {"max_core_hours": 3.0, "ends_application": True, "max_gib_hours": 9}
    assert Budget.from_arguments(stored) == Budget(3.0, None, ends_application=True)


def test_advice_names_the_limits_that_are_set() -> None:
    assert Budget(max_cost=3).advice.startswith("Raise max_cost, or request")
    assert Budget(max_core_hours=3, max_cost=3).advice.startswith("Raise max_core_hours or max_cost, or request")
