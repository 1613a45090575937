"""SparkApplicationOperator with a scripted cluster, deferred and on a worker."""

import asyncio
import json
import logging
import os
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from airflow.sdk import DAG

from airflow_provider_spark_operator.airflow_compat import AirflowFailException, AirflowNotFoundException
from airflow_provider_spark_operator.exceptions import (
    SparkApplicationDeleted,
    SparkApplicationError,
    SparkApplicationFailed,
    SparkInfrastructureFailed,
    SparkSchedulingFailed,
)
from airflow_provider_spark_operator.follow.submission.stamp import TaskStamp
from airflow_provider_spark_operator.follow.submission.submit import Submission
from airflow_provider_spark_operator.follow.submission.submit import submit as submit_document
from airflow_provider_spark_operator.hooks.task_stamp import stamp_of
from airflow_provider_spark_operator.kube.errors import BadRequest, Invalid, KubeError, ServerError, TooManyRequests
from airflow_provider_spark_operator.operators import requests
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.triggers.task_instance import Fate
from local_kubernetes.api.kinds.kinds import NAMESPACES
from tests.cluster import NAMESPACE, Cluster, fail, run_on, stay_submitted, succeed
from tests.operators.tasks import DOCUMENT, operator
from tests.operators.test_spark_cluster import create
from tests.task import TaskInstance, build_context, call_when_logged, defer, fire, reload, run

if TYPE_CHECKING:
    from airflow.sdk import Context
    from airflow.sdk.types import RuntimeTaskInstanceProtocol


