"""Restarts of an application: by the operator in the cluster, or by Airflow."""

import copy
from datetime import timedelta
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_spark_operator.exceptions import SparkApplicationFailed, SparkSchedulingFailed
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy
from airflow_provider_spark_operator.testing.applications import Application
from tests.cluster import Cluster, fail, succeed
from tests.operators.tasks import DOCUMENT, operator
from tests.task import TaskInstance, context_of, run


def build_document(**config: Any) -> dict[str, Any]:
    document = copy.deepcopy(DOCUMENT)
    document["spec"]["applicationTolerations"] = {"restartConfig": config, "ttlAfterStopMillis": 5}
    return document


ON_FAILURE = {"restartPolicy": "OnFailure", "maxRestartAttempts": 2, "restartBackoffMillis": 5000}


def test_restart_config_becomes_retries() -> None:
    task = operator(application=build_document(**ON_FAILURE), restarts="airflow")
    assert (task.retries, task.retry_delay) == (2, timedelta(seconds=5))
    assert isinstance(task.retry_policy, SparkRetryPolicy)
    assert task.retry_policy.application_failures


def test_missing_restart_fields_have_the_defaults_of_the_cluster() -> None:
    task = operator(application=build_document(restartPolicy="OnInfrastructureFailure"), restarts="airflow")
    assert (task.retries, task.retry_delay) == (3, timedelta(seconds=30))
    assert isinstance(task.retry_policy, SparkRetryPolicy)
    assert not task.retry_policy.application_failures


def test_given_retry_policy_is_kept() -> None:
    policy = SparkRetryPolicy(memory_growth=2)
    assert (
        operator(application=build_document(**ON_FAILURE), restarts="airflow", retry_policy=policy).retry_policy
        is policy
    )


@pytest.mark.parametrize("application", [DOCUMENT, build_document(restartPolicy="Never"), "app.yaml"])
def test_retries_of_the_task_count_if_there_are_no_restarts(application: dict[str, Any] | str) -> None:
    task = operator(application=application, restarts="airflow", retries=7)
    assert (task.retries, task.retry_policy) == (7, None)


def test_mapped_retries_override_default_args() -> None:
    with DAG("defaults", schedule=None, default_args={"retries": 9}):
        assert operator(application=build_document(**ON_FAILURE), restarts="airflow").retries == 2


@pytest.mark.parametrize(
    ("restarts", "policy", "message"),
    [
        ("both", "OnFailure", "restarts: must be 'cluster' or 'airflow', not 'both'"),
        ("airflow", "Always", "restartPolicy Always is not supported"),
    ],
)
def test_unsupported_restarts_are_rejected_at_parse_time(restarts: str, policy: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        operator(application=build_document(restartPolicy=policy), restarts=restarts)


def test_restarts_are_disabled_in_the_cluster_if_airflow_retries(cluster: Cluster) -> None:
    cluster.script = succeed
    run(operator(False, application=build_document(**ON_FAILURE), restarts="airflow"), TaskInstance())
    tolerations = cluster.application()["spec"]["applicationTolerations"]
    assert tolerations["restartConfig"]["restartPolicy"] == "Never"
    assert tolerations["ttlAfterStopMillis"] == 5


def test_warning_multiplies_restarts_and_retries(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    run(operator(False, application=build_document(**ON_FAILURE), retries=4), TaskInstance())
    assert "up to 3 attempts), and the task is retried (up to 5 tries): together up to 15 attempts" in caplog.text
    assert cluster.application()["spec"]["applicationTolerations"]["restartConfig"]["restartPolicy"] == "OnFailure"


def test_failure_has_the_backoff_of_the_restart_config(cluster: Cluster) -> None:
    cluster.script = fail
    document = build_document(restartPolicy="Never", restartBackoffMillis=5000)
    with pytest.raises(SparkApplicationFailed) as caught:
        run(operator(application=document), TaskInstance())
    assert caught.value.retry_delay == timedelta(seconds=5)
    assert caught.value.retry_worthy


def test_certain_failure_is_not_retry_worthy(cluster: Cluster) -> None:
    async def refuse(application: Application) -> None:
        application.enter("Submitted")
        application.enter("SchedulingFailure", message="no image", reason="SpecUnbuildable")
        application.enter("ResourceReleased")

    cluster.script = refuse
    with pytest.raises(SparkSchedulingFailed) as caught:
        run(operator(), TaskInstance())
    assert not caught.value.retry_worthy


class Store(dict[str, Any]):
    def set(self, key: str, value: dict[str, Any]) -> None:
        self[key] = value


async def run_out_of_memory_once(application: Application) -> None:
    application.enter("Submitted", "DriverRequested")
    application.start_driver(executors=1)
    application.enter("DriverStarted", "DriverReady", "RunningHealthy")
    application.end_executor(0, exit_code=137, reason="OOMKilled")
    application.enter("Failed", message="the driver failed", driver=application.end_driver(1))
    application.enter("TerminatedWithoutReleaseResources")


def test_next_try_has_more_memory_after_out_of_memory(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    cluster.script = run_out_of_memory_once
    policy, store, first = SparkRetryPolicy(memory_growth=4, memory_limit="2g"), Store(), TaskInstance()
    with pytest.raises(SparkApplicationFailed) as caught:
        run(operator(retry_policy=policy), first)
    assert caught.value.out_of_memory == ("executor",)
    assert "ended with exit code 137 (OOMKilled)" in caplog.text
    policy.evaluate(caught.value, 1, 3, context_of(first, task_state_store=store))

    cluster.script = succeed
    operator(False, retry_policy=policy).execute(context_of(first.next_try(), task_state_store=store))
    assert cluster.application()["spec"]["sparkConf"]["spark.executor.memory"] == "2048m"
    assert "an earlier try ran out of memory; this try has spark.executor.memory=2048m" in caplog.text
    assert store["spark_memory_at_limit"] == {"executor": True}
