"""The rows of a report and their sums."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.report import run_record
from airflow_provider_spark_operator.core.report.record_values import format_amount
from airflow_provider_spark_operator.core.report.recording import add_tries, summarize_try
from airflow_provider_spark_operator.core.report.report_rows import (
    NUMBERS,
    SEVERAL,
    build_recorded_rows,
    build_row,
    sum_up,
)
from airflow_provider_spark_operator.core.report.timeline import build_timeline
from tests.core.report.documents import at, build_application
from tests.core.report.test_prices import TABLE, build, build_pods


def build_record(**totals: Any) -> dict[str, Any]:
    return {"totals": totals, "verdict": {"outcome": "Succeeded"}}


def test_row_has_the_totals_of_the_record() -> None:
    record = build(TABLE, build_pods())
    row, totals = build_row(record), record["totals"]
    assert row["driverCoreHours"] == totals["requested"]["driver"]["coreHours"] > 0
    assert row["executorGibHours"] == totals["requested"]["executor"]["gibHours"] > 0
    assert (row["cost"], row["currency"]) == (totals["cost"]["amount"], "EUR")
    assert row["spotCost"] == totals["cost"]["spot"] > 0
    assert (row["seconds"], row["waitingSeconds"]) == (totals["seconds"], totals["waitingSeconds"])
    assert (row["application"], row["outcome"]) == (record["application"]["name"], "Succeeded")


def build_measured(spark: dict[str, Any], **members: Any) -> dict[str, Any]:
    """Return a record of three executors with two cores that were measured for an hour."""
    measured = {"executorSeconds": 4 * 3 * 3600, "aliveSeconds": 3 * 3600}
    return build_record() | {"spark": measured | spark, "requests": {"executor": {"cores": 2}}} | members


@pytest.mark.parametrize(
    ("spark", "hours"),
    [
        ({"idleShare": 0.25}, 1.5),
        ({"idleShare": 7}, 6),
        ({"idleShare": None}, None),
        ({"idleShare": 0.25, "aliveSeconds": None}, 3),
        ({"idleShare": 0.25, "aliveSeconds": None, "executorSeconds": None}, None),
    ],
)
def test_idle_core_hours_are_a_part_of_those_of_the_registered_executors(
    spark: dict[str, Any], hours: float | None
) -> None:
    row = build_row(build_measured(spark, missing=[{"what": "executors", "why": "deleted"}]))
    assert row["idleCoreHours"] == hours
    assert "idleCoreHours" not in row["incomplete"]


@pytest.mark.parametrize(
    "record",
    [
        build_measured({"idleShare": 0.25, "idleShareAtMost": 0.3}),
        build_measured({"idleShare": 0.25}, attempts=[{"number": 1}, {"number": 2}]),
        build_measured({"idleShare": 0.25}, missing=[{"what": "spark", "why": "the Spark UI does not answer"}]),
    ],
)
def test_idle_core_hours_are_a_lower_limit_if_a_part_was_not_measured(record: dict[str, Any]) -> None:
    assert build_row(record)["incomplete"] == ["idleCoreHours"]


def test_sum_of_idle_core_hours_is_a_lower_limit_if_a_run_was_not_measured() -> None:
    measured, unmeasured = build_row(build_measured({"idleShare": 0.25})), build_row(build_record(seconds=3600))
    assert sum_up([measured, measured])["incomplete"] == []
    assert sum_up([unmeasured, unmeasured])["incomplete"] == []
    for sums in (sum_up([measured, unmeasured]), sum_up([sum_up([measured]), sum_up([unmeasured])])):
        assert (sums["idleCoreHours"], sums["incomplete"]) == (1.5, ["idleCoreHours"])
    assert sum_up([sum_up([measured]), sum_up([])])["incomplete"] == []


@pytest.mark.parametrize("record", [{}, {"application": 1, "totals": [], "verdict": None, "missing": [1]}])
def test_row_of_a_malformed_record_is_unknown(record: dict[str, Any]) -> None:
    row = build_row(record)
    assert row.pop("missing") == row.pop("incomplete") == []
    assert set(row.values()) == {None}


@pytest.mark.parametrize("value", [True, "1", -1, float("nan"), float("inf"), 10**16])
def test_value_that_is_no_amount_is_unknown(value: object) -> None:
    assert build_row(build_record(seconds=value))["seconds"] is None


def test_sums_contain_what_is_known_and_count_the_rest() -> None:
    gap = {"what": "executors", "why": "deleted"}
    known = build_row(build_record(seconds=60, cost={"amount": 0.1, "currency": "EUR"}))
    unknown = build_row(build_record() | {"verdict": {"outcome": "Failed"}, "missing": [gap]})
    sums = sum_up([sum_up([known, unknown]), known, unknown])
    assert (sums["runs"], sums["failed"]) == (4, 2)
    assert (sums["seconds"], sums["waitingSeconds"]) == (120, None)
    assert (sums["cost"], sums["currency"]) == (0.2, "EUR")
    assert sums["missing"] == [{**gap, "runs": 2}]


@pytest.mark.parametrize(
    ("what", "incomplete"),
    [
        ("executors", ["executorCoreHours", "executorGibHours", "cost"]),
        ("totals.requested.driver", ["driverCoreHours", "driverGibHours", "cost"]),
        ("totals.cost.executor", ["cost"]),
        ("end", list(NUMBERS[:-1])),
        ("log", []),
    ],
)
def test_gap_makes_its_numbers_incomplete_in_the_row_and_the_sums(what: str, incomplete: list[str]) -> None:
    row, complete = build_row(build_record() | {"missing": [{"what": what, "why": "deleted"}]}), build_row({})
    assert row["incomplete"] == sum_up([sum_up([complete, row]), complete])["incomplete"] == incomplete
    assert complete["incomplete"] == []


def test_sums_without_dropped_tries_are_incomplete_but_not_the_row_of_the_run() -> None:
    record = add_tries({**build(TABLE, build_pods()), "missing": []}, (), 2)
    (row,) = build_recorded_rows(record, "etl", "load")
    assert row["incomplete"] == []
    assert sum_up([sum_up([row]), build_row({})])["incomplete"] == list(NUMBERS[:-1])


def test_sum_of_costs_is_incomplete_if_a_run_had_no_prices() -> None:
    """The prices can be configured between two tries."""
    record = build(TABLE, build_pods())
    without = {**record, "totals": {**record["totals"], "cost": None}}
    tries = [{**summarize_try(without, 1), "begin": "2026-01-01T00:00:00Z"}]
    rows = build_recorded_rows({**record, "earlierTries": tries}, "etl", "load")
    assert [row["cost"] is None for row in rows] == [False, True]
    assert sum_up([sum_up(rows)])["incomplete"] == ["waitingSeconds", "cost"]
    assert sum_up(rows[1:])["incomplete"] == ["waitingSeconds"], "without any cost, none is too small"


def test_costs_in_several_currencies_are_not_summed() -> None:
    rows = [build_row(build_record(cost={"amount": 1, "currency": currency})) for currency in ("EUR", "USD")]
    sums = sum_up([sum_up(rows), rows[0]])
    assert (sums["cost"], sums["currency"]) == (None, SEVERAL)


def test_sums_name_a_bounded_number_of_gaps() -> None:
    rows = [build_row({"missing": [{"what": str(number), "why": ""}]}) for number in range(50)]
    assert len(sum_up(rows)["missing"]) == 20


def test_sums_of_nothing_are_unknown() -> None:
    sums = sum_up(())
    assert sums["runs"] == 0
    assert {sums[name] for name in NUMBERS} == {None}


def test_recorded_run_has_a_row_for_itself_and_for_each_earlier_application() -> None:
    record = build(TABLE, build_pods())
    summary = summarize_try(record, 1)
    earlier = [
        {**summary, "begin": "2026-01-01T00:00:00Z", "end": "2026-01-01T00:01:00Z"},
        {**summary, "tryNumber": 2, "begin": "2026-01-01T00:00:00Z", "end": "2026-01-01T00:02:00Z"},
        {**summary, "tryNumber": 3},  # this try adopted its application
        {**summary, "tryNumber": 4, "begin": None},
    ]
    final, *others = build_recorded_rows({**record, "earlierTries": earlier}, "etl", "load")
    assert (final["dag"], final["task"], final["missing"]) == ("etl", "load", build_row(record)["missing"])
    assert [row["seconds"] for row in others] == [120, None]
    for row in others:
        assert (row["dag"], row["application"], row["outcome"]) == ("etl", final["application"], final["outcome"])
        assert (row["cost"], row["executorCoreHours"]) == (final["cost"], final["executorCoreHours"])
        assert [gap["what"] for gap in row["missing"]] == ["waitingSeconds"]


@pytest.mark.parametrize("value", [None, 1, "text", [], {}, {"version": 2}])
def test_value_that_is_no_record_has_no_rows(value: object) -> None:
    assert build_recorded_rows(value, "etl", "load") == []


def test_row_of_a_run_without_a_final_record_says_of_when_it_is() -> None:
    (row,) = build_recorded_rows({"version": 1, "live": True, "end": "2026-01-01T00:00:00Z"}, "etl", "load")
    assert row["missing"] == [{"what": "end", "why": "no final record; the totals are as of 2026-01-01T00:00:00Z"}]


def test_row_does_not_name_the_events_that_no_task_reads() -> None:
    missing = [{"what": what, "why": "a reason"} for what in ("events", "pods")]
    (row,) = build_recorded_rows({"version": 1, "live": False, "missing": missing}, "etl", "load")
    assert [gap["what"] for gap in row["missing"]] == ["pods"]


@pytest.mark.parametrize(("state", "outcome"), [("RunningHealthy", "Running"), ("DriverRequested", "Waiting")])
def test_outcome_of_a_live_run_says_whether_it_runs(state: str, outcome: str) -> None:
    timeline = build_timeline(build_application(("Submitted", 0), (state, 1)), at(2))
    assert build_row(run_record.build_record(timeline))["outcome"] == outcome


def test_texts_of_a_row_are_short_and_have_no_control_characters() -> None:
    row = build_row(
        {"application": {"name": "\x1b[31m" + "a" * 5000}, "missing": [{"what": "\n\x07b", "why": "c" * 999}]}
    )
    assert len(row["application"]) <= 256
    assert row["application"].isprintable()
    assert row["missing"][0]["what"] == "b"
    assert len(row["missing"][0]["why"]) <= 256


@pytest.mark.parametrize(
    ("amount", "shown"), [(0, "0.000"), (1.23456, "1.235"), (0.01, "0.010"), (0.0041, "0.0041"), (7e-7, "0.0000007")]
)
def test_small_amount_has_two_significant_digits(amount: float, shown: str) -> None:
    assert format_amount(amount) == shown
