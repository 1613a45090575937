"""The level of each line of a driver's log."""

import logging

import pytest

from airflow_provider_spark_operator.core.log.line_levels import LineLevels, SparkLineFilter

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


_SPARK = "26/01/01 00:00:00"
# Lines of a driver's log, and whether they are shown if Spark's lines below WARNING are hidden.
_LOGS = {
    "Spark's layout": [
        (f"{_SPARK} INFO SparkContext: Running Spark version 4.3.0", False),
        (f"{_SPARK} WARN NativeCodeLoader: could not load native-hadoop library", True),
        (f"{_SPARK} DEBUG Utils: x", False),
        (f"{_SPARK} ERROR TaskSetManager: Task 0 in stage 0.0 failed 4 times; aborting job", True),
        ("\tat org.example.Main.main(Main.java:3)", True),
        ("Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties", False),
        ("rows 7", True),
    ],
    "Spark's structured layout": [
        ('{"ts":"2026-01-01T00:00:00.123Z","level":"INFO","msg":"started","logger":"SparkContext"}', False),
        ('{"ts":"2026-01-01T00:00:00.123Z","level":"WARN","msg":"slow","logger":"SparkContext"}', True),
        ('{"ts": "2026-01-01 00:00:00,123", "level": "INFO", "logger": "report", "msg": "of the program"}', True),
    ],
    "logging of the program": [
        ("INFO:report:3 rows", True),
        ("2026-01-01 00:00:00,123 - report - INFO - 3 rows", True),
        ("2026-01-01 00:00:00,123 DEBUG [main] org.example.Report - 3 rows", True),
    ],
    "output after a hidden line": [
        (f"{_SPARK} INFO CodeGenerator: Code generated in 34.6 ms", False),
        ("   id  value", True),
        ("0   1      2", True),
        (f"{_SPARK} INFO CodeGenerator: Code generated in 34.6 ms", False),
        ("", True),
        ("{", True),
    ],
    "document in a hidden line": [
        (f"{_SPARK} INFO MicroBatchExecution: Streaming query made progress: {{", False),
        ('  "id" : "5f",', False),
        ("  }, {", False),
        ("}", False),
        ("rows 7", True),
        ("  indented output", True),
    ],
    "Parquet schema after a hidden line": [
        (f"{_SPARK} INFO ParquetWriteSupport: Initialized Parquet WriteSupport with Catalyst schema:", False),
        ("{", False),
        ('  "type" : "struct",', False),
        ("}", False),
        ("and corresponding Parquet message type:", False),
        ("message spark_schema {", False),
        ("  optional int64 id;", False),
        ("}", False),
        ("", False),
        ("       ", False),
        ("", True),
    ],
    "output after a hidden document": [
        (f"{_SPARK} INFO MicroBatchExecution: Streaming query made progress: {{", False),
        ('  "id" : "5f",', False),
        ('{"rows": 10}', True),
        ("  indented output", True),
        (f"{_SPARK} INFO Report: the query made progress: {{", False),
        ("  indented output", True),
    ],
    "output after a hidden line that ends with a colon": [
        (f"{_SPARK} INFO FileSourceStrategy: Post-Scan Filters: ", False),
        ('{"rows": 10}', True),
        (f"{_SPARK} INFO FileSourceStrategy: Post-Scan Filters: ", False),
        ("{", True),
        ('  "rows": 10', True),
        ("}", True),
        (f"{_SPARK} INFO FileSourceStrategy: Post-Scan Filters: ", False),
        ("ValueError: no rows", True),
        (f"{_SPARK} INFO FileSourceStrategy: Post-Scan Filters: ", False),
        ("", True),
        ("   id  value", True),
        (f"{_SPARK} INFO FileSourceStrategy: Post-Scan Filters: ", False),
        ("java.lang.IllegalStateException: no table", True),
        ("\tat org.example.Main.main(Main.java:3)", True),
        ("Caused by: java.io.IOException: disk", True),
        ("\t... 3 more", True),
    ],
    "cause after a hidden line": [
        (f"{_SPARK} INFO CodeGenerator: Code generated in 34.6 ms", False),
        ("Caused by: disk full", True),
        ("  on node 7", True),
        (f"{_SPARK} INFO CodeGenerator: Code generated in 34.6 ms", False),
        ("\t... 3 more", True),
        (f"{_SPARK} INFO CodeGenerator: Code generated in 34.6 ms", False),
        ("  at the end (of the day)", True),
    ],
    "trace in a hidden line": [
        (f"{_SPARK} INFO DAGScheduler: ResultStage 0 failed: Traceback (most recent call last):", False),
        ('  File "report.py", line 3, in <module>', False),
        ("    load()", False),
        ("ValueError: no rows", False),
        ("", False),
        ("\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:581)", False),
        ("Traceback (most recent call last):", True),
        ('  File "report.py", line 9, in <module>', True),
        ("ValueError: no rows", True),
    ],
    "SQL state of a trace in a hidden line": [
        (f"{_SPARK} INFO TaskSetManager: Lost task 1.1: PythonException (Traceback (most recent call last):", False),
        ('  File "report.py", line 3, in divide', False),
        ("ZeroDivisionError: integer division or modulo by zero", False),
        (" SQLSTATE: 38000) [duplicate 1]", False),
        ("\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:581)", False),
        (" SQLSTATE: 38000", True),
    ],
    "frames after a hidden line": [
        (f"{_SPARK} INFO DAGScheduler: ResultStage 0 failed due to java.io.IOException: disk", False),
        ("\tat org.example.Main.main(Main.java:3)", False),
        ("Caused by: java.io.IOException: disk", False),
        ("\tat org.example.Main.main(Main.java:9)", False),
        ("\t... 3 more", False),
        ("rows 7", True),
        ("\tat org.example.Main.main(Main.java:3)", True),
        (f"{_SPARK} INFO DAGScheduler: ResultStage 0 failed due to java.io.IOException: disk", False),
        ("\tat org.example.Main.main(Main.java:3)", False),
        ("Caused by: disk full", True),
        ("  on node 7", True),
    ],
}

