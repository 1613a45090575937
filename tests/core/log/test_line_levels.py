"""The level of each line of a driver's log."""

import logging

import pytest

from airflow_provider_spark_operator.core.log.line_levels import LineLevels

_INFO, _WARN, _ERROR = logging.INFO, logging.WARNING, logging.ERROR


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("26/01/01 00:00:00 INFO SparkContext: Running Spark version 4.3.0", _INFO),
        ("26/01/01 00:00:00 WARN NativeCodeLoader: Unable to load native-hadoop library", _WARN),
        ("26/01/01 00:00:00 ERROR TaskSetManager: Task 0 in stage 0.0 failed 4 times; aborting job", _ERROR),
        ("26/01/01 00:00:00 DEBUG Utils: x", logging.DEBUG),
        ("2026-01-01 00:00:00,123 ERROR [main] org.example.Report - no partition", _ERROR),
        ("2026-01-01T00:00:00.123Z [main] WARN org.example.Report - slow", _WARN),
        ('{"ts":"2026-01-01T00:00:00.123Z","level":"ERROR","msg":"lost","logger":"x"}', _ERROR),
        ('{"day": "2026-01-01", "rows": 3}', _INFO),
        ("12:00:00.123 [main] ERROR org.example.Report -- no partition", _ERROR),
        ("12:00:00 WARN slow", _WARN),
        ("2026-01-01 00:00:00,123 - root - ERROR - no partition", _ERROR),
        ("2026-01-01 00:00:00,123 - org.example.report - WARNING - slow", _WARN),
        ("[2026-01-01 00:00:00,123] ERROR in app: no partition", _ERROR),
        ("12:00:00 rows with ERROR", _INFO),
        ("WARNING:root:no rows", _WARN),
        ("CRITICAL:report:no disk", _ERROR),
        ("[ERROR] no disk", _ERROR),
        ("ERRORS: 0", _INFO),
        ("Information about WARN lines", _INFO),
        ("Pi is roughly 3.14", _INFO),
        ("", _INFO),
        ("x" * 100_000 + " ERROR ", _INFO),
    ],
)
def test_line_level_is_classified_by_content(line: str, level: int) -> None:
    assert LineLevels().classify(line) == level


def test_stack_trace_has_level_of_log_message() -> None:
    levels = LineLevels()
    log = [
        ("26/01/01 00:00:00 ERROR Executor: Exception in task 0.0 in stage 0.0 (TID 0)", _ERROR),
        ("java.lang.ArithmeticException: / by zero", _ERROR),
        ("\tat org.example.Main.main(Main.java:3)", _ERROR),
        ("Caused by: java.io.IOException: disk", _ERROR),
        ("\t... 3 more", _ERROR),
        ("", _ERROR),
        ("Driver stacktrace:", _ERROR),
        ("\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2898)", _ERROR),
        ("Caused by: java.io.IOException: disk", _ERROR),
        ("rows written: 3", _INFO),
        ("  indented output", _INFO),
    ]
    assert [levels.classify(line) for line, _ in log] == [level for _, level in log]


def test_driver_stack_trace_is_an_error() -> None:
    levels = LineLevels()
    log = [
        ("py4j.protocol.Py4JJavaError: An error occurred while calling o1.collect.", _INFO),
        (": org.apache.spark.SparkException: Job aborted due to stage failure: the message", _INFO),
        ("has a second line", _INFO),
        ("Driver stacktrace:", _ERROR),
        ("\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2898)", _ERROR),
        ("Caused by: java.io.IOException: disk", _ERROR),
        ("\t... 3 more", _ERROR),
        ("rows written: 3", _INFO),
    ]
    assert [levels.classify(line) for line, _ in log] == [level for _, level in log]


def test_executor_loss_reason_has_level_of_loss_message() -> None:
    levels = LineLevels()
    assert levels.classify("26/01/01 00:00:00 ERROR TaskSchedulerImpl: Lost executor 1 on 10.0.0.7:") == _ERROR
    assert levels.classify("The executor with id 1 exited with exit code 137(SIGKILL).") == _ERROR
    assert levels.classify("The API gave the following brief reason: N/A") == _ERROR


def test_python_traceback_is_an_error() -> None:
    levels = LineLevels()
    log = [
        ("starting", _INFO),
        ("Traceback (most recent call last):", _ERROR),
        ('  File "report.py", line 3, in <module>', _ERROR),
        ("ValueError: 7", _ERROR),
        ("26/01/01 00:00:00 INFO SparkContext: Invoking stop() from shutdown hook", _INFO),
        ("  done", _INFO),
    ]
    assert [levels.classify(line) for line, _ in log] == [level for _, level in log]


def test_exception_in_main_thread_is_an_error() -> None:
    levels = LineLevels()
    assert levels.classify('Exception in thread "main" java.lang.IllegalStateException: no') == _ERROR
    assert levels.classify("\tat org.example.Main.main(Main.java:3)") == _ERROR
