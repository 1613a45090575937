"""The figures of a run for metrics and asset events."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.report.figures import RunFigures, read_figures


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


@pytest.mark.parametrize(
    "record", [{}, {"totals": 3}, {"totals": {"executorsAtOnce": "4", "requested": {"driver": []}}}]
)
def test_malformed_record_has_no_figures(record: dict[str, Any]) -> None:
    assert read_figures(record) == RunFigures()
