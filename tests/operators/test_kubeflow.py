"""SparkApplicationOperator with applications of Kubeflow's operator."""

import json
import logging
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from airflow_provider_spark_operator.airflow_compat import AirflowFailException
from airflow_provider_spark_operator.core.dialects.dialect import KUBEFLOW
from airflow_provider_spark_operator.exceptions import (
    SparkApplicationDeleted,
    SparkApplicationError,
    SparkApplicationFailed,
    SparkApplicationTimedOut,
    SparkInfrastructureFailed,
    SparkSchedulingFailed,
)
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.retry_policy import STORE_KEY, SparkRetryPolicy
from airflow_provider_spark_operator.testing.applications import (
    Application,
    fail,
    run_on,
    run_out_of_memory,
    stay_submitted,
    succeed,
)
from airflow_provider_spark_operator.testing.cluster import NAMESPACE, ScriptedCluster
from airflow_provider_spark_operator.triggers.start import SparkApplicationStartTrigger
from tests.operators.tasks import arguments_of, operator
from tests.task import TaskInstance, build_context, defer, fire, reload, run

from kubelet.conditions import wait_until

SOON = timedelta(milliseconds=500)
DOCUMENT: dict[str, Any] = {
    "apiVersion": "sparkoperator.k8s.io/v1beta2",
    "kind": "SparkApplication",
    "spec": {
        "type": "Python",
        "sparkVersion": "4.0.0",
        "mainApplicationFile": "local:///opt/job.py",
        "driver": {"cores": 1},
        "executor": {"instances": 2},
    },
}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedCluster]:
    with ScriptedCluster(dialect=KUBEFLOW).serve() as cluster:
        document = {"conn_type": "kubernetes", "extra": {"kube_config": cluster.kubeconfig}}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps(document))
        yield cluster


