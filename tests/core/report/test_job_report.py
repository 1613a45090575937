"""The report of a job is parsed, bounded and cleaned, whatever the job prints."""

import json
from typing import Any

import pytest

from airflow_provider_spark_operator import spark_task
from airflow_provider_spark_operator.core.log.driver_log import REPORT_MARKER
from airflow_provider_spark_operator.core.report import job_report
from airflow_provider_spark_operator.core.report.job_report import JobReport, parse_line, parse_message


def line(**members: Any) -> str:
    return f"{spark_task.MARKER}{json.dumps(members)}"


def read(**members: Any) -> JobReport:
    return parse_line(line(**members)) or JobReport()


def test_both_sides_have_the_same_format() -> None:
    theirs = (spark_task.MARKER, spark_task.KEY, spark_task.MAX_NAMES)
    assert theirs == (REPORT_MARKER, job_report.KEY, job_report.MAX_NAMES)


def test_messages_add_up_and_later_ones_count() -> None:
    report = read(metadata={"rows": 1, "day": "2026-01-01"}) | read(checks={"fresh": {"passed": True}})
    report |= read(checks={"full": {"passed": False, "detail": "no rows"}}, progress=0.25)
    report |= read(metadata={"rows": 12}) | read(progress=0.5)
    assert report.to_json() == {
        "checks": {"full": {"passed": False, "detail": "no rows"}, "fresh": {"passed": True}},
        "metadata": {"rows": 12, "day": "2026-01-01"},
        "progress": 0.5,
    }
    assert report.failed == ["full failed: no rows"]
    assert report.describe() == (
        'check fresh passed, check full failed: no rows, rows: 12, day: "2026-01-01", progress: 50%'
    )


def test_check_that_passes_later_has_no_old_detail() -> None:
    report = read(checks={"full": {"passed": False, "detail": "no rows"}}) | read(checks={"full": {"passed": True}})
    assert (report.failed, report.details) == ([], {})


def test_termination_message_contains_the_report_next_to_other_members() -> None:
    message = json.dumps({"airflow-result": {"value": 1}, "spark-task": {"metadata": {"rows": 3}, "total": 5}})
    assert parse_message(message).to_json() == {"metadata": {"rows": 3}, "omitted": 4}


@pytest.mark.parametrize("message", ["", "bye", "[]", '{"spark-task": 3}', '"spark-task"', '{"spark-task": [' * 2000])
def test_other_termination_message_contains_no_report(message: str) -> None:
    assert parse_message(message) == JobReport()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "[" * 4000,
        '{"progress": 2}',
        '{"progress": true}',
        '{"progress": NaN}',
        '{"checks": {"a": 1, "b": {"passed": "yes"}, "": {"passed": true}}}',
        '{"metadata": {"\\u0007": 1}}',
        '{"metadata": ["a"]}',
        '{"unknown": {"a": 1}}',
        f'{{"metadata": {{"a": "{"x" * 4096}"}}}}',
    ],
)
def test_line_without_a_valid_message_is_no_message(text: str) -> None:
    assert parse_line(f"{spark_task.MARKER}{text}") is None
    assert parse_line(text) is None


def test_values_are_scalars_without_control_characters_and_secrets() -> None:
    given = {
        "colour": "\x1b[31mred\r\n<b>",
        "password": "hunter2",
        "pin_token": 1234,
        "url": "s3://key:secret@bucket/x",
        "huge": 10**30,
        "infinite": float("inf"),
        "list": [1, 2],
        "none": None,
        "yes": True,
        "share": 0.5,
        "long": "é" * 600,
    }
    metadata = read(metadata=given).metadata
    assert metadata["long"] == "é" * 49 + "…"
    assert {name: value for name, value in metadata.items() if name != "long"} == {
        "colour": "red <b>",
        "password": "(redacted)",
        "pin_token": "(redacted)",
        "url": "s3://(redacted)@bucket/x",
        "huge": str(10**30),
        "infinite": "inf",
        "list": "[1, 2]",
        "none": None,
        "yes": True,
        "share": 0.5,
    }
    detail = read(checks={"auth": {"passed": False, "detail": "password=hunter2"}}).failed
    assert detail == ["auth failed: password=(redacted)"]


def test_report_is_bounded_and_keeps_failed_checks() -> None:
    report = JobReport()
    for number in range(80):
        report |= read(metadata={f"fact-{number}": "x" * 300})
        report |= read(checks={f"check-{number}": {"passed": number != 30, "detail": "y" * 300}})
    assert (len(report.metadata), len(report.checks)) == (50, 50)
    found = report.to_json()
    assert len(json.dumps(found)) < 6200
    assert next(iter(found["checks"])) == "check-30"
    assert found["omitted"] == 100 - len(found["checks"]) - len(found.get("metadata", {}))
