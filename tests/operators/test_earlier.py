"""What the next try does where a try was lost after its application had failed."""

import logging
from typing import Any

import pytest

from airflow_provider_spark_operator.exceptions import SparkApplicationError, SparkApplicationFailed
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import ServerError
from airflow_provider_spark_operator.operators import earlier
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy
from tests.cluster import Cluster, fail, stay_submitted, succeed
from tests.operators.tasks import operator
from tests.task import TaskInstance, create_cleared_try, defer, run

RETRIES = TaskInstance().max_tries


@pytest.fixture
def lost(cluster: Cluster) -> TaskInstance:
    """The first try of a task that was lost; its application has failed since."""
    cluster.script = fail
    first = TaskInstance()
    defer(operator(), first)
    cluster.wait_for_end()
    return first


def second_try_after_clear(lost: TaskInstance) -> TaskInstance:
    first = create_cleared_try(lost)
    second = first.next_try()
    second.max_tries = first.max_tries
    return second


def retried(policy: SparkRetryPolicy | None, retries: int = RETRIES, **parameters: Any) -> SparkApplicationOperator:
    return operator(name=None, retries=retries, retry_policy=policy, **parameters)


def test_a_failure_that_no_retry_would_mend_ends_the_task_without_a_second_application(
    cluster: Cluster, lost: TaskInstance
) -> None:
    cluster.script = succeed
    with pytest.raises(SparkApplicationFailed, match="exit code 3"):
        run(retried(SparkRetryPolicy()), lost.next_try())
    assert len(cluster.applications()) == 1


def test_such_a_failure_is_raised_once(cluster: Cluster, lost: TaskInstance) -> None:
    second = lost.next_try()
    with pytest.raises(SparkApplicationFailed):
        run(retried(SparkRetryPolicy()), second)
    cluster.script = succeed
    assert run(retried(SparkRetryPolicy()), second.next_try())
    assert len(cluster.applications()) == 2


def test_a_failure_that_is_tried_again_is_told_and_costs_no_try_of_its_own(
    cluster: Cluster, lost: TaskInstance, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.script = succeed
    with caplog.at_level(logging.WARNING, earlier.logger.name):
        assert run(retried(SparkRetryPolicy(application_failures=True)), lost.next_try())
    assert "exit code 3" in caplog.text
    assert len(cluster.applications()) == 2


def test_a_task_that_a_person_has_cleared_runs(cluster: Cluster, lost: TaskInstance) -> None:
    cluster.script = succeed
    assert run(retried(SparkRetryPolicy()), create_cleared_try(lost))


def test_a_failure_from_before_a_clear_does_not_end_a_later_try(cluster: Cluster, lost: TaskInstance) -> None:
    cluster.script = succeed
    assert run(retried(SparkRetryPolicy()), second_try_after_clear(lost))


def test_a_failure_that_a_try_has_told_is_not_raised_again(cluster: Cluster) -> None:
    cluster.script = fail
    first = TaskInstance()
    with pytest.raises(SparkApplicationFailed):
        run(retried(None), first)
    cluster.script = succeed
    assert run(retried(SparkRetryPolicy()), first.next_try())


def test_without_an_earlier_failure_the_application_is_taken_over(cluster: Cluster) -> None:
    cluster.script = stay_submitted
    first = TaskInstance()
    uid = defer(retried(SparkRetryPolicy()), first).trigger.uid
    assert defer(retried(SparkRetryPolicy()), first.next_try()).trigger.uid == uid


def test_an_api_that_cannot_be_asked_is_told(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fall_silent(*arguments: Any, **options: Any) -> None:
        raise ServerError(500, "InternalError", "the database is away")

    monkeypatch.setattr(KubeClient, "list", fall_silent)
    with pytest.raises(
        SparkApplicationError, match=r"could not list the applications of earlier tries: .*the database is away"
    ):
        run(retried(SparkRetryPolicy()), TaskInstance(try_number=2))
