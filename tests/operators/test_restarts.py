"""Restarts of an application: by the operator in the cluster, or by Airflow."""

import copy
import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from airflow.sdk import DAG

from airflow_provider_spark_operator.exceptions import SparkApplicationFailed, SparkSchedulingFailed
from airflow_provider_spark_operator.parameters import RestartPolicy
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy
from airflow_provider_spark_operator.testing.applications import Application
from tests.cluster import Cluster, fail, succeed
from tests.operators.tasks import DOCUMENT, arguments_of, operator
from tests.task import TaskInstance, build_context, create_cleared_try, run

if TYPE_CHECKING:
    from airflow_provider_spark_operator.airflow_compat import RetryPolicy


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


@pytest.mark.needs_airflow("3.3")
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


def test_retries_that_the_task_sets_are_kept() -> None:
    document = build_document(**ON_FAILURE)
    task = operator(application=document, restarts="airflow", retries=7)
    assert (task.retries, task.retry_delay) == (7, timedelta(seconds=5))
    assert isinstance(task.retry_policy, SparkRetryPolicy)
    task = operator(application=document, restarts="airflow", retries=0, retry_delay=timedelta(seconds=9))
    assert (task.retries, task.retry_delay) == (0, timedelta(seconds=9))


def test_mapped_retries_override_default_args() -> None:
    with DAG("defaults", schedule=None, default_args={"retries": 9}):
        assert operator(application=build_document(**ON_FAILURE), restarts="airflow").retries == 2


