"""Tasks whose application finds no room in the cluster: before Airflow 3.4, they submit it again in the same try."""

from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.airflow_compat import HAS_RESCHEDULES, TaskDeferred
from airflow_provider_spark_operator.core.states import capacity_wait
from airflow_provider_spark_operator.exceptions import SparkSchedulingFailed
from airflow_provider_spark_operator.operators import requests
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy
from airflow_provider_spark_operator.testing.applications import Application
from tests.cluster import Cluster, succeed
from tests.operators.tasks import operator
from tests.task import TaskInstance, build_context, defer, fire, reload, run

pytestmark = pytest.mark.skipif(HAS_RESCHEDULES, reason="Airflow 3.4 reschedules the task")

QUOTA = 'pods "pi-driver" is forbidden: exceeded quota: small, requested: cpu=9'
FULL = {"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available: 1 Insufficient cpu."}
HOUR = timedelta(hours=1)


@pytest.fixture(params=[True, False], ids=["deferred", "on the worker"])
def deferrable(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(autouse=True)
def short_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity_wait, "_FIRST_SECONDS", 0.05)


class Crowd:
    """A cluster that is full for the first applications.

    Args:
        cluster: The cluster.
        failures: How many applications find no room.
        message: Why the quota rejects the driver. If None, no node has room for it.
    """

    def __init__(self, cluster: Cluster, failures: int, message: str | None = QUOTA) -> None:
        self.uids: list[str] = []
        self._failures, self._message = failures, message
        cluster.script = self.play

    async def play(self, application: Application) -> None:
        self.uids.append(application.uid)
        if len(self.uids) > self._failures:
            await succeed(application)
        elif self._message is not None:
            application.enter("Submitted", "SchedulingFailure", message=self._message)
            application.enter("ResourceReleased")
        else:
            status = {"phase": "Pending", "conditions": [FULL]}
            application.enter("Submitted", "DriverRequested")
            application.enter("DriverStartTimedOut", driver=status)
            application.enter("ResourceReleased")


def wait_for(duration: timedelta = HOUR) -> SparkRetryPolicy:
    return SparkRetryPolicy(capacity_wait=duration)


@pytest.mark.parametrize("message", [QUOTA, None], ids=["quota", "full nodes"])
def test_application_is_submitted_again_until_the_cluster_has_room(
    cluster: Cluster, deferrable: bool, message: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    crowd, task_instance = Crowd(cluster, failures=2, message=message), TaskInstance()
    assert run(operator(deferrable, retry_policy=wait_for()), task_instance) == "pi"
    assert len(set(crowd.uids)) == 3
    assert [one["metadata"]["uid"] for one in cluster.applications()] == [task_instance.xcoms["uid"]] == crowd.uids[-1:]
    waits = [each.getMessage() for each in caplog.records if "is submitted again in " in each.getMessage()]
    assert len(waits) == 2
    assert "without using a retry" in waits[0]
    assert (QUOTA if message else "1 Insufficient cpu") in caplog.text
    assert task_instance.xcoms["state"] == "Succeeded"


def test_task_that_waits_longer_than_allowed_uses_a_retry(
    cluster: Cluster, deferrable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    crowd = Crowd(cluster, failures=1000)
    with pytest.raises(SparkSchedulingFailed, match="exceeded quota") as caught:
        run(operator(deferrable, retry_policy=wait_for(timedelta(seconds=0.5))), TaskInstance())
    assert caught.value.lacks_capacity
    assert len(crowd.uids) > 1
    assert "the cluster had no room for longer than 0:00:00.500000 (capacity_wait); this failure uses a retry" in (
        caplog.text
    )


@pytest.mark.parametrize("policy", [None, SparkRetryPolicy()], ids=["no policy", "no wait"])
def test_without_a_wait_lack_of_capacity_uses_a_retry(
    cluster: Cluster, deferrable: bool, policy: SparkRetryPolicy | None
) -> None:
    crowd = Crowd(cluster, failures=1)
    with pytest.raises(SparkSchedulingFailed):
        run(operator(deferrable, retry_policy=policy), TaskInstance())
    assert len(crowd.uids) == 1


def test_other_scheduling_failure_uses_a_retry(cluster: Cluster, deferrable: bool) -> None:
    crowd = Crowd(cluster, failures=1, message='serviceaccount "no" not found')
    with pytest.raises(SparkSchedulingFailed):
        run(operator(deferrable, retry_policy=wait_for()), TaskInstance())
    assert len(crowd.uids) == 1


def test_end_that_could_not_be_recorded_is_read_again(
    cluster: Cluster, deferrable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    acknowledge = requests.acknowledge

    def fail_once(*arguments: Any) -> None:
        monkeypatch.setattr(requests, "acknowledge", acknowledge)

    monkeypatch.setattr(requests, "acknowledge", fail_once)
    crowd = Crowd(cluster, failures=1)
    assert run(operator(deferrable, retry_policy=wait_for()), TaskInstance()) == "pi"
    assert len(crowd.uids) == 2


def test_trigger_that_restarts_during_the_wait_fires_the_same_event(cluster: Cluster) -> None:
    Crowd(cluster, failures=1)
    deferred = defer(operator(retry_policy=wait_for()), TaskInstance())
    events = [fire(reload(deferred.trigger)) for _ in range(2)]
    assert [event["capacity_wait"]["failures"] for event in events] == [1, 1]
    assert events[0]["uid"] == events[1]["uid"]


def test_next_try_adopts_the_application_that_was_submitted_again(cluster: Cluster) -> None:
    crowd, first = Crowd(cluster, failures=1), TaskInstance()
    task = operator(retry_policy=wait_for())
    event = fire(reload(defer(task, first).trigger))
    lost = operator(retry_policy=wait_for())
    with pytest.raises(TaskDeferred):
        lost.resume_execution("execute_complete", {"event": event}, build_context(first))
    assert run(operator(retry_policy=wait_for()), first.next_try()) == "pi"
    assert len(crowd.uids) == 2


def test_wait_of_a_deferred_task_ends_at_its_timeout(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity_wait, "_FIRST_SECONDS", 500.0)
    crowd = Crowd(cluster, failures=1)
    task = operator(retry_policy=wait_for(), execution_timeout=timedelta(seconds=3))
    assert run(task, TaskInstance()) == "pi"
    assert len(crowd.uids) == 2
