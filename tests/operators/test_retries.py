"""Retries after a failure. Airflow before 3.3 does not call the retry policy, so the operator calls it."""

import runpy
import traceback
import warnings
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import Context
from airflow.sdk.definitions.context import _AIRFLOW_PARSING_CONTEXT_TASK_ID

from airflow_provider_spark_operator.airflow_compat import (
    HAS_RETRY_POLICIES,
    STARTS_IN_TRIGGERER,
    AirflowFailException,
    RetryDecision,
    RetryPolicy,
    warn_too_old,
)
from airflow_provider_spark_operator.exceptions import (
    SparkApplicationError,
    SparkApplicationFailed,
    SparkInfrastructureFailed,
    rule_out_retry,
)
from airflow_provider_spark_operator.operators import retries
from airflow_provider_spark_operator.operators.spark_cluster import DeleteSparkClusterOperator
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy
from airflow_provider_spark_operator.sensors.spark_application import SparkApplicationSensor
from airflow_provider_spark_operator.testing.applications import Application
from tests.cluster import Cluster, fail, succeed
from tests.operators.tasks import DOCUMENT, operator
from tests.task import TaskInstance, run

DEFERRABLE = pytest.mark.parametrize("deferrable", [True, False], ids=["deferred", "on the worker"])


@DEFERRABLE
def test_failure_that_the_policy_does_not_retry_ends_the_task(cluster: Cluster, deferrable: bool) -> None:
    cluster.script = fail
    with pytest.raises(SparkApplicationFailed) as caught:
        run(operator(deferrable, retries=3, retry_policy=SparkRetryPolicy()), TaskInstance())
    assert isinstance(caught.value, AirflowFailException) is not HAS_RETRY_POLICIES
    if not HAS_RETRY_POLICIES:
        assert "Not retried: the application itself failed, not the infrastructure" in str(caught.value)


@DEFERRABLE
def test_failure_that_the_policy_retries_does_not_end_the_task(cluster: Cluster, deferrable: bool) -> None:
    async def evict(application: Application) -> None:
        application.enter("Submitted", "DriverRequested", "DriverEvicted", "Failed")
        application.enter("TerminatedWithoutReleaseResources")

    cluster.script = evict
    with pytest.raises(SparkInfrastructureFailed) as caught:
        run(operator(deferrable, retries=3, retry_policy=SparkRetryPolicy()), TaskInstance())
    assert not isinstance(caught.value, AirflowFailException)


class FaultyPolicy(RetryPolicy):
    """A policy with a defect."""

    def evaluate(
        self, exception: BaseException, try_number: int, max_tries: int, context: Context | None = None
    ) -> RetryDecision:
        raise KeyError("defect")


@DEFERRABLE
def test_faulty_policy_does_not_hide_the_failure(cluster: Cluster, deferrable: bool) -> None:
    cluster.script = fail
    with pytest.raises(SparkApplicationFailed) as caught:
        run(operator(deferrable, retries=3, retry_policy=FaultyPolicy()), TaskInstance())
    assert not isinstance(caught.value, AirflowFailException)


@pytest.mark.parametrize("policy", ["never", SparkRetryPolicy])
def test_value_that_is_not_a_policy_is_rejected(policy: Any) -> None:
    with pytest.raises(TypeError, match=r"retry_policy must be a retry policy, such as SparkRetryPolicy\(\), not "):
        operator(retry_policy=policy)


@pytest.mark.skipif(HAS_RETRY_POLICIES, reason="Airflow 3.3 asks the policy")
def test_policy_of_a_sensor_warns_on_older_airflow() -> None:
    with pytest.warns(UserWarning, match=r"retry_policy requires Apache Airflow 3\.3 or newer"):
        SparkApplicationSensor(task_id="wait", name="pi", retry_policy=SparkRetryPolicy())
    with pytest.warns(UserWarning, match=r"retry_policy requires Apache Airflow 3\.3 or newer"):
        DeleteSparkClusterOperator(task_id="delete", name="c", retry_policy=SparkRetryPolicy())


def test_policy_of_default_args_is_used() -> None:
    policy = SparkRetryPolicy()
    assert operator(default_args={"retry_policy": policy}).retry_policy is policy


@pytest.mark.parametrize("reason", ["out of luck", None])
def test_exception_without_retry_keeps_its_class_and_attributes(reason: str | None) -> None:
    error: SparkApplicationError = SparkInfrastructureFailed(
        "lost", state="DriverEvicted", reason="Evicted", retry_delay=timedelta(seconds=7), out_of_memory=("driver",)
    )
    final = rule_out_retry(error, reason)
    assert isinstance(final, SparkInfrastructureFailed)
    assert isinstance(final, AirflowFailException)
    assert vars(final) == vars(error)
    assert str(final) == ("lost\nNot retried: out of luck" if reason else "lost")


@pytest.mark.skipif(STARTS_IN_TRIGGERER, reason="Airflow 3.3 starts the task in the triggerer")
def test_older_airflow_makes_the_same_checks_of_a_start_in_the_triggerer() -> None:
    with pytest.raises(ValueError, match="start_from_trigger: wait_for_completion must be True"):
        operator(application=DOCUMENT, start_from_trigger=True, wait_for_completion=False)


@pytest.mark.skipif(STARTS_IN_TRIGGERER, reason="Airflow 3.3 starts the task in the triggerer")
def test_task_of_older_airflow_warns_and_defers_in_place_of_starting_in_the_triggerer(cluster: Cluster) -> None:
    cluster.script = succeed
    given: dict[str, Any] = {"application": DOCUMENT, "start_from_trigger": True}
    with pytest.warns(UserWarning, match=r"start_from_trigger requires Apache Airflow 3\.3 or newer, but found 3\."):
        task = operator(**given)
    assert (task.deferrable, task.start_from_trigger) == (True, False)
    assert run(task, TaskInstance()) == "pi"


@DEFERRABLE
def test_failure_that_the_policy_does_not_retry_is_logged_once(
    cluster: Cluster, deferrable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "HAS_RETRY_POLICIES", False)
    cluster.script = fail
    with pytest.raises(SparkApplicationFailed) as caught:
        run(operator(deferrable, retries=3, retry_policy=SparkRetryPolicy()), TaskInstance())
    shown = "".join(traceback.format_exception(caught.value))
    assert shown.count("SparkApplication jobs/pi") == str(caught.value).count("SparkApplication jobs/pi")
    assert str(caught.value).splitlines()[-1].startswith("Not retried: ")


def test_warning_names_file_and_task_and_appears_only_for_the_running_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "dag.py"
    file.write_text("\nwarn('retry_policy', 'Airflow retries the task', 'wait')\n")
    with pytest.warns(UserWarning, match=rf"^{file}, line 2, task wait: retry_policy requires .* newer") as warned:
        runpy.run_path(str(file), {"warn": warn_too_old})
    assert warned[0].filename == str(file)
    monkeypatch.setenv(_AIRFLOW_PARSING_CONTEXT_TASK_ID, "group.other")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_too_old("retry_policy", "Airflow retries the task", "wait")
        warn_too_old("memory_growth", "the task is not retried with more memory")
        assert not caught
        warn_too_old("retry_policy", "Airflow retries the task", "other")
        assert len(caught) == 1


@pytest.mark.skipif(HAS_RETRY_POLICIES, reason="Airflow 3.3 stores the growth")
def test_memory_growth_warns_on_older_airflow() -> None:
    with pytest.warns(UserWarning, match=r"memory_growth requires Apache Airflow 3\.3 or newer, but found 3\."):
        policy = SparkRetryPolicy(memory_growth=2)
    assert policy.memory_growth is None
