"""The report of a job in its task: the log, XComs, the record, asset events, and a failed check."""

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from airflow.sdk import Asset
from airflow.sdk.log import mask_secret

from airflow_provider_spark_operator.airflow_compat import AirflowFailException, RetryAction
from airflow_provider_spark_operator.exceptions import SparkCheckFailed
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.triggers.run_record import XCOM_KEY
from tests.cluster import Cluster
from tests.core.report.record_schema import VALIDATOR
from tests.operators.tasks import operator
from tests.operators.test_results import OutletEvents
from tests.task import TaskInstance, build_context, defer, run

SUMMARY: dict[str, Any] = {"metadata": {"rows": 0}, "progress": 1.0}
FAILED = {"not_empty": {"passed": False, "detail": "no rows"}}


@pytest.fixture(params=[True, False], ids=["deferred", "on the worker"])
def deferrable(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def succeed_with(summary: dict[str, Any], *lines: str) -> Callable[[Application], Any]:
    """Return the script of a driver that prints lines, succeeds, and leaves a summary."""

    async def script(application: Application) -> None:
        application.enter("Submitted", "DriverRequested")
        application.start_driver()
        application.enter("DriverStarted", "RunningHealthy")
        for line in lines:
            application.log.write(line)
        message = json.dumps({"spark-task": summary})
        application.enter("Succeeded", driver=application.end_driver(0, message=message))
        application.enter("ResourceReleased")

    return script


def test_report_becomes_log_lines_an_xcom_and_a_part_of_the_record(
    cluster: Cluster, deferrable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    task_instance = TaskInstance()
    cluster.script = succeed_with(SUMMARY, 'spark-task {"metadata": {"day": "2026-01-01"}}', "usual line")
    assert run(operator(deferrable), task_instance) == "pi"
    expected = {"metadata": {"day": "2026-01-01", "rows": 0}, "progress": 1.0}
    assert task_instance.xcoms["spark_report"] == expected
    assert task_instance.xcoms[XCOM_KEY]["report"] == expected
    VALIDATOR.validate(task_instance.xcoms[XCOM_KEY])
    assert 'driver | day: "2026-01-01"' in caplog.messages


def test_report_arrives_without_the_driver_log(cluster: Cluster) -> None:
    task_instance, cluster.script = TaskInstance(), succeed_with(SUMMARY)
    run(operator(get_logs=False), task_instance)
    assert task_instance.xcoms["spark_report"] == SUMMARY


def test_asset_event_has_the_report(cluster: Cluster) -> None:
    cluster.script, report = succeed_with(SUMMARY), Asset("s3://reports/daily")
    context = build_context(TaskInstance(), outlet_events=OutletEvents())
    operator(False, outlets=[report]).execute(context)
    assert context["outlet_events"][report].extra["spark_report"] == SUMMARY


def test_failed_check_fails_the_task(cluster: Cluster, deferrable: bool) -> None:
    cluster.script, task_instance = succeed_with({**SUMMARY, "checks": FAILED}), TaskInstance()
    with pytest.raises(SparkCheckFailed) as caught:
        run(operator(deferrable), task_instance)
    error = caught.value
    assert str(error).startswith(
        "SparkApplication jobs/pi failed: check not_empty failed: no rows; the program itself succeeded"
    )
    assert (error.reason, error.retry_worthy, isinstance(error, AirflowFailException)) == ("CheckFailed", False, False)
    decision = SparkRetryPolicy(application_failures=True).evaluate(error, 1, 3)
    assert decision.action is RetryAction.FAIL
    assert task_instance.xcoms["spark_report"]["checks"] == FAILED
    record = task_instance.xcoms[XCOM_KEY]
    assert (record["verdict"]["failureKind"], record["report"]["checks"]) == ("check", FAILED)
    VALIDATOR.validate(record)


def test_failed_check_can_be_a_warning(cluster: Cluster, deferrable: bool, caplog: pytest.LogCaptureFixture) -> None:
    cluster.script, task_instance = succeed_with({"checks": FAILED}), TaskInstance()
    assert run(operator(deferrable, on_failed_check="warn"), task_instance) == "pi"
    (warning,) = [each for each in caplog.messages if "on_failed_check" in each]
    assert warning.endswith("; the task succeeds, because on_failed_check is 'warn'")
    record = task_instance.xcoms[XCOM_KEY]
    assert (record["verdict"]["outcome"], record["report"]["checks"]) == ("Succeeded", FAILED)
    VALIDATOR.validate(record)


def test_failed_program_counts_more_than_a_failed_check(cluster: Cluster) -> None:
    async def fail(application: Application) -> None:
        application.start()
        application.log.write('spark-task {"checks": {"not_empty": {"passed": false}}}')
        application.fail(3)

    cluster.script, task_instance = fail, TaskInstance()
    with pytest.raises(Exception, match="exit code 3") as caught:
        run(operator(), task_instance)
    assert not isinstance(caught.value, SparkCheckFailed)
    assert task_instance.xcoms["spark_report"]["checks"] == {"not_empty": {"passed": False}}


def test_secrets_of_the_application_are_hidden_in_the_report(cluster: Cluster) -> None:
    cluster.script, task_instance = succeed_with({"metadata": {"url": "jdbc:hunter22"}}), TaskInstance()
    mask_secret("hunter22")
    run(operator(conf={"spark.db.hidden": "hunter22"}), task_instance)
    assert "hunter22" not in json.dumps([task_instance.xcoms["spark_report"], task_instance.xcoms[XCOM_KEY]["report"]])


def test_unknown_action_is_rejected() -> None:
    with pytest.raises(ValueError, match="on_failed_check must be 'fail' or 'warn', not 'ignore'"):
        operator(on_failed_check="ignore")


def test_script_that_imports_the_module_gets_it(cluster: Cluster, tmp_path: Any) -> None:
    (tmp_path / "job.py").write_text("def main():\n    from spark_task import report\n")
    defer(operator(application=None, py_file=str(tmp_path / "job.py"), image="spark:4.3.0", name="pi"), TaskInstance())
    spec = cluster.application()["spec"]
    (config_map,) = spec["configMapSpecs"]
    assert set(config_map["data"]) == {"job.py", "spark_task.py"}
    assert spec["pyFiles"] == "local:///opt/airflow-task/job.py,local:///opt/airflow-task/spark_task.py"
    tolerations = spec["applicationTolerations"]
    assert (tolerations["resourceRetainPolicy"], tolerations["resourceRetainDurationMillis"]) == ("Always", 600_000)
    assert "/dev/termination-log" in json.dumps(spec)
