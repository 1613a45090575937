"""When the record of a run is stored, and what the task adds to it at its end."""

import json
from typing import Any

import pytest

from airflow_provider_spark_operator.core.report.record_values import measure
from airflow_provider_spark_operator.core.report.recording import (
    READ_SECONDS,
    WRITE_SECONDS,
    RecordingSchedule,
    add_tries,
    close_record,
    find_pause,
    shrink,
    summarize_try,
)
from airflow_provider_spark_operator.core.report.run_record import LARGEST, MAX_TRIES, build_record
from airflow_provider_spark_operator.core.report.timeline import build_timeline
from tests.core.report.documents import at, build_application, build_spark_pod
from tests.core.report.record_schema import VALIDATOR

RUNNING = (("Submitted", 0), ("DriverRequested", 1), ("DriverStarted", 5), ("RunningHealthy", 7))
FAILED = (*RUNNING, ("Failed", 60), ("ResourceReleased", 61))


def build(*moves: tuple[str, float], executors: int = 0, **known: Any) -> dict[str, Any]:
    pods = [build_spark_pod(f"pi-exec-{number}") for number in range(executors)]
    return build_record(build_timeline(build_application(*moves), at(90), all_pods=pods), **known)


def test_first_change_is_stored_at_once_and_the_next_one_ten_seconds_later() -> None:
    schedule = RecordingSchedule()
    assert not schedule.is_write_due(0), "there is nothing to store"
    schedule.note_change()
    assert schedule.is_write_due(0)
    schedule.note_write(0)
    schedule.note_read(0)
    assert not schedule.is_write_due(WRITE_SECONDS)
    schedule.note_change()
    assert not schedule.is_write_due(WRITE_SECONDS - 1)
    assert schedule.find_next(1, is_running=True) == WRITE_SECONDS
    assert schedule.is_write_due(WRITE_SECONDS)


def test_number_of_writes_in_an_hour_of_constant_changes() -> None:
    schedule, writes = RecordingSchedule(), 0
    for second in range(3600):
        schedule.note_change()
        if schedule.is_write_due(second):
            schedule.note_write(second)
            writes += 1
    assert writes == 3600 / WRITE_SECONDS


def test_pods_are_read_once_a_minute_even_if_another_part_reads_them() -> None:
    schedule = RecordingSchedule()
    assert schedule.is_read_due(0)
    schedule.note_read(0)
    assert schedule.find_next(1, is_running=True) == READ_SECONDS
    assert not schedule.is_read_due(READ_SECONDS - 1)
    assert schedule.find_next(READ_SECONDS + 5, is_running=True) == READ_SECONDS + 6, "a read that is due takes time"
    assert schedule.is_read_due(READ_SECONDS)


def test_application_that_does_not_run_is_checked_without_reads() -> None:
    schedule = RecordingSchedule()
    schedule.note_change()
    schedule.note_write(100)
    assert schedule.find_next(100, is_running=False) == 100 + WRITE_SECONDS


def test_closed_record_has_an_unknown_outcome_and_its_sentence() -> None:
    record = close_record(build(*RUNNING, waiting="an executor waits"), "timed out with password=hunter2")
    VALIDATOR.validate(record)
    assert (record["live"], "waiting" in record) == (False, False)
    assert record["verdict"] == {"outcome": "Unknown", "sentence": "timed out with password=(redacted)"}
    assert record["attempts"], "the rest stays"
    assert record["missing"][0] == {"what": "end", "why": f"no task saw it; the totals are as of {record['end']}"}
    assert "end" in summarize_try(record, 1)["missing"]


def test_closed_record_of_an_application_over_its_budget_is_a_failure() -> None:
    record = close_record(build(*RUNNING), "used too much", is_over_budget=True)
    VALIDATOR.validate(record)
    facts = {"failureKind": "budget", "reason": "BudgetExceeded", "retryWorthy": False}
    assert record["verdict"] == {"outcome": "Failed", "sentence": "used too much", **facts}