_REPEATED = (
    '{"ts": "2026-01-01 00:00:00.602", "level": "ERROR", "logger": "DataFrameQueryContextLogger", '
    '"msg": "[UNRESOLVED_COLUMN.WITH_SUGGESTION] nope", "exception": {"class": "Py4JJavaError"}}'
)


def test_message_that_repeats_an_exception_is_hidden_with_routine_lines() -> None:
    chosen = SparkLineFilter(_WARN)
    log = [(_REPEATED, False), ("Traceback (most recent call last):", True), (_REPEATED, False), ("rows 7", True)]
    assert [(line, chosen.shows(line)) for line, _ in log] == log
    assert SparkLineFilter(logging.INFO).shows(_REPEATED)


def test_warnings_of_every_driver_are_hidden_with_lines_below_warning() -> None:
    lines = [
        f"{_SPARK} WARN NativeCodeLoader: Unable to load native-hadoop library for your platform... using builtin-java",
        f"{_SPARK} WARN SparkEnv: I/O encryption enabled without RPC encryption: keys will be visible on the wire.",
        f"{_SPARK} WARN BlockedThreadChecker: Thread Thread[vert.x-eventloop-thread-1] has been blocked for 2146 ms",
    ]
    other = f"{_SPARK} WARN SparkEnv: slow"
    local, remote = SparkLineFilter(_WARN, is_local=True), SparkLineFilter(_WARN)
    assert [local.shows(line) for line in (*lines, other)] == [False, False, False, True]
    assert [remote.shows(line) for line in (*lines, other)] == [False, False, True, True]
    assert (local.routine_warnings, remote.routine_warnings) == (3, 2)
    errors = SparkLineFilter(_ERROR)
    assert not any(map(errors.shows, lines))
    assert errors.routine_warnings == 0
    assert all(map(SparkLineFilter(logging.INFO).shows, lines))


def test_exception_after_a_hidden_warning_is_hidden_with_its_frames() -> None:
    chosen = SparkLineFilter(_ERROR)
    log = [
        (f"{_SPARK} WARN BlockedThreadChecker: Thread Thread[vert.x-eventloop-thread-1] has been blocked", False),
        ("io.vertx.core.VertxException: Thread blocked", False),
        ("\tat java.base/java.lang.Thread.sleep0(Native Method)", False),
        ("Caused by: java.io.IOException: disk", False),
        ("\t... 3 more", False),
        ("rows 7", True),
        ("io.vertx.core.VertxException: Thread blocked", True),
        (f"{_SPARK} WARN NativeCodeLoader: Unable to load native-hadoop library", False),
        ("java.lang.IllegalStateException: of the program", True),
        (f"{_SPARK} WARN TaskSetManager: Lost task 0.0 in stage 0.0", False),
        ("ValueError: of the program", True),
    ]
    assert [(line, chosen.shows(line)) for line, _ in log] == log


@pytest.mark.parametrize("log", _LOGS.values(), ids=_LOGS)
def test_only_routine_lines_of_spark_are_hidden(log: list[tuple[str, bool]]) -> None:
    chosen = SparkLineFilter(_WARN)
    assert [(line, chosen.shows(line)) for line, _ in log] == log


def test_filter_with_lowest_level_shows_every_line() -> None:
    chosen = SparkLineFilter(logging.DEBUG)
    assert all(chosen.shows(line) for log in _LOGS.values() for line, _ in log)


def test_filter_for_errors_hides_warnings_with_their_traces() -> None:
    chosen = SparkLineFilter(_ERROR)
    log = [
        f"{_SPARK} WARN TaskSetManager: Lost task 0.0: java.io.IOException: disk",
        "\tat org.example.Main.main(A.java:3)",
    ]
    assert not any(map(chosen.shows, log))
    assert chosen.shows(f"{_SPARK} ERROR TaskSetManager: Task 0 in stage 0.0 failed 4 times; aborting job")
