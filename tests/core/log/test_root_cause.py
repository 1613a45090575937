"""The cause of a failure in the driver log: `root_causes.yaml` has the logs."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.core.log.root_cause import RootCause, explain_cause

CASES: dict[str, list[dict[str, Any]]] = yaml.safe_load(Path(__file__).with_name("root_causes.yaml").read_text())
BY_ID = {case["id"]: case for case in CASES["causes"]}
INFO = "26/01/01 00:00:02 INFO SparkContext: Invoking stop() from shutdown hook\n"
TRACE = 'Traceback (most recent call last):\n  File "/opt/job.py", line 3, in <module>\n    main()\nValueError: real\n'


def find_cause(log: str) -> str | None:
    found = RootCause()
    for line in log.splitlines():
        found.add(line)
    return found.sentence


@pytest.mark.parametrize("case", BY_ID.values(), ids=list(BY_ID))
def test_cause_of_a_log(case: dict[str, Any]) -> None:
    assert find_cause(case["log"]) == case["cause"]


@pytest.mark.parametrize("noise", CASES["shutdown"], ids=lambda noise: noise["id"])
@pytest.mark.parametrize(
    ("log", "expected"),
    [(TRACE, "ValueError: real"), (BY_ID["abort with a cause"]["log"], BY_ID["abort with a cause"]["cause"])],
    ids=["traceback", "abort"],
)
def test_shutdown_messages_do_not_replace_cause(log: str, expected: str, noise: dict[str, Any]) -> None:
    assert find_cause(log + INFO + noise["log"]) == expected
    assert find_cause(log + noise["log"]) == expected


def test_long_message_keeps_its_cause() -> None:
    text = f'Exception in thread "main" java.lang.RuntimeException: {"x" * 900}\n\tat a.B.c(B.java:1)\n'
    expected = f"java.lang.RuntimeException: {'x' * 431}…; caused by: java.io.IOException: closed"
    assert find_cause(text + "Caused by: java.io.IOException: closed") == expected


def test_cause_from_long_line_is_truncated() -> None:
    found = find_cause("Traceback (most recent call last):\n  x\nValueError: " + "y" * 100_000)
    assert found is not None
    assert (len(found), found[-1]) == (500, "…")


@pytest.mark.parametrize(
    ("cause", "package"),
    [
        ("ModuleNotFoundError: No module named 'pandas'", "pandas"),
        ("an error occurred: ModuleNotFoundError: No module named 'sklearn.tree'", "sklearn"),
        ("python3: No module named pip", None),
        ("ValueError: 7", None),
    ],
)
def test_advice_names_the_missing_package(cause: str, package: str | None) -> None:
    assert explain_cause(cause).startswith(f"{cause}; install {package} with pip" if package else cause)
    assert (explain_cause(cause) == cause) is (package is None)


def test_advice_about_the_module_for_reports_names_no_package() -> None:
    advice = explain_cause("ModuleNotFoundError: No module named 'spark_task'")
    assert advice.partition("; ")[2] == "copy spark_task.py next to the script, see docs/guides/report-results.md"


PLACES = {
    "traceback": ('  File "/opt/job/load.py", line 3, in <module>', "ValueError: 7 (load.py:3)"),
    "library": ('  File "/usr/lib/python3.11/json/decoder.py", line 355, in raw_decode', "ValueError: 7"),
    "zip of PySpark": (
        '  File "/opt/spark/python/lib/pyspark.zip/pyspark/sql/x.py", line 1, in select',
        "ValueError: 7",
    ),
    "import": ('  File "<frozen importlib._bootstrap>", line 1, in _load', "ValueError: 7"),
}


@pytest.mark.parametrize(("frame", "located"), PLACES.values(), ids=PLACES)
def test_cause_names_the_line_of_the_program(frame: str, located: str) -> None:
    found = RootCause()
    for line in ("Traceback (most recent call last):", frame, "    load()", "ValueError: 7"):
        found.add(line)
    assert found.located_sentence == located
    assert found.sentence == "ValueError: 7"


def test_latest_line_of_the_program_in_each_traceback_is_named() -> None:
    found = RootCause()
    for line in (
        "Traceback (most recent call last):",
        '  File "/opt/job/a.py", line 3, in <module>',
        '  File "/opt/job/b.py", line 4, in load',
        '  File "/opt/spark/python/lib/pyspark.zip/pyspark/sql/x.py", line 1, in select',
        "KeyError: 'x'",
    ):
        found.add(line)
    assert found.located_sentence == "KeyError: 'x' (b.py:4)"
    for line in ("Traceback (most recent call last):", '  File "<stdin>", line 9, in <module>', "ValueError: 7"):
        found.add(line)
    assert found.located_sentence == "ValueError: 7"


def test_line_of_a_syntax_error_is_named() -> None:
    found = RootCause()
    assert found.located_sentence is None
    for line in ('  File "/opt/job/load.py", line 2', "    x = (", "        ^", "SyntaxError: '(' was never closed"):
        found.add(line)
    assert found.located_sentence == "SyntaxError: '(' was never closed (load.py:2)"


def test_line_of_the_program_stays_if_the_message_is_long() -> None:
    found = RootCause()
    frame = '  File "/opt/job/load.py", line 3, in <module>'
    for line in ("Traceback (most recent call last):", frame, f"ValueError: {'x' * 900}"):
        found.add(line)
    assert found.located_sentence is not None
    assert (len(found.located_sentence), found.located_sentence[-14:]) == (500, "x… (load.py:3)")


def test_line_of_a_function_in_a_python_worker_is_named() -> None:
    found = RootCause()
    for line in (
        "Traceback (most recent call last):",
        '  File "/opt/job/load.py", line 9, in <module>',
        "py4j.protocol.Py4JJavaError: An error occurred while calling o1.count.",
        ": org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 failed: "
        "org.apache.spark.api.python.PythonException: Traceback (most recent call last):",
        '  File "/opt/spark/python/lib/pyspark.zip/pyspark/worker.py", line 1, in main',
        '  File "/opt/job/load.py", line 5, in parse',
        "ValueError: no rows",
        "",
    ):
        found.add(line)
    assert found.located_sentence is not None
    assert found.located_sentence.endswith("ValueError: no rows (load.py:5)")


QUOTA = BY_ID["quota that rejects the executors"]
REJECTION = QUOTA["log"].splitlines()[1] + "\n"
STARTED = "26/01/01 00:00:01 INFO KubernetesDriverEndpoint: Registered executor NettyRpcEndpointRef(e) with ID 1\n"
LIMIT = "26/01/01 00:00:09 ERROR ExecutorPodsLifecycleManager: Max number of executor failures (3) reached\n"
LOST = "The executor with id 1 exited with exit code 137(SIGKILL, possible container OOM).\n"


@pytest.mark.parametrize(
    ("log", "is_rejected", "is_cause"),
    [
        (REJECTION, True, False),
        (REJECTION + TRACE, True, False),
        (REJECTION + STARTED + LIMIT, False, False),
        (STARTED + REJECTION + LIMIT + TRACE, True, True),
        (STARTED + LOST + REJECTION + LIMIT, True, False),
        (REJECTION + LIMIT + STARTED, True, True),
        (LIMIT + TRACE, False, False),
    ],
    ids=["driver runs", "error", "started since", "ended", "executors crashed", "line after the end", "other failures"],
)
def test_rejected_executors_are_the_cause_only_if_spark_ended_the_driver_because_of_them(
    log: str, is_rejected: bool, is_cause: bool
) -> None:
    found = RootCause()
    for line in log.splitlines():
        found.add(line)
    assert (found.refusal == QUOTA["cause"], found.sentence == QUOTA["cause"]) == (is_rejected, is_cause)


def test_rejection_without_a_known_beginning_is_shown_whole() -> None:
    found = RootCause()
    found.add(
        "io.fabric8.kubernetes.client.KubernetesClientException: Failure executing: POST at: https://k/jobs/pods. "
        'Message: admission webhook "v.x" denied the request: no.'
    )
    assert found.refusal == 'Spark could not create executors: admission webhook "v.x" denied the request: no'
