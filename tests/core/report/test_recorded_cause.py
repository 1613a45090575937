import pytest

from airflow_provider_spark_operator.core.report.recorded_cause import find_recorded_cause

PYTHON = [
    "Traceback (most recent call last):",
    'File "/opt/pi.py", line 34, in <module>',
    "partitions = int(sys.argv[1])",
    "^^^^^^^^^^^^^^^^",
    "ValueError: invalid literal for int() with base 10: 'many'",
]
SPARK = [
    'File "/opt/daily.py", line 7, in <module>',
    'rows.selectExpr("amount * 2").show()',
    "^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
    'File "/opt/spark/pyspark.zip/pyspark/errors/exceptions/captured.py", line 262, in deco',
    "pyspark.errors.exceptions.captured.AnalysisException: [UNRESOLVED_COLUMN] no column `amount`",
    "'Project [unresolvedalias(('amount * 2))]",
    "+- Range (0, 1000, step=1, splits=Some(2))",
]
JAVA = [
    'Exception in thread "main" java.lang.IllegalStateException: no such table',
    "at a.Job.main(Job.scala:3)",
    "Caused by: java.io.IOException: bad",
    "... 3 more",
]


BLOCKED = [
    "26/01/01 00:00:01 WARN BlockedThreadChecker: Thread vert.x-eventloop-thread-0 has been blocked for 2500 ms",
    "io.vertx.core.VertxException: Thread blocked",
    "at java.base/java.util.Arrays.copyOf(Arrays.java:3537)",
]


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        (BLOCKED, None),
        (PYTHON, "ValueError: invalid literal for int() with base 10: 'many' (pi.py:34)"),
        (
            SPARK,
            "pyspark.errors.exceptions.captured.AnalysisException: [UNRESOLVED_COLUMN] no column `amount` (daily.py:7)",
        ),
        (SPARK[3:], "pyspark.errors.exceptions.captured.AnalysisException: [UNRESOLVED_COLUMN] no column `amount`"),
        (JAVA, "java.lang.IllegalStateException: no such table; caused by: java.io.IOException: bad"),
        (["all is well"], None),
        ([], None),
    ],
    ids=["warning", "python", "beginning in a traceback", "beginning in a library", "java", "no error", "no lines"],
)
def test_cause_is_found_in_lines_without_indentation(lines: list[str], cause: str | None) -> None:
    assert find_recorded_cause(lines) == cause
