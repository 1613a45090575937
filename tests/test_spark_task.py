"""`spark_task.py`, the module that is shipped with a job: in a process of its own, as a job uses it."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator import spark_task
from airflow_provider_spark_operator.core.report.job_report import JobReport, parse_line, parse_message


def run_job(tmp_path: Path, program: str, *, has_message_file: bool = True) -> tuple[list[str], str]:
    """Run a job with nothing but the module. Return the lines that it prints, and its termination message."""
    (tmp_path / "spark_task.py").write_text(Path(spark_task.__file__).read_text())
    message = tmp_path / "message"
    environment = {**os.environ, **({spark_task.MESSAGE_VARIABLE: str(message)} if has_message_file else {})}
    source = f"from spark_task import report\n{program}"
    done = subprocess.run(
        [sys.executable, "-S", "-c", source], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines(), message.read_text() if message.exists() else ""


def read_lines(lines: list[str]) -> JobReport:
    report = JobReport()
    for line in lines:
        report |= parse_line(line) or JobReport()
    return report


def test_module_is_valid_in_python_3_8() -> None:
    ast.parse(Path(spark_task.__file__).read_text(), feature_version=(3, 8))


def test_log_and_termination_message_contain_the_report(tmp_path: Path) -> None:
    lines, message = run_job(
        tmp_path,
        "report.metadata(rows=0, day='2026-01-01', path=__import__('pathlib').Path('/a'), share=float('nan'))\n"
        "assert not report.check('not_empty', passed=0, detail='no rows')\n"
        "assert report.check('fresh', True)\n"
        "report.progress(2)",
    )
    assert all(line.startswith(spark_task.MARKER) for line in lines)
    expected: dict[str, Any] = {
        "checks": {"not_empty": {"passed": False, "detail": "no rows"}, "fresh": {"passed": True}},
        "metadata": {"rows": 0, "day": "2026-01-01", "path": "/a", "share": "nan"},
        "progress": 1.0,
    }
    assert read_lines(lines).to_json() == expected
    assert parse_message(message).to_json() == expected


def test_value_of_any_type_becomes_text(tmp_path: Path) -> None:
    program = "Array = type('ndarray', (), {'ndim': 1, '__str__': lambda self: '[1 2]'})\n"
    program += "Array.__module__ = 'numpy'\nreport.metadata(a=Array(), b=10**5000, c=b'1', d=2**64)"
    _, message = run_job(tmp_path, program)
    metadata = parse_message(message).metadata
    assert [str(metadata[name])[:20] for name in "abcd"] == ["[1 2]", hex(10**5000)[:20], "b'1'", str(2**64)]


def test_job_outside_kubernetes_prints_and_writes_nothing(tmp_path: Path) -> None:
    lines, _ = run_job(tmp_path, "report.metadata(rows=1)", has_message_file=False)
    assert lines == ['spark-task {"metadata": {"rows": 1}}']


def test_values_are_repeated_and_progress_is_rarely_printed(tmp_path: Path) -> None:
    program = "for number in range(1000):\n    report.metadata(rows=1)\n    report.progress(number / 1000)"
    lines, _ = run_job(tmp_path, program)
    assert len(lines) == 2


def test_flood_is_bounded_and_failed_checks_are_kept(tmp_path: Path) -> None:
    program = (
        "for number in range(3000):\n    report.metadata(**{f'fact-{number}': 'é' * 500, 'rows': number})\n"
        "for number in range(49): report.check(f'check-{number}', True, 'y' * 50)\n"
        "report.check('not_empty', False)"
    )
    lines, message = run_job(tmp_path, program)
    assert len(lines) <= 1000
    assert max(map(len, lines)) < 4096
    assert len(message) <= spark_task.MESSAGE_BYTES
    report = parse_message(message)
    assert report.failed == ["not_empty failed"]
    assert report.to_json()["omitted"] > 50


@pytest.mark.parametrize(("length", "is_kept"), [(100, True), (3960, False)])
def test_result_of_a_function_takes_precedence_over_the_report(tmp_path: Path, length: int, is_kept: bool) -> None:
    program = f"report.metadata(rows=1)\nreport.save(**{{'airflow-result': {{'value': 'v' * {length}}}}})"
    _, message = run_job(tmp_path, f"{program}\nreport.check('late', True)")
    assert json.loads(message)["airflow-result"] == {"value": "v" * length}
    assert parse_message(message).metadata == ({"rows": 1} if is_kept else {})


def test_message_that_cannot_be_written_does_not_fail_the_job(tmp_path: Path) -> None:
    (tmp_path / "spark_task.py").write_text(Path(spark_task.__file__).read_text())
    environment = {**os.environ, spark_task.MESSAGE_VARIABLE: str(tmp_path)}
    command = [sys.executable, "-c", "from spark_task import report; report.check('a', True)"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.partition(":")[0]) == (
        0,
        f"could not write the report of the job to {tmp_path}",
    )


QUERY = """
import os, sys
import spark_task
spark_task._QUERY_SECONDS = 0.0

class Query:
    name, id, status = "clicks", "1", {"isTriggerActive": False}
    isActive, lastProgress, waits, recentProgress = True, None, 0, []
    def awaitTermination(self, seconds=None):
        if seconds is None:
            if self.fails: raise ValueError("the query has failed")
            return
        self.waits += 1
        self.lastProgress = {"batchId": self.waits + 6, "numInputRows": 2}
        self.recentProgress = [{"batchId": 6}, self.lastProgress]
        if self.waits == 3:
            self.end()
    def stop(self): print("stopped")

class Stopped(Query):
    fails = False
    def end(self): open(os.environ["SPARK_TASK_STOP_FILE"], "w").write("now")

class Failed(Query):
    fails = True
    def end(self): self.isActive = False
"""


def test_queries_are_reported_and_stopped_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(spark_task.STOP_VARIABLE, str(tmp_path / "stop"))
    lines, _ = run_job(tmp_path, f"{QUERY}\nassert not report.stop_requested()\nreport.run(Stopped())")
    assert lines[-1] == "stopped"
    batches = [found.queries["clicks"] for line in lines[:-1] if (found := parse_line(line))]
    assert [(query.get("batch"), query.get("first")) for query in batches] == [(None, None), (7, 6), (8, 6)]


def test_failure_of_a_query_fails_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(spark_task.STOP_VARIABLE, str(tmp_path / "stop"))
    program = f"{QUERY}\ntry: report.run(Failed())\nexcept ValueError as error: print(error)"
    lines, _ = run_job(tmp_path, program)
    assert lines[-2:] == ["stopped", "the query has failed"]


def test_query_that_works_on_a_batch_reports_nothing_new(tmp_path: Path) -> None:
    program = f"{QUERY}\nquery, seen = Stopped(), {{}}\nreport._report_query(query, seen)\n"
    program += "query.lastProgress, query.status = {'batchId': 3, 'numInputRows': 1}, {'isTriggerActive': True}\n"
    program += "query.recentProgress = [query.lastProgress]\n"
    program += "for _ in range(3): report._report_query(query, seen)"
    lines, _ = run_job(tmp_path, program)
    assert len(lines) == 2
