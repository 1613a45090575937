"""SparkApplicationStartTrigger, and the tasks that can start in the triggerer."""

import asyncio
import threading
import warnings
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from airflow.sdk import DAG, task
from airflow.triggers.base import BaseTrigger

from airflow_provider_spark_operator.airflow_compat import HAS_RESCHEDULES, AirflowFailException, TaskDeferred
from airflow_provider_spark_operator.core.states import capacity_wait
from airflow_provider_spark_operator.exceptions import SparkApplicationError, SparkApplicationFailed
from airflow_provider_spark_operator.follow.submission.stamp import TaskStamp
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import KubeError
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.triggers import kill, start, task_instance
from airflow_provider_spark_operator.triggers.start import SparkApplicationStartTrigger
from airflow_provider_spark_operator.triggers.task_instance import Fate
from tests.cluster import Cluster, fail, run_on, stay_submitted, succeed
from tests.operators.tasks import DOCUMENT, arguments_of, operator
from tests.task import TaskInstance, build_context, fire, reload, run_to_first_event, start_trigger, stop_trigger
from tests.triggers.triggerer import TriggerRunner

pytestmark = pytest.mark.needs_airflow("3.3")


def start_task(
    owner: TaskInstance | None = None, **parameters: Any
) -> tuple[SparkApplicationOperator, SparkApplicationStartTrigger]:
    """Return the operator, and the trigger that the scheduler creates for it."""
    made = operator(start_from_trigger=True, **parameters)
    arguments = made.start_trigger_args
    assert arguments is not None
    assert arguments.trigger_cls == f"{start.__name__}.{SparkApplicationStartTrigger.__name__}"
    trigger = reload(SparkApplicationStartTrigger(**arguments_of(made)))
    trigger.task_instance = cast("Any", owner or TaskInstance())
    return made, trigger


def resume_task(made: SparkApplicationOperator, trigger: BaseTrigger) -> Any:
    event = fire(trigger)
    return made.resume_execution(
        "execute_complete", {"event": event}, build_context(cast("Any", trigger.task_instance))
    )


def test_triggerer_submits_and_waits_and_worker_processes_the_end(cluster: Cluster) -> None:
    made, trigger = start_task(image="spark:4.3.0")
    assert resume_task(made, trigger) == "pi"
    application = cluster.application()
    owner = cast("Any", trigger.task_instance)
    xcoms = owner.xcoms
    assert (xcoms["namespace"], xcoms["uid"]) == ("jobs", application["metadata"]["uid"])
    assert application["spec"]["sparkConf"]["spark.kubernetes.container.image"] == "spark:4.3.0"
    annotations = application["metadata"]["annotations"]
    assert annotations["airflow.spark-operator/task-instance-id"] == str(owner.id)


@pytest.mark.parametrize(("ttl", "millis"), [(None, 86_400_000), (90, 90_000)], ids=["default", "given"])
def test_application_has_the_default_ttl(cluster: Cluster, ttl: int | None, millis: int) -> None:
    resume_task(*start_task(ttl=ttl))
    assert cluster.application()["spec"]["applicationTolerations"]["ttlAfterStopMillis"] == millis


def test_failure_is_raised_on_the_worker_for_the_retry_policy(cluster: Cluster) -> None:
    cluster.script = fail
    with pytest.raises(SparkApplicationFailed, match="exit code 3"):
        resume_task(*start_task())