@pytest.mark.parametrize(
    ("restarts", "policy", "message"),
    [
        ("both", "OnFailure", "restarts: must be 'cluster', 'airflow' or None, not 'both'"),
        (3, "OnFailure", "restarts: must be 'cluster', 'airflow' or None, not 3"),
        ("airflow", "Always", "restartPolicy Always is not supported"),
    ],
)
def test_unsupported_restarts_are_rejected_at_parse_time(restarts: str | int, policy: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        operator(application=build_document(restartPolicy=policy), restarts=restarts)


def test_restarts_are_disabled_in_the_cluster_if_airflow_retries(cluster: Cluster) -> None:
    cluster.script = succeed
    run(operator(False, application=build_document(**ON_FAILURE), restarts="airflow"), TaskInstance())
    tolerations = cluster.application()["spec"]["applicationTolerations"]
    assert tolerations["restartConfig"]["restartPolicy"] == "Never"
    assert tolerations["ttlAfterStopMillis"] == 5


def read_policy(cluster: Cluster) -> str:
    policy: str = cluster.application()["spec"]["applicationTolerations"]["restartConfig"]["restartPolicy"]
    return policy


def test_cluster_restarts_in_the_first_try_alone(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    task, first = operator(False, application=build_document(**ON_FAILURE), retries=3), TaskInstance()
    cluster.script = fail
    with pytest.raises(SparkApplicationFailed):
        run(task, first)
    assert read_policy(cluster) == "OnFailure"
    assert "the Spark operator then restarts it up to 2 times" in caplog.text
    assert "the application runs up to 6 times" in caplog.text
    caplog.clear()
    with pytest.raises(SparkApplicationFailed):
        run(task, first.next_try())
    assert read_policy(cluster) == "Never"
    assert "the cluster restarts it" not in caplog.text


def test_cleared_task_starts_with_restarts_again(cluster: Cluster) -> None:
    cluster.script = succeed
    task, first = operator(False, application=build_document(**ON_FAILURE), retries=3), TaskInstance()
    run(task, first)
    run(task, create_cleared_try(first, retries=3))
    assert read_policy(cluster) == "OnFailure"


def test_task_without_retries_restarts_in_the_cluster(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    cluster.script = succeed
    run(operator(False, application=build_document(**ON_FAILURE), retries=0), TaskInstance())
    assert read_policy(cluster) == "OnFailure"
    assert "the cluster restarts it" not in caplog.text


@pytest.mark.parametrize("restarts", ["cluster", "airflow"])
@pytest.mark.needs_airflow("3.3")
def test_start_in_the_triggerer_needs_a_choice_between_restarts_and_retries(restarts: str) -> None:
    document = build_document(**ON_FAILURE)
    with pytest.raises(
        ValueError, match="both the application's restart policy and the task's retries would repeat a failure"
    ):
        operator(application=document, retries=2, start_from_trigger=True)
    task = operator(application=document, retries=2, start_from_trigger=True, restarts=restarts)
    config = arguments_of(task)["application"]["spec"]["applicationTolerations"]["restartConfig"]
    assert config["restartPolicy"] == ("OnFailure" if restarts == "cluster" else "Never")


def test_restart_policy_parameter_becomes_retries() -> None:
    policy = RestartPolicy("OnFailure", attempts=5, backoff=7)
    for application in (DOCUMENT, "app.yaml"):
        task = operator(application=application, restart_policy=policy, restarts="airflow")
        assert (task.retries, task.retry_delay) == (5, timedelta(seconds=7))
    pending = operator(
        restart_policy={"policy": "OnFailure", "attempts": "{{ params.n }}"}, restarts="airflow", retries=1
    )
    assert pending.retries == 1


def test_warning_multiplies_restarts_and_retries(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    run(operator(False, application=build_document(**ON_FAILURE), retries=4, restarts="cluster"), TaskInstance())
    assert "up to 3 attempts in each of up to 5 tries, together up to 15 attempts" in caplog.text
    assert cluster.application()["spec"]["applicationTolerations"]["restartConfig"]["restartPolicy"] == "OnFailure"


def test_failure_has_the_backoff_of_the_restart_config(cluster: Cluster) -> None:
    cluster.script = fail
    document = build_document(restartPolicy="Never", restartBackoffMillis=5000)
    with pytest.raises(SparkApplicationFailed) as caught:
        run(operator(application=document), TaskInstance())
    assert caught.value.retry_delay == timedelta(seconds=5)
    assert caught.value.retry_worthy


def test_failure_has_the_backoff_of_the_restart_policy_parameter(cluster: Cluster) -> None:
    cluster.script = fail
    with pytest.raises(SparkApplicationFailed) as caught:
        run(operator(restart_policy=RestartPolicy("Never", backoff=9)), TaskInstance())
    assert caught.value.retry_delay == timedelta(seconds=9)


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
    application.end_executor(0, exit_code=52, reason="Error")
    application.enter("Failed", message="the driver failed", driver=application.end_driver(1))
    application.enter("TerminatedWithoutReleaseResources")


@pytest.mark.needs_airflow("3.3")
@pytest.mark.parametrize("chained", [False, True], ids=["alone", "in a chain of policies"])
def test_next_try_has_more_memory_after_out_of_memory(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, chained: bool
) -> None:
    caplog.set_level(logging.INFO)
    cluster.script = run_out_of_memory_once
    policy: RetryPolicy = SparkRetryPolicy(memory_growth=4, memory_limit="2g")
    if chained:
        from airflow.providers.common.compat.sdk import ChainRetryPolicy

        policy = ChainRetryPolicy([policy])
    store, first = Store(), TaskInstance()
    with pytest.raises(SparkApplicationFailed) as caught:
        run(operator(retry_policy=policy), first)
    assert caught.value.out_of_memory == ("executor",)
    assert "ended with exit code 52 (Error)" in caplog.text
    policy.evaluate(caught.value, 1, 3, build_context(first, task_state_store=store))

    cluster.script = succeed
    operator(False, retry_policy=policy).execute(build_context(first.next_try(), task_state_store=store))
    assert cluster.application()["spec"]["sparkConf"]["spark.executor.memory"] == "2048m"
    assert "an earlier try ran out of memory; this try has spark.executor.memory=2048m" in caplog.text
    assert store["spark_memory_at_limit"] == {"executor": True}