@pytest.fixture(params=[True, False], ids=["deferred", "on the worker"])
def deferrable(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def create_task(deferrable: bool = True, **parameters: Any) -> SparkApplicationOperator:
    return operator(deferrable, **{"application": DOCUMENT, **parameters})


def build_document(**changes: Any) -> dict[str, Any]:
    return {**DOCUMENT, "spec": {**DOCUMENT["spec"], **changes}}


def test_task_succeeds_with_its_application(
    cluster: ScriptedCluster, deferrable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    task_instance = TaskInstance()
    with caplog.at_level(logging.INFO):
        assert run(create_task(deferrable), task_instance) == "pi"
    xcoms = task_instance.xcoms
    assert (xcoms["namespace"], xcoms["state"], xcoms["attempts"]) == (NAMESPACE, "COMPLETED", 1)
    assert xcoms["application_id"] == cluster.application()["status"]["sparkApplicationId"]
    assert "driver | Pi is roughly 3.14" in caplog.text


def test_states_and_executors_are_logged(cluster: ScriptedCluster, caplog: pytest.LogCaptureFixture) -> None:
    async def end_once_logged(application: Application) -> None:
        await run_on(application)
        await wait_until(lambda: "SparkApplication jobs/pi: RUNNING, 2 of 2 executors ready" in caplog.text)
        application.succeed()

    cluster.script = end_once_logged
    with caplog.at_level(logging.INFO):
        assert run(create_task(False), TaskInstance()) == "pi"


def test_failure_message_is_one_sentence_with_the_cause(cluster: ScriptedCluster, deferrable: bool) -> None:
    cluster.script = fail
    with pytest.raises(SparkApplicationFailed) as caught:
        run(create_task(deferrable), TaskInstance())
    for part in (
        "SparkApplication jobs/pi failed in state FAILED: ",
        "exit code 3 (Error)",
        "\n  something went wrong",
    ):
        assert part in str(caught.value)
    assert caught.value.state == "FAILED"


def test_out_of_memory_message_names_fields_of_kubeflow(cluster: ScriptedCluster) -> None:
    cluster.script = run_out_of_memory
    with pytest.raises(SparkApplicationFailed, match=r"raise spec\.driver\.memory or spec\.driver") as caught:
        run(create_task(), TaskInstance())
    assert (caught.value.retry_worthy, caught.value.out_of_memory) == (False, ("driver",))


async def be_evicted(application: Application) -> None:
    application.start()
    status = {"phase": "Failed", "reason": "Evicted", "message": "the node was low on memory"}
    application.set_driver_status(status)
    application.enter("FAILING", "FAILED", message="driver container status missing")


def test_eviction_is_read_from_retained_driver_pod(cluster: ScriptedCluster, deferrable: bool) -> None:
    cluster.script = be_evicted
    with pytest.raises(SparkInfrastructureFailed, match="evicted from its node: the node was low on memory"):
        run(create_task(deferrable), TaskInstance())


async def lose_the_driver(application: Application) -> None:
    application.start()
    application.delete_driver()
    application.enter("FAILING", "FAILED", message="driver pod not found")


def test_lost_driver_is_an_infrastructure_failure(cluster: ScriptedCluster) -> None:
    cluster.script = lose_the_driver
    with pytest.raises(SparkInfrastructureFailed, match="driver pod not found"):
        run(create_task(), TaskInstance())


async def be_refused(application: Application) -> None:
    message = "failed to submit spark application: failed to run spark-submit: no such image"
    application.enter("SUBMISSION_FAILED", message=message)
    application.enter("FAILED")


def test_failed_submission_is_a_scheduling_failure(cluster: ScriptedCluster, deferrable: bool) -> None:
    cluster.script = be_refused
    with pytest.raises(SparkSchedulingFailed, match="failed to run spark-submit: no such image"):
        run(create_task(deferrable), TaskInstance())


async def fail_once(application: Application) -> None:
    application.start()
    application.log.write("first attempt")
    application.enter("FAILING", driver=application.end_driver(1))
    application.delete_driver()
    application.enter("PENDING_RERUN", "SUBMITTED")
    application.start_driver(executors=2)
    application.enter("RUNNING")
    application.enter("SUCCEEDING", driver=application.end_driver(0))
    application.enter("COMPLETED")


def test_task_waits_for_restart_by_the_operator(cluster: ScriptedCluster, deferrable: bool) -> None:
    cluster.script = fail_once
    task_instance = TaskInstance()
    policy = {"type": "OnFailure", "onFailureRetries": 1, "onFailureRetryInterval": 5}
    assert run(create_task(deferrable, application=build_document(restartPolicy=policy)), task_instance) == "pi"
    assert task_instance.xcoms["attempts"] == 2


def test_deletion_raises_its_own_exception(cluster: ScriptedCluster) -> None:
    async def vanish(application: Application) -> None:
        await run_on(application)
        cluster.store.delete(cluster.kind, NAMESPACE, "pi")

    cluster.script = vanish
    with pytest.raises(SparkApplicationDeleted):
        run(create_task(), TaskInstance())


def test_next_try_adopts_running_application(cluster: ScriptedCluster) -> None:
    cluster.script = run_on
    first = TaskInstance()
    defer(create_task(), first)
    deferred = defer(create_task(), first.next_try())
    assert deferred.trigger.uid == cluster.application()["metadata"]["uid"]
    assert deferred.trigger.api_version == "sparkoperator.k8s.io/v1beta2"


def test_next_try_after_failure_submits_new_application(cluster: ScriptedCluster) -> None:
    cluster.script = fail
    first = TaskInstance()
    with pytest.raises(SparkApplicationFailed):
        run(create_task(), first)
    failed = cluster.application()["metadata"]["uid"]
    cluster.script = succeed
    assert run(create_task(), first.next_try()) == "pi"
    assert cluster.application()["metadata"]["uid"] != failed


def test_timed_out_application_is_cancelled(cluster: ScriptedCluster) -> None:
    cluster.script = run_on
    with pytest.raises(SparkApplicationTimedOut, match="it was deleted"):
        run(create_task(False, execution_timeout=SOON), TaskInstance())
    assert cluster.applications() == []


def test_resumed_task_knows_the_dialect(cluster: ScriptedCluster) -> None:
    task_instance = TaskInstance()
    event = fire(reload(defer(create_task(), task_instance).trigger))
    assert event["api_version"] == "sparkoperator.k8s.io/v1beta2"
    resumed = create_task()
    assert resumed.resume_execution("execute_complete", {"event": event}, build_context(task_instance)) == "pi"
    notes = cluster.application()["metadata"]["annotations"]
    assert notes["airflow.spark-operator/result-taken-by"] == str(task_instance.id)
    assert resumed.link_target is not None
    assert resumed.link_target.driver_pod == "pi-driver"


def test_invalid_kubeflow_document_is_not_submitted(cluster: ScriptedCluster) -> None:
    with pytest.raises(AirflowFailException, match=r"not valid: spec\.type: must be one of"):
        run(create_task(application=build_document(type="python")), TaskInstance())
    assert cluster.applications() == []


def test_missing_kubeflow_operator_is_reported_with_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedCluster().serve() as cluster:
        document = {"conn_type": "kubernetes", "extra": {"kube_config": cluster.kubeconfig}}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps(document))
        cluster.script = stay_submitted
        with pytest.raises(SparkApplicationError, match=r"does not serve SparkApplication of .*helm install"):
            run(create_task(), TaskInstance())


def test_local_files_need_upload_to(cluster: ScriptedCluster, tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text("print(1)")
    with pytest.raises(
        AirflowFailException, match=r"Kubeflow's SparkApplication has no field for local files.*set upload_to"
    ):
        run(create_task(py_file=str(script)), TaskInstance())
    run(
        create_task(py_file=str(script), upload_to=f"file://{tmp_path}/store", download_from="s3a://jobs"),
        TaskInstance(),
    )
    main = cluster.application()["spec"]["mainApplicationFile"]
    assert main.startswith("s3a://jobs/")
    assert main.endswith("/job.py")


def test_retries_can_replace_restarts_of_kubeflow(cluster: ScriptedCluster) -> None:
    policy = {"type": "OnFailure", "onFailureRetries": 2, "onSubmissionFailureRetries": 1, "onFailureRetryInterval": 7}
    made = create_task(application=build_document(restartPolicy=policy), restarts="airflow")
    assert (made.retries, made.retry_delay.total_seconds()) == (3, 7)
    run(made, TaskInstance())
    assert cluster.application()["spec"]["restartPolicy"] == {"type": "Never"}


def test_restarts_and_retries_of_kubeflow_are_logged(
    cluster: ScriptedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    policy = {"type": "OnFailure", "onFailureRetries": 2}
    run(create_task(application=build_document(restartPolicy=policy), retries=3, restarts="cluster"), TaskInstance())
    assert "together up to 12 attempts" in caplog.text


@pytest.mark.needs_airflow("3.3")
def test_memory_grows_in_the_fields_of_kubeflow(cluster: ScriptedCluster) -> None:
    class Store(dict[str, Any]):
        def set(self, key: str, value: dict[str, Any]) -> None:
            self[key] = value

    grown = create_task(
        application=build_document(driver={"memory": "2g"}), retry_policy=SparkRetryPolicy(memory_growth=1.5)
    )
    context = build_context(TaskInstance(), task_state_store=Store({STORE_KEY: {"driver": 1.5}}))
    grown.wait_for_completion = False
    grown.execute(context)
    spec = cluster.application()["spec"]
    assert spec["driver"] == {"cores": 1, "memory": "3072m"}
    assert "sparkConf" not in spec


def test_time_to_live_does_not_change_after_success(cluster: ScriptedCluster, deferrable: bool) -> None:
    run(create_task(deferrable), TaskInstance())
    application = cluster.application()
    assert application["spec"]["timeToLiveSeconds"] == 604_800
    assert application["metadata"]["generation"] == 1


KUBEFLOW_VERSION = "sparkoperator.k8s.io/v1beta2"


@pytest.mark.parametrize(
    "given",
    [{"api_version": KUBEFLOW_VERSION}, {"application": {"apiVersion": KUBEFLOW_VERSION}}],
    ids=["api_version", "document with nothing else"],
)
@pytest.mark.parametrize("start_from_trigger", [False, pytest.param(True, marks=pytest.mark.needs_airflow("3.3"))])
def test_application_is_built_from_parameters_alone(
    cluster: ScriptedCluster, given: dict[str, Any], start_from_trigger: bool
) -> None:
    made = operator(
        **{"application": None, **given},
        py_file="local:///a.py",
        image="spark:4.0.0",
        start_from_trigger=start_from_trigger,
    )
    if start_from_trigger:
        trigger = SparkApplicationStartTrigger(**arguments_of(made))
        trigger.task_instance = cast("Any", TaskInstance())
        fire(trigger)
    else:
        run(made, TaskInstance())
    application = cluster.application()
    assert (application["apiVersion"], application["kind"]) == (KUBEFLOW_VERSION, "SparkApplication")
    assert application["spec"]["mainApplicationFile"] == "local:///a.py"
    assert application["spec"]["sparkVersion"] == "4.0.0"


def test_document_without_api_version_gets_the_parameter(cluster: ScriptedCluster) -> None:
    document = {key: value for key, value in DOCUMENT.items() if key not in ("apiVersion", "kind")}
    run(operator(application=document, api_version=KUBEFLOW_VERSION), TaskInstance())
    assert cluster.application()["apiVersion"] == KUBEFLOW_VERSION


def test_api_version_that_contradicts_document_is_rejected(cluster: ScriptedCluster) -> None:
    with pytest.raises(
        AirflowFailException, match=r"parameter api_version is 'spark.apache.org/v1': leave one of them out"
    ):
        run(operator(application=DOCUMENT, api_version="spark.apache.org/v1"), TaskInstance())
    with pytest.raises(ValueError, match=r"api_version: must be one of .* not 'v1'"):
        operator(application=None, py_file="local:///a.py", image="spark:4.0.0", api_version="v1")


def test_missing_operator_is_reported_with_requested_group(cluster: ScriptedCluster) -> None:
    made = operator(application=None, py_file="local:///a.py", image="spark:4.0.0")
    with pytest.raises(
        SparkApplicationError,
        match=rf'does not serve SparkApplication of spark\.apache\.org\. .* api_version="{KUBEFLOW_VERSION}"',
    ):
        run(made, TaskInstance())


def test_application_that_kueue_evicts_runs_again_in_the_same_try(cluster: ScriptedCluster, deferrable: bool) -> None:
    async def live(application: Application) -> None:
        application.enter("SUSPENDED")
        application.start()
        application.suspend("KueueEviction")
        application.resume()
        application.start()
        application.succeed()

    cluster.script, task_instance = live, TaskInstance()
    assert run(create_task(deferrable, kueue_queue="team-a"), task_instance) == "pi"
    assert task_instance.xcoms["attempts"] == 2
    assert cluster.application()["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team-a"