@pytest.mark.skipif(HAS_RESCHEDULES, reason="Airflow 3.4 reschedules the task")
def test_task_submits_again_on_a_worker_after_the_cluster_had_no_room(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def find_no_room(application: Application) -> None:
        cluster.script = succeed
        application.enter("Submitted", "SchedulingFailure", message="exceeded quota: small")
        application.enter("ResourceReleased")

    monkeypatch.setattr(capacity_wait, "_FIRST_SECONDS", 0.05)
    cluster.script = find_no_room
    with pytest.raises(TaskDeferred) as deferred:
        resume_task(*start_task(retry_policy=SparkRetryPolicy(capacity_wait=3600)))
    assert len(cluster.applications()) == 1
    assert fire(reload(deferred.value.trigger))["outcome"] == "Succeeded"


def test_invalid_document_is_not_retried(cluster: Cluster) -> None:
    with pytest.raises(AirflowFailException, match=r"not valid: spec\.runtimeVersions"):
        resume_task(*start_task(application={**DOCUMENT, "spec": {"pyFiles": "local:///a.py"}}))


def test_failed_submission_is_reported(cluster: Cluster) -> None:
    with pytest.raises(SparkApplicationError, match=r"could not submit the application: .* namespace nowhere"):
        resume_task(*start_task(namespace="nowhere"))


def test_rejected_content_is_not_retried(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    async def reject(*_: object, **__: object) -> None:
        raise KubeError(413, "RequestEntityTooLarge", "limit is 3145728", "create")

    monkeypatch.setattr(KubeClient, "create", reject)
    with pytest.raises(AirflowFailException, match=r"^could not submit the application: .*limit is 3145728"):
        resume_task(*start_task())


def test_missing_connection_is_reported() -> None:
    with pytest.raises(SparkApplicationError, match=r"could not submit the application: .*'nowhere' is not defined"):
        resume_task(*start_task(kubernetes_conn_id="nowhere"))


@pytest.mark.parametrize(("if_exists", "replaced"), [("replace_ended", True), ("fail", False)])
def test_triggerer_replaces_ended_application_of_another_run(cluster: Cluster, if_exists: str, replaced: bool) -> None:
    resume_task(*start_task())
    before = cluster.application()["metadata"]["uid"]
    another = TaskInstance()
    another.run_id = "manual__2"
    made, trigger = start_task(another, if_exists=if_exists)
    if replaced:
        assert resume_task(made, trigger) == "pi"
    else:
        with pytest.raises(SparkApplicationError, match="if_exists='replace_ended'"):
            resume_task(made, trigger)
    assert (cluster.application()["metadata"]["uid"] != before) is replaced


async def lose_triggerer(cluster: Cluster, trigger: BaseTrigger) -> str:
    """Run the trigger until it has submitted, as a triggerer that ends then. Return the uid of its application."""
    task = await start_trigger(trigger, "Submitted")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return str(cluster.application()["metadata"]["uid"])


async def test_another_triggerer_adopts_the_application(cluster: Cluster) -> None:
    cluster.script = stay_submitted
    _, first = start_task()
    uid = await lose_triggerer(cluster, first)
    _, second = start_task(first.task_instance)
    task = await start_trigger(second, "Submitted")
    await asyncio.to_thread(cluster.play, succeed)
    assert (await asyncio.wait_for(task, 60)).payload["uid"] == uid


async def test_another_triggerer_reports_unseen_failure(cluster: Cluster) -> None:
    cluster.script = stay_submitted
    _, first = start_task()
    uid = await lose_triggerer(cluster, first)
    await asyncio.to_thread(cluster.play, fail)
    await asyncio.to_thread(cluster.wait_for_end)
    _, second = start_task(first.task_instance)
    event = (await asyncio.wait_for(anext(second.run()), 60)).payload
    assert (event["uid"], event["outcome"]) == (uid, "Failed")


class Traced(TaskInstance):
    """A task instance as the triggerer creates it: with the trace context, but without max_tries."""

    def __init__(self, try_number: int, trace_parent: str) -> None:
        super().__init__(try_number=try_number)
        self.max_tries = 0
        self.context_carrier = {"traceparent": trace_parent}


@pytest.mark.parametrize(("trace_parent", "same"), [("a", True), ("b", False)], ids=["retried", "cleared"])
async def test_retry_adopts_application_and_cleared_task_replaces_it(
    cluster: Cluster, trace_parent: str, same: bool
) -> None:
    cluster.script = stay_submitted
    _, first = start_task(Traced(1, "a"))
    uid = await lose_triggerer(cluster, first)
    _, second = start_task(Traced(2, trace_parent))
    task = await start_trigger(second, "Submitted")
    assert (cluster.application()["metadata"]["uid"] == uid) is same
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize(("fate", "remaining"), [(Fate.KILLED, 0), (Fate.MOVED, 1)])
async def test_only_kill_by_a_user_deletes_the_application(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, fate: Fate, remaining: int
) -> None:
    monkeypatch.setattr(kill, "read_fate_of_deferred", lambda stamp: fate)
    cluster.script = run_on
    _, trigger = start_task()
    await stop_trigger(trigger, await start_trigger(trigger, "RunningHealthy"))
    assert len(cluster.applications()) == remaining


async def test_kill_during_submission_deletes_submitted_application(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kill, "read_fate_of_deferred", lambda stamp: Fate.KILLED)
    cluster.script = run_on
    create, asked, answer = KubeClient.create, asyncio.Event(), asyncio.Event()

    async def create_late(*arguments: Any) -> Any:
        asked.set()
        await answer.wait()
        return await create(*arguments)

    monkeypatch.setattr(KubeClient, "create", create_late)
    _, trigger = start_task()
    task = asyncio.create_task(run_to_first_event(trigger))
    await asyncio.wait_for(asked.wait(), 60)
    task.cancel("user-action")
    await asyncio.gather(task, return_exceptions=True)
    killing = asyncio.create_task(trigger.on_kill())
    answer.set()
    await asyncio.wait_for(killing, 60)
    assert cluster.applications() == []


@pytest.fixture
async def triggerer() -> AsyncIterator[None]:
    """The main task of a triggerer, which can report the states of tasks."""
    runner = TriggerRunner()
    main = asyncio.create_task(runner.arun())
    yield
    runner.stop()
    await main


@pytest.mark.usefixtures("triggerer")
async def test_nothing_is_submitted_for_a_task_that_was_stopped(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_instance, "_read_state", lambda stamp: "failed")
    _, trigger = start_task()
    event = (await asyncio.wait_for(anext(trigger.run()), 60)).payload
    assert event["kind"] == "unsubmitted"
    assert cluster.applications() == []


@pytest.mark.usefixtures("triggerer")
async def test_cancelled_trigger_abandons_a_submission_that_was_not_sent(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answer = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def read_late(stamp: TaskStamp) -> str:
        loop.call_soon_threadsafe(asked.set)
        answer.wait(60)
        return "deferred"

    monkeypatch.setattr(task_instance, "_read_state", read_late)
    monkeypatch.setattr(kill, "read_fate_of_deferred", lambda stamp: Fate.MOVED)
    _, trigger = start_task()
    following = asyncio.create_task(run_to_first_event(trigger))
    await asyncio.wait_for(asked.wait(), 60)
    following.cancel("user-action")
    await asyncio.gather(following, return_exceptions=True)
    answer.set()
    killing = asyncio.create_task(trigger.on_kill())
    await asyncio.wait_for(killing, 60)
    # The submission would have continued before an answer to this request.
    await asyncio.to_thread(cluster.create, "other")
    assert [one["metadata"]["name"] for one in cluster.applications()] == ["other"]


@pytest.mark.parametrize("given", [{"delete_on_kill": False}, {}], ids=["delete_on_kill is off", "fired"])
async def test_kill_deletes_nothing_if_not_allowed(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]
) -> None:
    monkeypatch.setattr(kill, "read_fate_of_deferred", lambda stamp: Fate.KILLED)
    _, trigger = start_task(**given)
    await asyncio.wait_for(anext(trigger.run()), 60)
    await trigger.on_kill()
    assert len(cluster.applications()) == 1


def test_templates_are_rendered_in_the_triggerer() -> None:
    with DAG("templates", schedule=None) as dag:
        made = operator(start_from_trigger=True, name="pi-{{ ds_nodash }}", arguments=["{{ ds }}", "{{APP_ID}}"])
    trigger = SparkApplicationStartTrigger(**arguments_of(made))
    trigger.template_fields = tuple(name for name in made.template_fields if hasattr(trigger, name))
    trigger.render_template_fields({"ds": "2026-01-02", "ds_nodash": "20260102"}, dag.get_template_env())
    assert trigger.name == "pi-20260102"
    assert trigger.application["spec"]["driverArgs"] == ["2026-01-02", "{{APP_ID}}"]


def test_serialized_dag_contains_the_start_trigger() -> None:
    from tests.dag_serialization import DagSerialization

    with DAG("started", schedule=None) as dag:
        operator(start_from_trigger=True)
        SparkApplicationOperator(task_id="worker", application=DOCUMENT)
    restored = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    assert restored.get_task("run").start_from_trigger
    arguments = restored.get_task("run").start_trigger_args
    assert arguments is not None
    assert arguments.next_method == "execute_complete"
    assert not restored.get_task("worker").start_from_trigger


def test_dag_with_too_many_tasks_that_start_in_the_triggerer_warns_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airflow_provider_spark_operator.operators.start.MAX_COPIED_TASKS", 6)
    with warnings.catch_warnings(record=True) as caught, DAG("large", schedule=None):
        warnings.simplefilter("always")
        for number in range(2):
            SparkApplicationOperator(task_id=f"worker{number}", application=DOCUMENT)
        SparkApplicationOperator(task_id="first", application=DOCUMENT, start_from_trigger=True)
        assert caught == []
        for number in range(3):
            SparkApplicationOperator(task_id=f"more{number}", application=DOCUMENT, start_from_trigger=True)
    (warning,) = caught
    assert "DAG large has 2 or more tasks with start_from_trigger=True among 4 tasks" in str(warning.message)
    assert warning.filename == __file__


@task
def how_many() -> int:
    return 3


class GrowingPolicy(SparkRetryPolicy):
    """A policy whose creation does not warn on an older Airflow, where the tests of this module are skipped."""

    def __init__(self) -> None:
        super().__init__()
        self.memory_growth = 2


GROWING = GrowingPolicy()
WORKERS_ONLY = [
    ({"application": "app.yaml"}, "the parameter `application` must be a dict or a model"),
    (
        {"application": None, "py_file": "job.py", "spark_version": "4.3.0"},
        r"job\.py: only a worker can ship local files",
    ),
    ({"files": ["local:///a", "b.json"]}, r"b\.json: only a worker can ship local files"),
    ({"arguments": "{{ params.arguments }}"}, "arguments: the entire value must not be one template"),
    ({"cluster": "{{ params.cluster }}"}, "cluster: the entire value must not be one template"),
    ({"retry_policy": GROWING}, "memory_growth: only a worker can read"),
    ({"openlineage_inject_parent_job_info": True}, "openlineage_inject_.*: these parameters need a worker"),
    ({"wait_for_completion": False}, "wait_for_completion must be True"),
]


@pytest.mark.parametrize(("given", "message"), WORKERS_ONLY)
def test_parameter_that_needs_a_worker_is_rejected_at_parse_time(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"start_from_trigger: {message}"):
        operator(start_from_trigger=True, **given)


def test_output_of_another_task_is_rejected_at_parse_time() -> None:
    with (
        DAG("results", schedule=None),
        pytest.raises(ValueError, match="executor_instances: only a worker can read results of tasks"),
    ):
        operator(start_from_trigger=True, executor_instances=how_many())


def test_trigger_can_be_stored_and_loaded() -> None:
    trigger = SparkApplicationStartTrigger(DOCUMENT, "pi", "jobs", "spark", delete_on_kill=False, colour="red")
    assert reload(trigger).serialize() == trigger.serialize()
