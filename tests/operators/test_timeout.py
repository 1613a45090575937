"""SparkApplicationOperator after the timeout of its task."""

import asyncio
import signal
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.airflow_compat import TaskDeferralTimeout
from airflow_provider_spark_operator.exceptions import SparkApplicationTimedOut
from airflow_provider_spark_operator.testing.applications import Application
from tests.cluster import Cluster, run_on
from tests.operators.tasks import operator
from tests.task import TaskInstance, build_context, call_when_logged, defer, run


@pytest.fixture(params=[True, False], ids=["deferred", "on the worker"])
def deferrable(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


async def fail_now(application: Application) -> None:
    application.enter("Failed", driver=application.end_driver(3))
    application.enter("TerminatedWithoutReleaseResources")


def test_timeout_cancels_the_application(cluster: Cluster, deferrable: bool) -> None:
    cluster.script = run_on
    task = operator(deferrable, execution_timeout=timedelta(milliseconds=300))
    with pytest.raises(
        SparkApplicationTimedOut,
        match=r"SparkApplication jobs/pi had not ended \(RunningHealthy\) within .* it was deleted",
    ):
        run(task, TaskInstance())
    assert cluster.applications() == []


def test_timeout_keeps_application_without_delete_on_kill(cluster: Cluster) -> None:
    cluster.script = run_on
    task = operator(execution_timeout=timedelta(milliseconds=300), delete_on_kill=False)
    with pytest.raises(SparkApplicationTimedOut, match="keeps running because delete_on_kill=False"):
        run(task, TaskInstance())
    assert len(cluster.applications()) == 1


def test_deferral_timeout_cancels_the_application(cluster: Cluster) -> None:
    cluster.script = run_on
    task, task_instance = operator(execution_timeout=timedelta(hours=1)), TaskInstance()
    defer(task, task_instance)
    named = r"^no triggerer reported the end of SparkApplication jobs/pi \(RunningHealthy\) within .*; it was deleted$"
    with pytest.raises(SparkApplicationTimedOut, match=named) as caught:
        task.resume_execution("__fail__", {"error": "Trigger timeout"}, build_context(task_instance))
    assert isinstance(caught.value.__cause__, TaskDeferralTimeout)
    assert cluster.applications() == []


def test_deferral_timeout_is_raised_if_no_application_can_be_read(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.script = run_on
    task, task_instance = operator(execution_timeout=timedelta(hours=1), delete_on_kill=False), TaskInstance()
    defer(task, task_instance)

    async def refuse(*_: Any) -> None:
        raise TimeoutError

    monkeypatch.setattr("airflow_provider_spark_operator.operators.current_try.list_applications", refuse)
    with pytest.raises(SparkApplicationTimedOut, match=r"^no triggerer reported the end of the application within"):
        task.resume_execution("__fail__", {"error": "Trigger timeout"}, build_context(task_instance))


@pytest.mark.parametrize(
    ("meanwhile", "outcome"),
    [
        (lambda cluster: cluster.play(fail_now), "it ended in the meantime, so it was not deleted"),
        (lambda cluster: cluster.delete("pi"), "there was nothing to delete"),
    ],
    ids=["ended", "deleted"],
)
def test_timeout_reports_why_nothing_was_cancelled(
    cluster: Cluster, meanwhile: Callable[..., object], outcome: str
) -> None:
    cluster.script = run_on
    task, task_instance = operator(execution_timeout=timedelta(hours=1)), TaskInstance()
    defer(task, task_instance)
    meanwhile(cluster)
    with pytest.raises(SparkApplicationTimedOut, match=outcome):
        task.resume_execution("__fail__", {"error": "Trigger timeout"}, build_context(task_instance))


def test_timeout_of_earlier_try_keeps_application_of_next_try(cluster: Cluster) -> None:
    cluster.script = run_on
    task, first = operator(execution_timeout=timedelta(hours=1)), TaskInstance()
    defer(task, first)
    defer(operator(), first.next_try())
    with pytest.raises(SparkApplicationTimedOut, match="another try has adopted it, so it keeps running"):
        task.resume_execution("__fail__", {"error": "Trigger timeout"}, build_context(first))
    assert len(cluster.applications()) == 1


@pytest.mark.needs_airflow("3.1")  # Airflow 3.0 has the context manager of its alarm in another module
def test_airflow_timeout_on_worker_cancels_the_application(cluster: Cluster) -> None:
    from airflow.sdk.execution_time.timeout import timeout

    cluster.script = run_on
    task = operator(deferrable=False)
    task.execution_timeout = timedelta(hours=1)  # so that the alarm comes first, as on a worker
    with (
        call_when_logged("RunningHealthy", lambda: signal.setitimer(signal.ITIMER_REAL, 0.01)),
        timeout(3600),  # type: ignore[no-untyped-call]  # Airflow's own
        pytest.raises(SparkApplicationTimedOut, match="it was deleted"),
    ):
        task.execute(build_context(TaskInstance()))
    assert cluster.applications() == []


def test_airflow_timeout_during_submission_cancels_the_application(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_provider_spark_operator.airflow_compat import AirflowTaskTimeout
    from airflow_provider_spark_operator.kube.client import KubeClient

    cluster.script, create, struck = run_on, KubeClient.create, threading.Event()
    created: list[dict[str, Any]] = []
    main_thread = threading.main_thread().ident

    def alarm(number: int, frame: object) -> None:
        struck.set()
        raise AirflowTaskTimeout("over")

    async def create_once_the_time_is_over(*arguments: Any) -> dict[str, Any]:
        assert main_thread is not None
        signal.pthread_kill(main_thread, signal.SIGALRM)
        await asyncio.to_thread(struck.wait, 60)
        created.append(await create(*arguments))
        return created[0]

    monkeypatch.setattr(KubeClient, "create", create_once_the_time_is_over)
    previous = signal.signal(signal.SIGALRM, alarm)
    try:
        with pytest.raises(SparkApplicationTimedOut, match="it was deleted"):
            operator(execution_timeout=timedelta(hours=1)).execute(build_context(TaskInstance()))
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert created
    assert cluster.applications() == []