def test_earlier_tries_are_added_with_their_verdicts_and_totals() -> None:
    first = summarize_try(build(*FAILED), 1)
    record = add_tries(build(*RUNNING), [first], 2)
    VALIDATOR.validate(record)
    (earlier,) = record["earlierTries"]
    assert earlier["tryNumber"] == 1
    assert earlier["verdict"]["outcome"] == "Failed"
    assert earlier["requested"]["driver"]["coreHours"] > 0
    assert earlier["requests"]["driver"]["memoryGiB"] > 0
    assert not [each for each in record.get("missing", ()) if each["what"] == "earlierTries"]


@pytest.mark.parametrize(
    ("sentence", "kept"),
    [
        ("Failed: it broke; retry.", "Failed: it broke; retry."),
        (f"Failed: {'x' * 300}; raise spark.driver.memory.", f"Failed: {'x' * 158}…; raise spark.driver.memory."),
        ("x" * 300, "x" * 194 + "…"),
        (f"Failed: it broke; {'x' * 300}", f"Failed: it broke; {'x' * 176}…"),
    ],
)
def test_sentence_of_an_earlier_try_is_cut_before_what_to_do(sentence: str, kept: str) -> None:
    verdict = summarize_try({"verdict": {"outcome": "Failed", "sentence": sentence}}, 1)["verdict"]
    assert verdict["sentence"] == kept
    assert len(json.dumps(kept)) - 2 <= 200


def test_earlier_try_names_the_gaps_of_its_amounts() -> None:
    first = summarize_try(build(*FAILED, unread={"events": "not read", "pods": "not permitted"}), 1)
    assert "pods" in first["missing"]
    assert "events" not in first["missing"]
    VALIDATOR.validate(add_tries(build(*RUNNING), [first], 2))


@pytest.mark.parametrize(
    ("tries", "number", "problem", "why"),
    [
        ((), 2, "", "the record of try 1 was not stored, or is not kept any more"),
        ((1,), 4, "", "the record of 2 earlier tries was not stored, or is not kept any more"),
        ((), 2, "this Airflow keeps none", "this Airflow keeps none"),
    ],
)
def test_tries_that_were_not_recorded_are_named(tries: tuple[int, ...], number: int, problem: str, why: str) -> None:
    record = add_tries(build(*RUNNING), [{"tryNumber": each} for each in tries], number, problem)
    assert record["missing"][-1] == {"what": "earlierTries", "why": why}
    VALIDATOR.validate(record)


def test_first_try_has_no_earlier_ones() -> None:
    record = build(*RUNNING)
    assert add_tries(record, (), 1) == record


def test_full_record_has_room_for_the_tries() -> None:
    record = build(*FAILED, executors=400, unread={"pods": "é" * 500})
    earlier = [
        summarize_try(close_record(record, f"{'é' * 1000}"), number) | {"begin": "2026-01-01T00:00:00Z"}
        for number in range(1, MAX_TRIES + 1)
    ]
    full = add_tries(close_record(record, "é" * 1000), earlier, MAX_TRIES + 1, "é" * 1000)
    assert len(json.dumps(full)) <= LARGEST
    assert len(full["executors"]) > 20
    assert full["earlierTries"][-1]["tryNumber"] == MAX_TRIES
    VALIDATOR.validate(full)


def test_pause_grows_while_records_cannot_be_stored() -> None:
    assert [find_pause(failures) for failures in (0, 1, 2, 5, 6, 100)] == [0.05, 10, 20, 160, 300, 300]


def test_extended_record_has_fewer_executors() -> None:
    executors = [{"name": "x" * 400, "state": "Running" if number else "Failed"} for number in range(100)]
    record = {"executors": executors, "otherExecutors": {"Running": 2, "Failed": "many"}}
    shrunk = shrink(record)

    assert measure(shrunk) <= LARGEST
    assert shrunk["executors"] == executors[: len(shrunk["executors"])]
    assert shrunk["otherExecutors"]["Running"] == 2 + 100 - len(shrunk["executors"])
    assert shrink(shrunk) == shrunk
    assert shrink({"live": False}) == {"live": False}


def test_invalid_number_of_executors_is_counted_anew() -> None:
    executors = [{"name": "x" * 40_000, "state": "Failed"}]

    assert shrink({"executors": executors, "otherExecutors": {"Failed": "many"}})["otherExecutors"] == {"Failed": 1}
