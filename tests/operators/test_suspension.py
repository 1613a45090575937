"""A task whose application is suspended, queued or preempted by an operator of the release 1.1.0."""

import asyncio
import logging
import threading
from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.exceptions import SparkApplicationFailed, SparkApplicationTimedOut
from airflow_provider_spark_operator.follow.narration import narrator
from airflow_provider_spark_operator.follow.narration.obstacles import Pauses
from airflow_provider_spark_operator.testing.applications import Application, stay_submitted
from tests.cluster import Cluster
from tests.operators.tasks import DOCUMENT, operator
from tests.task import TaskInstance, call_when_logged, run

FULL = "couldn't assign flavors to pod set driver: insufficient unused quota for cpu in flavor default, 1 more needed"
PREEMPTED = "Preempted to accommodate a workload of higher priority."


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = Pauses(driver=(0.01, 0.05), executors=(0.01, 0.05), request=0.0, suspension=0.1)
    monkeypatch.setattr(narrator, "BACKGROUND", pauses)


@pytest.fixture(params=[True, False], ids=["deferred", "on the worker"])
def deferrable(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


class Gate:
    """Lets a script of the cluster wait for a line of the task log."""

    def __init__(self) -> None:
        self._opened = threading.Event()

    def open(self) -> None:
        self._opened.set()

    async def wait(self) -> None:
        assert await asyncio.to_thread(self._opened.wait, 60)


def preempt(application: Application) -> None:
    """Run a first attempt until Kueue evicts the application, and queue it again."""
    application.start(executors=1)
    application.log.write("the first attempt works")
    application.suspend("KueueEviction", PREEMPTED)
    application.resume("queued again")


def test_task_waits_in_the_queue_and_logs_the_reason(
    cluster: Cluster, deferrable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate()

    async def live(application: Application) -> None:
        application.report("KueueAdmissionPending", f"Waiting for Kueue admission in queue team-a: {FULL}")
        await gate.wait()
        application.report("KueueAdmitted", "admitted")
        application.start()
        application.succeed()

    cluster.script, task_instance = live, TaskInstance()
    with call_when_logged("waits for Kueue admission", gate.open), caplog.at_level(logging.INFO):
        assert run(operator(deferrable, kueue_queue="team-a"), task_instance) == "pi"
    assert task_instance.xcoms["state"] == "Succeeded"
    (line,) = [record.getMessage() for record in caplog.records if "waits for Kueue" in record.getMessage()]
    assert FULL in line
    assert line.startswith("SparkApplication jobs/pi is waiting: it waits for Kueue admission in queue team-a")
    assert "no operator" not in caplog.text


def test_preempted_application_runs_again_in_the_same_try(
    cluster: Cluster, deferrable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def live(application: Application) -> None:
        preempt(application)
        application.start(executors=1)
        application.log.write("the second attempt works")
        application.succeed()

    cluster.script, task_instance = live, TaskInstance()
    with caplog.at_level(logging.INFO):
        assert run(operator(deferrable, kueue_queue="team-a"), task_instance) == "pi"
    assert task_instance.xcoms["attempts"] == 2
    assert task_instance.xcoms["application_id"] == "pi-1"
    assert "Suspended" in task_instance.xcoms["seconds_per_state"]
    assert "SparkApplication jobs/pi: Suspended since" in caplog.text
    assert f"UTC: {PREEMPTED}" in caplog.text
    assert "the second attempt works" in caplog.text
    assert len(cluster.applications()) == 1


def test_failure_after_a_preemption_is_that_of_the_second_attempt(cluster: Cluster, deferrable: bool) -> None:
    async def live(application: Application) -> None:
        preempt(application)
        application.start()
        application.log.write("no such table")
        application.fail(exit_code=7)

    cluster.script = live
    with pytest.raises(SparkApplicationFailed, match="exit code 7") as caught:
        run(operator(deferrable, kueue_queue="team-a"), TaskInstance())
    assert "no such table" in str(caught.value)


def test_held_task_runs_when_the_suspension_is_lifted(
    cluster: Cluster, deferrable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate()

    async def live(application: Application) -> None:
        application.report("SuspendHeld", "held by spec.suspend")
        await gate.wait()
        application.start()
        application.succeed()

    cluster.script = live
    document: dict[str, Any] = {**DOCUMENT, "spec": {**DOCUMENT["spec"], "suspend": True}}
    with call_when_logged(": spec.suspend is true", gate.open), caplog.at_level(logging.INFO):
        assert run(operator(deferrable, document), TaskInstance()) == "pi"
    line = "is waiting: spec.suspend is true; set spec.suspend to false to start it"
    assert caplog.text.count(line) == 1


def test_timeout_of_a_queued_task_names_what_it_waits_for(cluster: Cluster, deferrable: bool) -> None:
    async def live(application: Application) -> None:
        application.report("KueueAdmissionPending", FULL)

    cluster.script = live
    task = operator(deferrable, kueue_queue="team-a", execution_timeout=timedelta(seconds=2))
    with pytest.raises(SparkApplicationTimedOut, match="waits for Kueue admission in queue team-a"):
        run(task, TaskInstance())


def test_operator_that_ignores_the_queue_is_reported(
    cluster: Cluster, deferrable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate()

    async def live(application: Application) -> None:
        application.report("KueueDisabled", "the Kueue integration is disabled", warning=True)
        application.enter("Submitted", "DriverRequested")
        application.start_driver()
        await gate.wait()
        application.enter("DriverStarted", "DriverReady", "RunningHealthy")
        application.succeed()

    cluster.script = live
    line = "SparkApplication jobs/pi: it is not in queue team-a: the Kueue integration is disabled"
    with call_when_logged(line, gate.open), caplog.at_level(logging.INFO):
        assert run(operator(deferrable, kueue_queue="team-a"), TaskInstance()) == "pi"
    assert caplog.text.count(line) == 1


def test_retry_adopts_a_suspended_application(cluster: Cluster) -> None:
    async def live(application: Application) -> None:
        application.start()
        application.suspend("KueueEviction", PREEMPTED)

    async def continue_later(application: Application) -> None:
        application.resume("queued again")
        application.start()
        application.succeed()

    cluster.script, first = live, TaskInstance()
    run(operator(False, kueue_queue="team-a", wait_for_completion=False), first)
    cluster.wait_for_state("Suspended")
    cluster.script = stay_submitted
    with call_when_logged("is waiting: Kueue has evicted it", lambda: cluster.play(continue_later)):
        assert run(operator(False, kueue_queue="team-a"), first.next_try()) == "pi"
    assert len(cluster.applications()) == 1
