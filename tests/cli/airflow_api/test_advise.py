"""`spark-operator advise` with the XComs of a server that answers as Airflow does."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.spark_metrics.advice import HISTORY_KEY
from tests.cli.airflow_api.server import TOKEN, Airflow, serve
from tests.core.spark_metrics.test_advice import build_run, build_sizes

ADVICE = (
    "executors used at most 3.1 of 8.0 GiB of heap over the last 4 runs: executor_memory='4g', with "
    "conf={'spark.executor.memoryOverhead': '819m'} (8.80 → 4.80 GiB for each executor)"
)


@pytest.fixture
def airflow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Airflow]:
    monkeypatch.setenv("AIRFLOW_CLI_TOKEN", TOKEN)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serve(Airflow(key=HISTORY_KEY)) as server:
        yield server


def build_runs(number: int = 4, peak: float = 3174, age: timedelta = timedelta()) -> list[dict[str, Any]]:
    """Return what runs used that ended one hour after the other, the last one before an age."""
    now = datetime.now(UTC) - age
    ends = [now - timedelta(hours=hours) for hours in range(number)]
    return [build_run(executor=build_sizes(peak=peak), end=end.isoformat()) for end in reversed(ends)]


def advise(airflow: Airflow, *options: str) -> ExitCode:
    return ExitCode(main(["advise", "--airflow", f"{airflow.address}/", *options]))


def add(airflow: Airflow, task: str, value: object, *, index: int = -1, days: int = 0) -> None:
    key = ("sales", f"run {days} days ago", task, index)
    airflow.values[key], airflow.ages[key] = value, timedelta(days=days)


def test_tasks_have_a_suggestion_or_the_reason_why_there_is_none(
    airflow: Airflow, capsys: pytest.CaptureFixture[str]
) -> None:
    add(airflow, "load", build_runs())
    add(airflow, "busy", build_runs(peak=8000))
    add(airflow, "new", build_runs(2))
    add(airflow, "strange", {"end": []})

    assert advise(airflow) == ExitCode.SUCCESS
    assert capsys.readouterr().out.splitlines() == [
        "sales/busy",
        "  nothing to change",
        "sales/load",
        f"  {ADVICE}",
        "sales/new",
        "  measured runs: 2. At least 3 are required",
        "sales/strange",
        "  measured runs: 0. At least 3 are required",
    ]


def test_json_has_the_figures(airflow: Airflow, capsys: pytest.CaptureFixture[str]) -> None:
    add(airflow, "load", build_runs(), index=7)

    assert advise(airflow, "-o", "json", "--dag", "sales") == ExitCode.SUCCESS
    assert json.loads(capsys.readouterr().out) == {
        "tasks": [
            {
                "dag": "sales",
                "task": "load",
                "mapIndex": 7,
                "runs": 4,
                "advice": [{"parameter": "executor_memory", "text": ADVICE}],
                "reason": "",
            }
        ]
    }


@pytest.mark.parametrize("version", ["3.2.2", "3.3.2"])
def test_latest_runs_of_a_task_count_alone(airflow: Airflow, version: str, capsys: pytest.CaptureFixture[str]) -> None:
    airflow.version = version
    add(airflow, "load", build_runs(10, peak=2000, age=timedelta(days=20)), days=20)
    add(airflow, "load", build_runs(10, peak=7600))

    assert advise(airflow) == ExitCode.SUCCESS
    assert capsys.readouterr().out.splitlines()[1] == "  nothing to change"
    assert len(airflow.requests) == 3, "the version, the list, and one value"


def test_instances_of_one_run_are_not_several_runs(airflow: Airflow, capsys: pytest.CaptureFixture[str]) -> None:
    for index in range(3):
        add(airflow, "load", build_runs(1), index=index)

    assert advise(airflow) == ExitCode.SUCCESS
    lines = capsys.readouterr().out.splitlines()
    assert lines[::2] == ["sales/load[0]", "sales/load[1]", "sales/load[2]"]
    assert set(lines[1::2]) == {"  measured runs: 1. At least 3 are required"}


def test_older_runs_do_not_count(airflow: Airflow, capsys: pytest.CaptureFixture[str]) -> None:
    add(airflow, "load", build_runs())

    assert advise(airflow, "--since", "150m") == ExitCode.SUCCESS
    assert "over the last 3 runs" in capsys.readouterr().out


def test_runs_that_cannot_be_read_are_reported(airflow: Airflow, capsys: pytest.CaptureFixture[str]) -> None:
    add(airflow, "broken", 500)
    add(airflow, "load", build_runs())

    assert advise(airflow) == ExitCode.API_FAILED
    captured = capsys.readouterr()
    assert ADVICE in captured.out
    assert "runs that could not be read: 1, for example: " in captured.err


def test_time_without_a_measured_run_is_reported(airflow: Airflow, capsys: pytest.CaptureFixture[str]) -> None:
    assert advise(airflow) == ExitCode.SUCCESS
    assert "no task measured a run in this time: set spark_metrics" in capsys.readouterr().err
