"""Known defects of other Spark operators for Airflow, and hazards of Airflow itself, which this package must not have.

The name of each test describes the correct behavior, and its docstring names the report of the defect.
"""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, BaseOperator

from airflow_provider_spark_operator.airflow_compat import AirflowSensorTimeout, AirflowSkipException
from airflow_provider_spark_operator.exceptions import SparkApplicationDeleted, SparkApplicationError
from airflow_provider_spark_operator.kube.errors import Forbidden
from airflow_provider_spark_operator.sensors.spark_application import SparkApplicationSensor
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.triggers import kill, spark_application_runtime
from airflow_provider_spark_operator.triggers.event import ApplicationEvent, EventKind
from airflow_provider_spark_operator.triggers.task_instance import Fate
from local_kubernetes.api.kinds.kinds import Kind
from tests.cluster import Cluster, fail, run_on, stay_submitted, succeed
from tests.operators.tasks import DOCUMENT, operator
from tests.task import (
    TaskInstance,
    build_context,
    call_when_logged,
    defer,
    fire,
    reload,
    run,
    run_to_first_event,
    start_trigger,
    stop_trigger,
)


@pytest.fixture
def created(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All objects that were ever created, by kind."""
    kinds: list[str] = []
    create = cluster.store.create

    def note(kind: Kind, *arguments: Any, **options: Any) -> Any:
        kinds.append(kind.plural)
        return create(kind, *arguments, **options)

    monkeypatch.setattr(cluster.store, "create", note)
    return kinds


@pytest.fixture
def fate(monkeypatch: pytest.MonkeyPatch) -> Callable[[Fate], None]:
    """A function that sets the state of the task in Airflow."""

    def decide(answer: Fate) -> None:
        monkeypatch.setattr(spark_application_runtime, "read_fate", lambda stamp: answer)
        monkeypatch.setattr(kill, "read_fate_of_deferred", lambda stamp: answer)
        monkeypatch.setattr("airflow_provider_spark_operator.operators.current_try.read_fate", lambda stamp: answer)

    return decide


def test_resumed_task_creates_nothing(cluster: Cluster, created: list[str]) -> None:
    """apache/airflow#66437: deferrable mode created a second, empty pod."""
    assert run(operator(), TaskInstance()) == "pi"
    assert created.count("sparkapplications") == 1
    assert created.count("pods") == 3  # the driver and two executors of the script


@pytest.mark.parametrize("adopted", [False, True], ids=["after a deferral", "after a reattachment"])
def test_operator_in_a_new_process_can_be_killed(cluster: Cluster, fate: Callable[[Fate], None], adopted: bool) -> None:
    """apache/airflow#56291 and #58228: no `launcher` in a process that has not submitted."""
    cluster.script = run_on
    fate(Fate.KILLED)
    first = TaskInstance()
    deferred = defer(operator(), first)
    another = operator()
    another.on_kill()  # no application is known yet, so nothing happens
    if adopted:
        defer(another, first.next_try())
        another.on_kill()
    else:
        trigger = deferred.trigger
        lost = ApplicationEvent(
            EventKind.LOST, trigger.namespace, trigger.name, trigger.uid, sentence="the API is gone"
        )
        with pytest.raises(SparkApplicationError):
            another.resume_execution("execute_complete", {"event": lost.to_payload()}, build_context(first))
        another.on_kill()
    assert cluster.applications() == []


@pytest.mark.parametrize(("script", "again"), [(succeed, False), (fail, True)], ids=["succeeded", "failed"])
def test_retry_processes_application_that_ended_meanwhile(
    cluster: Cluster, script: Callable[[Application], Awaitable[None]], again: bool
) -> None:
    """apache/airflow#57416: each further retry failed."""
    cluster.script = script
    first = TaskInstance()
    uid = defer(operator(), first).trigger.uid
    cluster.wait_for_end()
    cluster.script = succeed
    assert run(operator(), first.next_try()) == "pi"
    assert (cluster.application()["metadata"]["uid"] != uid) is again


def test_each_application_has_the_labels_that_a_retry_uses(cluster: Cluster, created: list[str]) -> None:
    """apache/airflow#41211: the labels for reattaching were never set."""
    cluster.script = run_on
    first = TaskInstance()
    defer(operator(name=None), first)
    defer(operator(name=None), first.next_try())
    defer(operator(name="renamed"), first.next_try().next_try())
    assert created.count("sparkapplications") == 1


async def run_unseen(application: Application) -> None:
    """Run and succeed without any pod."""
    application.enter(
        "Submitted", "DriverRequested", "DriverStarted", "RunningHealthy", "Succeeded", "ResourceReleased"
    )


@pytest.mark.parametrize("deferrable", [True, False], ids=["deferred", "on the worker"])
def test_missing_driver_pod_is_no_failure(cluster: Cluster, deferrable: bool) -> None:
    """apache/airflow#42132: 404 for the driver's pod failed the task."""
    cluster.script = run_unseen
    assert run(operator(deferrable), TaskInstance()) == "pi"


async def lose_its_driver(application: Application) -> None:
    application.enter("Submitted", "DriverRequested")
    application.start_driver()
    application.enter("DriverStarted", "RunningHealthy")
    application.delete_driver()
    application.enter("Failed", message="The driver was removed")
    application.enter("ResourceReleased")


async def be_released(application: Application) -> None:
    application.enter("Submitted", "DriverRequested")
    application.start_driver()
    application.enter("DriverStarted", "RunningHealthy")
    application.delete_driver()
    application.enter("ResourceReleased")


@pytest.mark.parametrize("script", [lose_its_driver, be_released])
def test_deleted_driver_is_no_success(cluster: Cluster, script: Callable[[Application], Awaitable[None]]) -> None:
    """apache/airflow#41212: a deleted driver was reported as success."""
    cluster.script = script
    with pytest.raises(SparkApplicationError):
        run(operator(), TaskInstance())


async def test_task_waits_for_pending_application(cluster: Cluster) -> None:
    """apache/airflow#40495: the task failed while its application was still pending."""
    cluster.script = stay_submitted
    deferred = await asyncio.to_thread(defer, operator(), TaskInstance())
    waiting = asyncio.Event()
    with call_when_logged("Submitted", waiting.set):
        task = asyncio.create_task(run_to_first_event(reload(deferred.trigger)))
        await asyncio.wait_for(waiting.wait(), 60)
    await asyncio.to_thread(cluster.play, succeed)
    assert (await asyncio.wait_for(task, 60)).payload["outcome"] == "Succeeded"


def resume_after_timeout(task: BaseOperator, task_instance: TaskInstance) -> Any:
    """Resume the task as Airflow does after a deferral that timed out."""
    return task.resume_execution("__fail__", {"error": "Trigger timeout"}, build_context(task_instance))


def create_sensor(**parameters: Any) -> SparkApplicationSensor:
    return SparkApplicationSensor(task_id="wait", name="pi", kubernetes_conn_id="spark", **parameters)


@pytest.mark.parametrize(
    ("given", "remaining"), [({"delete_on_kill": True}, 0), ({}, 1)], ids=["asked for", "by default"]
)
async def test_marked_sensor_deletes_application_of_its_run(
    cluster: Cluster, fate: Callable[[Fate], None], given: dict[str, Any], remaining: int
) -> None:
    """apache/airflow#48643: a sensor failed, and the application continued to run."""
    cluster.script = run_on
    fate(Fate.KILLED)
    await asyncio.to_thread(run, operator(wait_for_completion=False), TaskInstance())
    trigger = reload(
        (await asyncio.to_thread(defer, create_sensor(deferrable=True, **given), TaskInstance("wait"))).trigger
    )
    await stop_trigger(trigger, await start_trigger(trigger))
    assert len(cluster.applications()) == remaining


@pytest.mark.parametrize("soft_fail", [False, True])
@pytest.mark.parametrize("deferrable", [True, False], ids=["deferred", "on the worker"])
def test_timed_out_sensor_deletes_application_of_its_run(cluster: Cluster, deferrable: bool, soft_fail: bool) -> None:
    """apache/airflow#48643: a sensor failed, and the application continued to run."""
    cluster.script = run_on
    run(operator(wait_for_completion=False), TaskInstance())
    task, waiting = (
        create_sensor(deferrable=deferrable, delete_on_kill=True, timeout=0.3, soft_fail=soft_fail),
        TaskInstance("wait"),
    )
    if deferrable:
        defer(task, waiting)
    with pytest.raises(AirflowSkipException if soft_fail else AirflowSensorTimeout):
        resume_after_timeout(task, waiting) if deferrable else task.execute(build_context(waiting))
    assert cluster.applications() == []


async def test_sensor_keeps_application_of_another_run(cluster: Cluster, fate: Callable[[Fate], None]) -> None:
    """A sensor must not delete an application that another run needs."""
    cluster.script = run_on
    fate(Fate.KILLED)
    await asyncio.to_thread(cluster.create, "pi")
    task = create_sensor(deferrable=True, delete_on_kill=True)
    trigger = reload((await asyncio.to_thread(defer, task, TaskInstance("wait"))).trigger)
    await stop_trigger(trigger, await start_trigger(trigger))
    assert len(cluster.applications()) == 1


def test_drained_worker_leaves_application_to_next_try(cluster: Cluster, fate: Callable[[Fate], None]) -> None:
    """apache/airflow#39791 and #21900: the SIGTERM of a worker that is drained killed the job."""
    cluster.script = run_on
    fate(Fate.MOVED)
    task, first = operator(False), TaskInstance()

    class Drained(BaseException):
        pass

    def drain(number: int, frame: object) -> None:
        task.on_kill()
        raise Drained

    previous = signal.signal(signal.SIGTERM, drain)
    try:
        with call_when_logged("RunningHealthy", lambda: os.kill(os.getpid(), signal.SIGTERM)), pytest.raises(Drained):
            task.execute(build_context(first))
    finally:
        signal.signal(signal.SIGTERM, previous)
    uid = cluster.application()["metadata"]["uid"]
    assert defer(operator(), first.next_try()).trigger.uid == uid


async def test_same_trigger_in_two_triggerers_keeps_the_application(
    cluster: Cluster, fate: Callable[[Fate], None]
) -> None:
    """apache/airflow#37180: one trigger ran in two triggerers at the same time. Airflow cancels the first."""
    cluster.script = run_on
    fate(Fate.MOVED)
    deferred = await asyncio.to_thread(defer, operator(), TaskInstance())
    one, other = reload(deferred.trigger), reload(deferred.trigger)
    first, second = await start_trigger(one), await start_trigger(other)
    await stop_trigger(one, first)

    async def end(application: Application) -> None:
        application.enter("Succeeded", driver=application.end_driver(0))
        application.enter("ResourceReleased")

    await asyncio.to_thread(cluster.play, end)
    assert (await asyncio.wait_for(second, 60)).payload["outcome"] == "Succeeded"


def test_application_file_is_found_and_rendered(cluster: Cluster, tmp_path: Path) -> None:
    """apache/airflow#38537 and #37261: the path was not found, and a template was submitted as it is."""
    (tmp_path / "app.yaml").write_text(
        "apiVersion: spark.apache.org/v1\nkind: SparkApplication\n"
        "spec: {pyFiles: 'local:///{{ ds }}.py', runtimeVersions: {sparkVersion: 4.3.0}}\n"
    )
    with DAG("files", schedule=None, template_searchpath=str(tmp_path)) as dag:
        task = operator(False, application="app.yaml")
    task.render_template_fields({"ds": "2026-01-02"}, dag.get_template_env())
    task.execute(build_context(TaskInstance()))
    assert cluster.application()["spec"]["pyFiles"] == "local:///2026-01-02.py"


@pytest.mark.parametrize("deferrable", [True, False], ids=["deferred", "on the worker"])
def test_task_log_shows_driver_log_while_driver_runs(cluster: Cluster, deferrable: bool) -> None:
    """apache/airflow#37681: the task log did not show the driver log."""
    logged = asyncio.Event()

    async def end_once_logged(application: Application) -> None:
        application.start()
        application.log.write("Pi is roughly 3.14")
        with suppress(TimeoutError):  # the task ends, whatever the log contains
            await asyncio.wait_for(logged.wait(), 20)
        in_time.append(logged.is_set())
        application.succeed()

    in_time: list[bool] = []
    cluster.script = end_once_logged
    with call_when_logged("driver | Pi is roughly 3.14", lambda: cluster.do(logged.set)):
        run(operator(deferrable), TaskInstance())
    assert in_time == [True]


async def succeed_and_vanish(application: Application) -> None:
    application.enter("Submitted", "DriverRequested")
    application.start_driver()
    application.enter("DriverStarted", "RunningHealthy")
    status = application.end_driver(0)
    application.delete_driver()
    application.enter("Succeeded", driver=status)
    application.enter("ResourceReleased")


def test_driver_deleted_after_success_is_a_success(cluster: Cluster) -> None:
    """kubeflow/spark-operator#2755: a successful application was reported as failed."""
    cluster.script = succeed_and_vanish
    assert run(operator(), TaskInstance()) == "pi"


async def test_task_does_not_wait_for_replaced_application(cluster: Cluster) -> None:
    """kubeflow/spark-operator#1566: after a deletion and creation, the watcher waited indefinitely."""
    cluster.script = run_on
    deferred = await asyncio.to_thread(defer, operator(), TaskInstance())
    task = await start_trigger(reload(deferred.trigger))

    def replace() -> None:
        cluster.store.delete(cluster.kind, "jobs", "pi")
        cluster.store.create(cluster.kind, "jobs", DOCUMENT | {"metadata": {"name": "pi", "namespace": "jobs"}})

    await asyncio.to_thread(cluster.do, replace)
    assert (await asyncio.wait_for(task, 60)).payload["kind"] == "deleted"


async def test_fired_trigger_that_has_not_returned_deletes_nothing(
    cluster: Cluster, fate: Callable[[Fate], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Airflow calls on_kill of a trigger that does not return within two seconds after its event."""
    cluster.script = run_on
    fate(Fate.KILLED)
    trigger = reload((await asyncio.to_thread(defer, operator(), TaskInstance())).trigger)
    monkeypatch.setattr(spark_application_runtime, "wait_for_end", refuse_permission)
    events = trigger.run()
    assert (await anext(events)).payload["kind"] == "lost"  # the next try adopts the application
    await trigger.on_kill()
    assert len(cluster.applications()) == 1
    await events.aclose()


async def refuse_permission(*arguments: Any, **options: Any) -> None:
    raise Forbidden(403, "Forbidden", "no right")


def test_deleted_application_ends_its_task(cluster: Cluster) -> None:
    """A watcher of pods would continue to wait; the task of a deleted application must not."""
    cluster.script = run_on
    deferred = defer(operator(), TaskInstance())
    with call_when_logged("RunningHealthy", lambda: cluster.delete("pi")):
        event = fire(reload(deferred.trigger))
    with pytest.raises(SparkApplicationDeleted):
        operator().resume_execution("execute_complete", {"event": event}, build_context(TaskInstance()))
