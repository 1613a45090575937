import pytest

from airflow_provider_spark_operator.core.report.recorded_cause import find_recorded_cause

PYTHON = [
    "Traceback (most recent call last):",
    'File "/opt/pi.py", line 34, in <module>',
    "partitions = int(sys.argv[1])",
    "^^^^^^^^^^^^^^^^",
    "ValueError: invalid literal for int() with base 10: 'many'",
]
JAVA = [
    'Exception in thread "main" java.lang.IllegalStateException: no such table',
    "at a.Job.main(Job.scala:3)",
    "Caused by: java.io.IOException: bad",
    "... 3 more",
]


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        (PYTHON, "ValueError: invalid literal for int() with base 10: 'many'"),
        (JAVA, "java.io.IOException: bad"),
        (["all is well"], None),
        ([], None),
    ],
    ids=["python", "java", "no error", "no lines"],
)
def test_cause_is_found_in_lines_without_indentation(lines: list[str], cause: str | None) -> None:
    assert find_recorded_cause(lines) == cause
