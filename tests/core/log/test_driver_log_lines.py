from airflow_provider_spark_operator.core.log.driver_log import (
    LOG_BYTES,
    LastLines,
    append_lines,
    clean_sentence,
    split_lines,
)

ROUTINE = "26/01/01 00:00:00 INFO SparkContext: stopped"


def collect_last_lines(*lines: str) -> tuple[str, ...]:
    last = LastLines()
    for line in lines:
        last.add(line)
    return last.lines


def test_error_is_kept_after_routine_lines() -> None:
    error = ("Traceback (most recent call last):", "ValueError: 7")
    assert collect_last_lines(*error, *[ROUTINE] * 30, "26/01/01 00:00:00 DEBUG Utils: x") == error


def test_lines_before_the_log_and_repeated_messages_are_routine() -> None:
    profile = "Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties"
    repeated = '{"ts": "2026-01-01 00:00:00.602", "level": "ERROR", "logger": "SQLQueryContextLogger", "msg": "no"}'
    assert collect_last_lines(profile, repeated, "ValueError: 7") == ("ValueError: 7",)


def test_report_of_the_job_is_routine() -> None:
    report = 'spark-task {"checks": {"not_empty": {"passed": false}}}'
    assert collect_last_lines("ValueError: 7", report, "spark-task: ours") == ("ValueError: 7", "spark-task: ours")


def test_warnings_and_lines_resembling_routine_are_kept() -> None:
    lines = ("26/01/01 00:00:00 WARN Utils: low", f"it said {ROUTINE}", "INFO: ours")
    assert collect_last_lines(*lines) == lines


def test_routine_lines_are_kept_without_other_lines() -> None:
    assert collect_last_lines(*[f"{ROUTINE} {number}" for number in range(12)]) == tuple(
        f"{ROUTINE} {number}" for number in range(2, 12)
    )


def test_stack_trace_frames_are_dropped() -> None:
    frames = ["\tat java.base/java.lang.Thread.run(Thread.java:840)", "\tat org.x.A$.<init>(A.scala)", "\t... 9 more"]
    assert collect_last_lines("java.io.IOException: disk", *frames * 10) == ("java.io.IOException: disk",)


def test_lines_are_cleaned_and_truncated() -> None:
    assert collect_last_lines("", " \t", "\x1b[31mred\x1b[0m\r", "a\u202eb", "x" * 1000) == (
        "red",
        "ab",
        "x" * 399 + "…",
    )


def test_long_sentence_keeps_its_advice() -> None:
    shown = clean_sentence(f"the driver cannot be started: {'x' * 900};\n\x1b[31muse another image\x1b[0m")
    assert shown.startswith("the driver cannot be started: xxx")
    assert shown.endswith("xxx; use another image")
    assert (len(shown), shown.count("…")) == (400, 1)
    assert clean_sentence("a\u202eb  c") == "ab c"


def test_lines_stay_within_total_limit() -> None:
    lines = collect_last_lines(*[f"{number} {'é' * 390}" for number in range(12)])
    assert lines[-1].startswith("11 ")
    assert sum(len(line.encode()) for line in lines) <= LOG_BYTES


def test_indentation_of_lines_is_kept() -> None:
    lines = ("Traceback (most recent call last):", '  File "job.py", line 3', "    main()", "ValueError: 7")
    assert collect_last_lines(*lines) == lines
    assert split_lines(append_lines("The driver failed.", lines))[1] == lines


def test_long_indentation_is_shortened_and_tabs_become_spaces() -> None:
    assert collect_last_lines("\x1b[31m\tat line 3") == ("    at line 3",)
    (line,) = collect_last_lines(f"{' ' * 300}{'x' * 399}")
    assert line.startswith(" " * 40 + "x")
    assert len(line) == 400
