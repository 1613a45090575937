"""The figures of a run for metrics and asset events."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.report.figures import RunFigures, read_figures, sum_tries
from airflow_provider_spark_operator.core.report.report_rows import build_recorded_rows, sum_up


def test_figures_are_the_sums_of_driver_and_executors() -> None:
    record = {
        "application": {"team": "sales"},
        "totals": {
            "seconds": 60,
            "waitingSeconds": 5,
            "executorsAtOnce": 3,
            "requested": {"driver": {"coreHours": 0.1, "gibHours": 0.5}, "executor": {"coreHours": 0.2, "gibHours": 1}},
            "cost": {"amount": 0.3, "currency": "EUR"},
        },
    }
    assert read_figures(record) == RunFigures(60, 5, 0.3, 1.5, 0.3, "EUR", 3, "sales")


def test_known_role_counts_without_the_other() -> None:
    figures = read_figures({"totals": {"requested": {"driver": {"coreHours": 0.25}}}})
    assert figures == RunFigures(core_hours=0.25)


def test_amounts_without_the_pods_of_a_role_are_incomplete() -> None:
    missing = [{"what": "totals.requested.executor", "why": ""}, {"what": "events", "why": ""}]
    totals = {"requested": {"driver": {"coreHours": 0.25}}, "cost": {"amount": 1, "currency": "EUR"}}
    assert read_figures({"totals": totals, "missing": missing}).incomplete == ("core_hours", "cost")
    unpriced = [{"what": "totals.cost.driver", "why": ""}]
    assert read_figures({"totals": totals, "missing": unpriced}).incomplete == ("cost",)


def build_try(number: int, cost: float, currency: str = "EUR") -> dict[str, Any]:
    amounts = {"coreHours": number, "gibHours": 2 * number}
    return {
        "tryNumber": number,
        "begin": f"2026-01-01T00:0{number}:00Z",
        "requested": {"driver": amounts, "executor": amounts},
        "cost": {"amount": cost, "currency": currency},
    }


def build_last(*earlier: dict[str, Any], missing: str = "events") -> dict[str, Any]:
    last = build_try(3, 0.5)
    totals = {"requested": last["requested"], "cost": last["cost"]}
    gaps = [{"what": missing, "why": ""}]
    record = {"version": 1, "live": False, "begin": last["begin"], "totals": totals, "missing": gaps}
    return record | {"earlierTries": list(earlier)}


def test_sums_of_all_tries_are_those_of_the_report() -> None:
    record = build_last(build_try(1, 0.25), build_try(2, 0.125))
    report = sum_up(build_recorded_rows(record, "dag", "task"))
    sums = sum_tries(record)
    assert sums == {"coreHours": 12, "gibHours": 24, "cost": {"amount": 0.875, "currency": "EUR"}}
    assert sums["coreHours"] == report["driverCoreHours"] + report["executorCoreHours"]
    assert sums["cost"]["amount"] == report["cost"]


def test_only_try_has_no_sums_of_all_tries() -> None:
    assert sum_tries(build_last()) == {}
    assert sum_tries({"version": 2}) == {}


def test_try_that_adopted_the_application_of_an_earlier_one_counts_once() -> None:
    assert sum_tries(build_last({**build_try(1, 0.25), "begin": "2026-01-01T00:03:00Z"})) == {}


def test_tries_with_several_currencies_have_no_sum_of_costs() -> None:
    assert sum_tries(build_last(build_try(1, 0.25, "USD"))) == {"coreHours": 8, "gibHours": 16}


@pytest.mark.parametrize(
    "record",
    [
        build_last(missing="earlierTries"),
        build_last(build_try(1, 0.25), missing="pods"),
        build_last({**build_try(1, 0.25), "missing": ["executors"]}),
    ],
)
def test_sums_are_incomplete_if_one_try_is(record: dict[str, Any]) -> None:
    assert sum_tries(record)["incomplete"] is True


def test_sums_of_unknown_amounts_are_absent() -> None:
    missing = [{"what": "earlierTries", "why": ""}]
    assert sum_tries({"version": 1, "live": False, "missing": missing}) == {"incomplete": True}


@pytest.mark.parametrize(
    "record", [{}, {"totals": 3}, {"totals": {"executorsAtOnce": "4", "requested": {"driver": []}}}]
)
def test_malformed_record_has_no_figures(record: dict[str, Any]) -> None:
    assert read_figures(record) == RunFigures()