@pytest.fixture(params=[True, False], ids=["deferred", "on the worker"])
def deferrable(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def format_traceback(error: BaseException) -> str:
    """Return the description of a failure in the task log."""
    return "".join(traceback.format_exception(error))


def test_invalid_document_is_reported_once(cluster: Cluster) -> None:
    with pytest.raises(AirflowFailException, match=r"spec\.sparkConfs: is not a field") as caught:
        run(operator(application={**DOCUMENT, "spec": {**DOCUMENT["spec"], "sparkConfs": {}}}), TaskInstance())
    assert format_traceback(caught.value).count("sparkConfs: is not a field of spec: did you mean sparkConf?") == 1


def test_task_succeeds_with_its_application(
    cluster: Cluster, deferrable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    task_instance = TaskInstance()
    with caplog.at_level(logging.INFO):
        assert run(operator(deferrable), task_instance) == "pi"
    present = cluster.application()
    xcoms = task_instance.xcoms
    assert xcoms["uid"] == present["metadata"]["uid"]
    assert (xcoms["namespace"], xcoms["state"], xcoms["attempts"]) == (NAMESPACE, "Succeeded", 1)
    assert xcoms["application_id"] == "pi-0"
    assert list(xcoms["seconds_per_state"])[:2] == ["Submitted", "DriverRequested"]
    assert "SparkApplication jobs/pi: RunningHealthy" in caplog.text
    assert "driver | Pi is roughly 3.14" in caplog.text


def test_failure_shows_cause_and_last_log_lines(cluster: Cluster, deferrable: bool) -> None:
    cluster.script = fail
    task_instance = TaskInstance()
    with pytest.raises(SparkApplicationFailed) as caught:
        run(operator(deferrable), task_instance)
    sentence = str(caught.value)
    for part in ("SparkApplication jobs/pi", "Failed", "exit code 3", "Error"):
        assert part in sentence.splitlines()[0]
    assert sentence.splitlines()[1:] == ["Last lines of the driver's log:", "  something went wrong"]
    assert caught.value.state == task_instance.xcoms["state"] == "Failed"
    assert caught.value.reason


def test_failure_shows_last_log_lines_of_deleted_driver(cluster: Cluster) -> None:
    cluster.script = run_on
    deferred = defer(operator(), TaskInstance())

    async def fall_ill(application: Application) -> None:
        application.log.write("out of luck")

    async def end(application: Application) -> None:
        status = application.end_driver(1)
        application.delete_driver()
        application.enter("Failed", driver=status)
        application.enter("ResourceReleased")

    cluster.play(fall_ill)
    with call_when_logged("out of luck", lambda: cluster.play(end)):
        event = fire(reload(deferred.trigger))
    assert event["sentence"].endswith("\nLast lines of the driver's log:\n  out of luck")


async def end_in(application: Application, state: str, message: str) -> None:
    application.enter("Submitted", "DriverRequested")
    application.enter(state, message=message)
    application.enter("ResourceReleased")


@pytest.mark.parametrize(
    ("state", "error"),
    [
        ("DriverStartTimedOut", SparkInfrastructureFailed),
        ("ExecutorsStartTimedOut", SparkInfrastructureFailed),
        ("DriverEvicted", SparkInfrastructureFailed),
        ("SchedulingFailure", SparkSchedulingFailed),
    ],
)
def test_each_failure_kind_has_its_exception(
    cluster: Cluster, state: str, error: type[SparkInfrastructureFailed] | type[SparkSchedulingFailed]
) -> None:
    cluster.script = lambda application: end_in(application, state, "no room")
    with pytest.raises(error, match=state):
        run(operator(), TaskInstance())


def test_deleted_application_raises_its_own_exception(cluster: Cluster, deferrable: bool) -> None:
    async def vanish(application: Application) -> None:
        await run_on(application)
        cluster.store.delete(cluster.kind, NAMESPACE, "pi")

    cluster.script = vanish
    with pytest.raises(SparkApplicationDeleted, match=r"jobs/pi .* was deleted before it ended"):
        run(operator(deferrable), TaskInstance())


def test_replaced_application_is_not_reported_as_deleted(cluster: Cluster, deferrable: bool) -> None:
    another = TaskInstance()
    replaced: list[str] = []
    another.run_id = "manual__2"
    stamp = stamp_of(cast("RuntimeTaskInstanceProtocol", another))

    async def be_replaced(application: Application) -> None:
        if replaced:
            return
        replaced.append(application.uid)
        await run_on(application)
        cluster.store.delete(cluster.kind, NAMESPACE, "pi")
        metadata = {
            "name": "pi",
            "namespace": NAMESPACE,
            "labels": stamp.build_labels(),
            "annotations": stamp.build_annotations(),
        }
        spec = {key: application.document[key] for key in ("apiVersion", "kind", "spec")}
        cluster.store.create(cluster.kind, NAMESPACE, {**spec, "metadata": metadata})

    cluster.script = be_replaced
    with pytest.raises(SparkApplicationError, match=r"was replaced by task .*, run manual__2 before this") as caught:
        run(operator(deferrable), TaskInstance())
    assert not isinstance(caught.value, SparkApplicationDeleted)


@pytest.mark.parametrize(
    ("policy", "final"),
    [(None, True), (SparkRetryPolicy(deletions=True), False)],
    ids=["no policy", "a policy that decides"],
)
def test_deletion_with_running_driver_is_no_infrastructure_failure(
    cluster: Cluster, deferrable: bool, policy: SparkRetryPolicy | None, final: bool
) -> None:
    async def be_deleted(application: Application) -> None:
        await run_on(application)
        cluster.store.delete(cluster.kind, NAMESPACE, "pi")
        application.fail(exit_code=143)

    cluster.script = be_deleted
    document = {**DOCUMENT, "metadata": {"finalizers": ["example.org/hold"]}}
    with pytest.raises(SparkApplicationDeleted, match="was deleted before it ended") as caught:
        run(operator(deferrable, document, retry_policy=policy), TaskInstance())
    assert isinstance(caught.value, AirflowFailException) is final
    assert ("To run it again, clear the task" in str(caught.value)) is final


def test_task_without_waiting_ends_after_submission(cluster: Cluster) -> None:
    cluster.script = stay_submitted
    assert run(operator(wait_for_completion=False), TaskInstance()) == "pi"
    assert cluster.application()["metadata"]["name"] == "pi"


def test_cleared_task_without_waiting_submits_again(cluster: Cluster) -> None:
    first = TaskInstance()
    run(operator(wait_for_completion=False), first)
    cluster.wait_for_state("ResourceReleased")
    before = cluster.application()["metadata"]["uid"]
    run(operator(wait_for_completion=False), first.next_try())
    assert cluster.application()["metadata"]["uid"] != before


def test_default_name_is_derived_from_the_task(cluster: Cluster) -> None:
    name = run(operator(name=None), TaskInstance())
    assert name.startswith("dag-run-")
    assert cluster.application()["metadata"]["name"] == name


def test_application_has_the_stamp_of_its_task(cluster: Cluster) -> None:
    task_instance = TaskInstance()
    run(operator(), task_instance)
    metadata = cluster.application()["metadata"]
    assert metadata["annotations"]["airflow.spark-operator/task-instance-id"] == str(task_instance.id)
    assert len(metadata["labels"]["airflow.spark-operator/task"]) == 40


def test_trigger_arguments_contain_no_secret(cluster: Cluster) -> None:
    cluster.script = stay_submitted
    path, arguments = defer(operator(), TaskInstance()).trigger.serialize()
    assert path == "airflow_provider_spark_operator.triggers.spark_application.SparkApplicationTrigger"
    assert "only-for-tests" not in repr(arguments)
    assert arguments["kubernetes_conn_id"] == "spark"


@pytest.mark.parametrize("create_task", [operator, create])
@pytest.mark.parametrize("exists", [True, False])
def test_trigger_records_whether_default_connection_existed(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, exists: bool, create_task: Callable[..., Any]
) -> None:
    cluster.script = stay_submitted
    if exists:
        monkeypatch.setenv("AIRFLOW_CONN_KUBERNETES_DEFAULT", os.environ["AIRFLOW_CONN_SPARK"])
    else:
        (tmp_path / "config").write_text(json.dumps(cluster.kubeconfig))
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    trigger = defer(create_task(kubernetes_conn_id="kubernetes_default"), TaskInstance()).trigger
    assert trigger.connection_required is exists


def test_retry_of_mapped_task_adopts_the_application_of_its_own_index(cluster: Cluster) -> None:
    cluster.script = run_on
    tries = [TaskInstance(), TaskInstance()]
    for map_index, task_instance in enumerate(tries):
        task_instance.map_index = map_index
        defer(operator(name=None), task_instance)
    before = {one["metadata"]["uid"] for one in cluster.applications()}
    assert len(before) == 2
    retry = tries[1].next_try()
    retry.map_index = 1
    trigger: Any = defer(operator(name=None), retry).trigger
    assert {one["metadata"]["uid"] for one in cluster.applications()} == before
    adopted = cluster.application(trigger.name)["metadata"]
    assert adopted["annotations"]["airflow.spark-operator/map-index"] == "1"
    assert adopted["annotations"]["airflow.spark-operator/try-number"] == "2"
    others = [one["metadata"] for one in cluster.applications() if one["metadata"]["uid"] != adopted["uid"]]
    assert [one["annotations"]["airflow.spark-operator/try-number"] for one in others] == ["1"]


def test_next_try_adopts_running_application(cluster: Cluster) -> None:
    cluster.script = run_on
    first = TaskInstance()
    defer(operator(), first)
    second = first.next_try()
    deferred = defer(operator(), second)
    assert deferred.trigger.uid == cluster.application()["metadata"]["uid"]
    annotations = cluster.application()["metadata"]["annotations"]
    assert annotations["airflow.spark-operator/task-instance-id"] == str(second.id)


def test_next_try_after_failure_submits_new_application(cluster: Cluster) -> None:
    cluster.script = fail
    first = TaskInstance()
    with pytest.raises(SparkApplicationFailed):
        run(operator(), first)
    failed = cluster.application()["metadata"]["uid"]
    cluster.script = succeed
    assert run(operator(), first.next_try()) == "pi"
    assert cluster.application()["metadata"]["uid"] != failed


def test_unseen_success_counts_once(cluster: Cluster) -> None:
    first = TaskInstance()
    deferred = defer(operator(), first)  # the worker is lost while the application ends
    cluster.wait_for_state("ResourceReleased")
    second = first.next_try()
    assert operator().execute(build_context(second)) == "pi"  # without deferring, because the application has ended
    assert cluster.application()["metadata"]["uid"] == deferred.trigger.uid
    assert run(operator(), second.next_try()) == "pi"  # cleared, so it runs again
    assert cluster.application()["metadata"]["uid"] != deferred.trigger.uid


def test_application_of_another_owner_is_not_replaced(cluster: Cluster) -> None:
    cluster.script = stay_submitted
    theirs = cluster.create("pi")
    with pytest.raises(SparkApplicationError, match="jobs/pi already exists and belongs to") as caught:
        run(operator(), TaskInstance())
    assert format_traceback(caught.value).count("already exists") == 1
    assert cluster.application()["metadata"]["uid"] == theirs["metadata"]["uid"]


def create_another_run(run_id: str = "manual__2026-01-02T00:00:00+00:00") -> TaskInstance:
    task_instance = TaskInstance()
    task_instance.run_id = run_id
    return task_instance


def test_fixed_name_works_in_each_run(cluster: Cluster, deferrable: bool) -> None:
    document = {**DOCUMENT, "metadata": {"name": "pi"}}
    run(operator(deferrable, document, name=None), TaskInstance())
    before = cluster.application()["metadata"]["uid"]
    assert run(operator(deferrable, document, name=None), create_another_run()) == "pi"
    assert cluster.application()["metadata"]["uid"] != before


def test_if_exists_fail_keeps_ended_application_of_another_run(cluster: Cluster, deferrable: bool) -> None:
    run(operator(deferrable), TaskInstance())
    with pytest.raises(SparkApplicationError, match="or set if_exists='replace_ended'"):
        run(operator(deferrable, if_exists="fail"), create_another_run())
    run(operator(deferrable, if_exists="fail"), TaskInstance().next_try())


def test_unknown_if_exists_is_rejected_at_parse_time() -> None:
    with pytest.raises(ValueError, match="if_exists must be 'replace_ended' or 'fail', not 'replace'"):
        operator(if_exists="replace")


def test_unknown_log_level_is_rejected_at_parse_time() -> None:
    levels = "'DEBUG', 'INFO', 'WARNING', 'ERROR' or None"
    with pytest.raises(ValueError, match=f"driver_log_level must be {levels}, not 'warn'"):
        operator(driver_log_level="warn")


def test_log_level_omits_lines_of_spark(cluster: Cluster, caplog: pytest.LogCaptureFixture, deferrable: bool) -> None:
    async def log(application: Application) -> None:
        application.start()
        for line in ("26/01/01 00:00:00 INFO SparkContext: x", "26/01/01 00:00:00 WARN SparkEnv: y", "rows 7"):
            application.log.write(line)
        application.succeed()

    cluster.script = log
    caplog.set_level("INFO")
    run(operator(deferrable, driver_log_level="WARNING"), TaskInstance())
    shown = [line for line in caplog.messages if line.startswith("driver | ")]
    assert shown == ["driver | 26/01/01 00:00:00 WARN SparkEnv: y", "driver | rows 7"]


@pytest.mark.parametrize(
    "name",
    [
        "deferrable",
        "wait_for_completion",
        "delete_on_kill",
        "get_logs",
        "start_from_trigger",
        "openlineage_inject_parent_job_info",
        "openlineage_inject_transport_info",
    ],
)
@pytest.mark.parametrize("value", ["false", None, 0])
def test_switch_that_is_not_boolean_is_rejected_at_parse_time(name: str, value: int | str | None) -> None:
    switch: dict[str, Any] = {name: value}
    with pytest.raises(TypeError, match=f"{name} must be True or False, not {value!r}"):
        operator(**switch)


@pytest.mark.needs_airflow("3.3")
def test_element_of_mapped_task_that_starts_from_trigger_may_ship_local_files() -> None:
    with DAG("mapped", schedule=None):
        mapped = SparkApplicationOperator.partial(
            task_id="run", py_file="a.py", image="spark:4.3.0", start_from_trigger=True
        ).expand(arguments=[["a"]])
    task = mapped.unmap({"arguments": ["a"]})
    assert isinstance(task, SparkApplicationOperator)
    assert (task.start_from_trigger, task.start_trigger_args) == (True, None)


def test_task_resumes_although_application_file_is_missing(cluster: Cluster, tmp_path: Path) -> None:
    cluster.do(lambda: cluster.store.create(NAMESPACES, None, {"metadata": {"name": "elsewhere"}}))
    file = tmp_path / "app.json"
    file.write_text(json.dumps(DOCUMENT | {"metadata": {"namespace": "elsewhere"}}))
    task_instance = TaskInstance()

    def render() -> SparkApplicationOperator:
        task = operator(application=str(file))
        task.render_template_fields(cast("Context", {}))
        return task

    event = fire(reload(defer(render(), task_instance).trigger))
    file.unlink()
    assert render().resume_execution("execute_complete", {"event": event}, build_context(task_instance)) == "pi"
    annotations = cluster.application()["metadata"]["annotations"]
    assert annotations["airflow.spark-operator/result-taken-by"] == str(task_instance.id)


def test_success_that_cannot_be_recorded_is_a_success(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(requests, "_ACKNOWLEDGEMENT_SECONDS", 0.0)
    task_instance = TaskInstance()
    event = fire(reload(defer(operator(), task_instance).trigger))
    connection = {"conn_type": "kubernetes", "extra": {"kube_config_path": str(tmp_path / "none")}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps(connection))
    assert operator().resume_execution("execute_complete", {"event": event}, build_context(task_instance)) == "pi"
    assert "could not record on SparkApplication jobs/pi " in caplog.text
    assert "that this task has reported its result, so a later try may adopt this application again" in caplog.text


def test_invalid_document_is_not_retried(cluster: Cluster) -> None:
    broken = {**DOCUMENT, "spec": {"pyFiles": "local:///a.py"}}
    with pytest.raises(AirflowFailException, match=r"not valid: spec\.runtimeVersions.*: .*required"):
        run(operator(application=broken), TaskInstance())
    assert cluster.applications() == []


def test_kind_that_is_not_served_is_reported(cluster: Cluster) -> None:
    with pytest.raises(AirflowFailException, match="kind: must be SparkApplication, not 'Application'"):
        run(operator(application={**DOCUMENT, "kind": "Application"}), TaskInstance())


@pytest.mark.parametrize(
    ("error", "is_final"),
    [
        (BadRequest(400, "BadRequest", "invalid", "create"), True),
        (KubeError(413, "RequestEntityTooLarge", "limit is 3145728", "create"), True),
        (Invalid(422, "Invalid", "must be no more than 63 bytes", "create"), True),
        (ServerError(500, "InternalError", "etcdserver: request is too large", "create"), True),
        (BadRequest(400, "BadRequest", "container is starting", "get"), False),
        (ServerError(500, "InternalError", "etcdserver: leader changed", "create"), False),
        (TooManyRequests(429, "TooManyRequests", "busy", "create"), False),
    ],
)
def test_rejected_content_is_not_retried(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, error: KubeError, is_final: bool
) -> None:
    async def reject(*_: object, **__: object) -> Submission:
        raise error

    monkeypatch.setattr(requests, "submit_document", reject)
    with pytest.raises(SparkApplicationError, match="could not submit the application: .*" + error.message) as caught:
        run(operator(), TaskInstance())
    assert isinstance(caught.value, AirflowFailException) is is_final


def test_missing_namespace_is_reported(cluster: Cluster) -> None:
    with pytest.raises(SparkApplicationError, match=r"could not create sparkapplications.* in namespace nowhere"):
        run(operator(namespace="nowhere"), TaskInstance())


def test_unreachable_api_server_is_reported(monkeypatch: pytest.MonkeyPatch, cluster: Cluster) -> None:
    kubeconfig = cluster.kubeconfig
    kubeconfig["clusters"][0]["cluster"]["server"] = "http://127.0.0.1:1"
    connection = json.dumps({"conn_type": "kubernetes", "extra": {"kube_config": kubeconfig}})
    monkeypatch.setenv("AIRFLOW_CONN_DOWN", connection)
    monkeypatch.setattr("airflow_provider_spark_operator.follow.submission.submit._ROUNDS", 1)
    with pytest.raises(SparkApplicationError, match=r"could not submit the application: .*127\.0\.0\.1:1"):
        run(operator(kubernetes_conn_id="down"), TaskInstance())


def test_missing_connection_is_reported() -> None:
    with pytest.raises(AirflowNotFoundException, match="'nowhere' is not defined"):
        run(operator(kubernetes_conn_id="nowhere"), TaskInstance())


def test_task_killed_on_worker_deletes_its_application(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airflow_provider_spark_operator.operators.current_try.read_fate", lambda stamp: Fate.KILLED)
    cluster.script = run_on
    task = operator(deferrable=False)
    previous = signal.signal(signal.SIGTERM, lambda number, frame: task.on_kill())
    try:
        with (
            call_when_logged("RunningHealthy", lambda: os.kill(os.getpid(), signal.SIGTERM)),
            pytest.raises(SparkApplicationDeleted),
        ):
            task.execute(build_context(TaskInstance()))
    finally:
        signal.signal(signal.SIGTERM, previous)
    assert cluster.applications() == []


def test_kill_during_submission_deletes_the_application(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airflow_provider_spark_operator.operators.current_try.read_fate", lambda stamp: Fate.KILLED)
    cluster.script = run_on
    task = operator()
    original = submit_document

    async def submit_late(*arguments: Any, **options: Any) -> Submission:
        await asyncio.to_thread(task.on_kill)
        return await original(*arguments, **options)

    monkeypatch.setattr(requests, "submit_document", submit_late)
    defer(task, TaskInstance())
    assert cluster.applications() == []


def test_kill_during_request_to_airflow_deletes_the_application(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.script = run_on
    answers = [TimeoutError("the interrupted thread holds the line")]

    def fate(stamp: TaskStamp) -> Fate:
        if answers:
            raise answers.pop()
        return Fate.KILLED

    class Interrupted(TaskInstance):
        def xcom_push(self, key: str, value: Any) -> None:
            if answers:
                task.on_kill()

    monkeypatch.setattr("airflow_provider_spark_operator.operators.current_try.read_fate", fate)
    task = operator()
    defer(task, Interrupted())
    assert cluster.applications() == []
