"""`spark-operator advise` with the records of a server that answers as Airflow does."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.exit_codes import ExitCode
from tests.cli.airflow_api.server import TOKEN, Airflow, serve
from tests.core.spark_metrics.test_advice import build_sizes

ADVICE = (
    "executors used at most 3.1 of 8.0 GiB of heap over the last 4 runs: executor_memory='4g', with "
    "conf={'spark.executor.memoryOverhead': '819m'}"
)


@pytest.fixture
def airflow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Airflow]:
    monkeypatch.setenv("AIRFLOW_CLI_TOKEN", TOKEN)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serve(Airflow()) as server:
        yield server


def build_record(peak: float = 3174, **more: Any) -> dict[str, Any]:
    work = {"taskSeconds": 90, "executorSeconds": 100, "memory": {"executor": build_sizes(peak=peak)}}
    requests = {"executor": {"memoryGiB": 8.8}}
    return {
        "live": False,
        "verdict": {"outcome": "Succeeded"},
        "totals": {"executorsAtOnce": 2},
        "requests": requests,
        "spark": work,
        **more,
    }


def advise(airflow: Airflow, *options: str) -> ExitCode:
    return ExitCode(main(["advise", "--airflow", f"{airflow.address}/", *options]))


def add(airflow: Airflow, task: str, *records: object) -> None:
    for number, record in enumerate(records):
        key = ("sales", f"run {number}", task, -1)
        airflow.values[key], airflow.ages[key] = record, timedelta(hours=number)


def test_tasks_have_suggestions_or_the_reason_why_there_are_none(
    airflow: Airflow, capsys: pytest.CaptureFixture[str]
) -> None:
    add(airflow, "load", *[build_record()] * 4)
    add(airflow, "busy", *[build_record(8000)] * 3)
    add(airflow, "new", build_record(), build_record())
    add(airflow, "plain", {"live": False, "verdict": {"outcome": "Succeeded"}}, "text", None)

    assert advise(airflow) == ExitCode.SUCCESS
    assert capsys.readouterr().out.splitlines() == [
        "sales/busy",
        "  nothing to change",
        "sales/load",
        f"  {ADVICE}",
        "sales/new",
        "  measured runs: 2. At least 3 are required",
        "sales/plain",
        "  not measured: set spark_metrics in the task",
    ]


def test_json_has_the_figures(airflow: Airflow, capsys: pytest.CaptureFixture[str]) -> None:
    add(airflow, "load", *[build_record()] * 4)

    assert advise(airflow, "-o", "json", "--dag", "sales") == ExitCode.SUCCESS
    assert json.loads(capsys.readouterr().out) == {
        "tasks": [
            {
                "dag": "sales",
                "task": "load",
                "runs": 4,
                "advice": [{"parameter": "executor_memory", "text": ADVICE}],
                "reason": "",
            }
        ]
    }


def test_size_of_the_newest_run_counts(airflow: Airflow, capsys: pytest.CaptureFixture[str]) -> None:
    small = build_record(spark={"taskSeconds": 90, "executorSeconds": 100, "memory": {"executor": build_sizes(1024)}})
    add(airflow, "load", small, *[build_record()] * 4)

    assert advise(airflow) == ExitCode.SUCCESS
    assert capsys.readouterr().out.splitlines()[1] == "  nothing to change"


def test_older_runs_do_not_count(airflow: Airflow, capsys: pytest.CaptureFixture[str]) -> None:
    add(airflow, "load", *[build_record()] * 4)

    assert advise(airflow, "--since", "150m") == ExitCode.SUCCESS
    assert "over the last 3 runs" in capsys.readouterr().out


def test_records_that_cannot_be_read_are_reported(airflow: Airflow, capsys: pytest.CaptureFixture[str]) -> None:
    add(airflow, "load", 500, *[build_record()] * 4)

    assert advise(airflow) == ExitCode.API_FAILED
    captured = capsys.readouterr()
    assert ADVICE in captured.out
    assert "records that could not be read: 1, for example: " in captured.err


def test_time_without_a_record_is_reported(airflow: Airflow, capsys: pytest.CaptureFixture[str]) -> None:
    assert advise(airflow) == ExitCode.SUCCESS
    assert "no task recorded a run in this time" in capsys.readouterr().err
