"""The behavior of the next try if a try was lost after its application failed."""

import logging
from typing import Any

import pytest

from airflow_provider_spark_operator.exceptions import SparkApplicationError, SparkApplicationFailed
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import ServerError
from airflow_provider_spark_operator.operators import lost_failure
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy
from tests.cluster import Cluster, fail, stay_submitted, succeed
from tests.operators.tasks import operator
from tests.task import TaskInstance, create_cleared_try, defer, run

RETRIES = TaskInstance().max_tries


@pytest.fixture
def lost(cluster: Cluster) -> TaskInstance:
    """The first try of a task, which was lost before its application failed."""
    cluster.script = fail
    first = TaskInstance()
    defer(operator(), first)
    cluster.wait_for_end()
    return first


def create_second_try_after_clear(lost: TaskInstance) -> TaskInstance:
    first = create_cleared_try(lost)
    second = first.next_try()
    second.max_tries = first.max_tries
    return second


def create_operator(
    policy: SparkRetryPolicy | None, retries: int = RETRIES, **parameters: Any
) -> SparkApplicationOperator:
    return operator(name=None, retries=retries, retry_policy=policy, **parameters)


def test_lost_failure_that_policy_rejects_fails_task_without_second_application(
    cluster: Cluster, lost: TaskInstance
) -> None:
    cluster.script = succeed
    with pytest.raises(SparkApplicationFailed, match="exit code 3"):
        run(create_operator(SparkRetryPolicy()), lost.next_try())
    assert len(cluster.applications()) == 1


def test_lost_failure_is_raised_once(cluster: Cluster, lost: TaskInstance) -> None:
    second = lost.next_try()
    with pytest.raises(SparkApplicationFailed):
        run(create_operator(SparkRetryPolicy()), second)
    cluster.script = succeed
    assert run(create_operator(SparkRetryPolicy()), second.next_try())
    assert len(cluster.applications()) == 2


def test_lost_failure_that_policy_retries_is_logged_and_uses_no_extra_try(
    cluster: Cluster, lost: TaskInstance, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.script = succeed
    with caplog.at_level(logging.WARNING, lost_failure.logger.name):
        assert run(create_operator(SparkRetryPolicy(application_failures=True)), lost.next_try())
    assert "exit code 3" in caplog.text
    assert len(cluster.applications()) == 2


def test_cleared_task_runs_although_earlier_try_failed(cluster: Cluster, lost: TaskInstance) -> None:
    cluster.script = succeed
    assert run(create_operator(SparkRetryPolicy()), create_cleared_try(lost))


def test_failure_before_clear_does_not_fail_later_try(cluster: Cluster, lost: TaskInstance) -> None:
    cluster.script = succeed
    assert run(create_operator(SparkRetryPolicy()), create_second_try_after_clear(lost))


def test_reported_failure_is_not_raised_again(cluster: Cluster) -> None:
    cluster.script = fail
    first = TaskInstance()
    with pytest.raises(SparkApplicationFailed):
        run(create_operator(None), first)
    cluster.script = succeed
    assert run(create_operator(SparkRetryPolicy()), first.next_try())


def test_running_application_is_adopted_if_no_try_failed(cluster: Cluster) -> None:
    cluster.script = stay_submitted
    first = TaskInstance()
    uid = defer(create_operator(SparkRetryPolicy()), first).trigger.uid
    assert defer(create_operator(SparkRetryPolicy()), first.next_try()).trigger.uid == uid


def test_unavailable_api_fails_search_for_lost_failures(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fall_silent(*arguments: Any, **options: Any) -> None:
        raise ServerError(500, "InternalError", "the database is away")

    monkeypatch.setattr(KubeClient, "list", fall_silent)
    with pytest.raises(
        SparkApplicationError, match=r"could not list the applications of earlier tries: .*the database is away"
    ):
        run(create_operator(SparkRetryPolicy()), TaskInstance(try_number=2))
