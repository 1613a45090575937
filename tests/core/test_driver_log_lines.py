from airflow_provider_spark_operator.core.driver_log import LOG_BYTES, LastLines

ROUTINE = "26/01/01 00:00:00 INFO SparkContext: stopped"


def last_of(*lines: str) -> tuple[str, ...]:
    last = LastLines()
    for line in lines:
        last.add(line)
    return last.lines


def test_an_error_outlives_the_routine_after_it() -> None:
    error = ("Traceback (most recent call last):", "ValueError: 7")
    assert last_of(*error, *[ROUTINE] * 30, "26/01/01 00:00:00 DEBUG Utils: x") == error


def test_warnings_and_what_only_looks_like_routine_are_told() -> None:
    lines = ("26/01/01 00:00:00 WARN Utils: low", f"it said {ROUTINE}", "INFO: ours")
    assert last_of(*lines) == lines


def test_routine_is_told_where_there_is_nothing_else() -> None:
    assert last_of(*[f"{ROUTINE} {number}" for number in range(12)]) == tuple(
        f"{ROUTINE} {number}" for number in range(2, 12)
    )


def test_frames_of_a_stack_trace_are_left_out() -> None:
    frames = ["\tat java.base/java.lang.Thread.run(Thread.java:840)", "\tat org.x.A$.<init>(A.scala)", "\t... 9 more"]
    assert last_of("java.io.IOException: disk", *frames * 10) == ("java.io.IOException: disk",)


def test_lines_are_fit_to_be_shown() -> None:
    assert last_of("", " \t", "\x1b[31mred\x1b[0m\r", "a\u202eb", "x" * 1000) == ("red", "ab", "x" * 399 + "…")


def test_lines_together_stay_below_the_limit() -> None:
    kept = last_of(*[f"{number} {'é' * 390}" for number in range(12)])
    assert kept[-1].startswith("11 ")
    assert sum(len(line.encode()) for line in kept) <= LOG_BYTES
