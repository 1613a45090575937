"""Kubeflow's operator was killed while it submitted: it reports that the submission failed, but a driver exists."""

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import KUBEFLOW
from airflow_provider_spark_operator.core.dialects.progress import Progress
from airflow_provider_spark_operator.exceptions import SparkSchedulingFailed
from airflow_provider_spark_operator.follow.ending import end as end_module
from airflow_provider_spark_operator.follow.narration.narrator import Narrator
from airflow_provider_spark_operator.follow.submission.stamp import TaskStamp
from airflow_provider_spark_operator.kube.errors import Forbidden
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.testing.cluster import ScriptedCluster
from airflow_provider_spark_operator.triggers.spark_application import (
    SparkApplicationStateTrigger,
    SparkApplicationTrigger,
)
from tests.cluster import NAMESPACE, Cluster, stay_submitted
from tests.operators.tasks import operator
from tests.task import TaskInstance, build_context, call_when_logged, defer, fire, reload, run_to_first_event

API_VERSION = "sparkoperator.k8s.io/v1beta2"
STAMP = TaskStamp("dag", "task", "run", -1, 1, "id-1")
MESSAGE = "failed to submit spark application: failed to run spark-submit: exceeded quota: pods"
DOCUMENT: dict[str, Any] = {
    "apiVersion": API_VERSION,
    "kind": "SparkApplication",
    "spec": {
        "type": "Python",
        "sparkVersion": "4.0.0",
        "mainApplicationFile": "local:///a.py",
        "driver": {},
        "executor": {},
    },
}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedCluster]:
    with ScriptedCluster(dialect=KUBEFLOW).serve() as cluster:
        document = {"conn_type": "kubernetes", "extra": {"kube_config": cluster.kubeconfig}}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps(document))
        cluster.script = stay_submitted
        yield cluster


async def give_up_with_live_driver(application: Application) -> None:
    application.start_driver()
    application.log.write("first line")
    application.enter("SUBMISSION_FAILED", "FAILED", message=MESSAGE)


async def give_up(application: Application) -> None:
    application.enter("SUBMISSION_FAILED", "FAILED", message=MESSAGE)


def build_trigger(application: dict[str, Any], **parameters: Any) -> SparkApplicationTrigger:
    metadata = application["metadata"]
    parameters = {"kubernetes_conn_id": "spark", "stamp": asdict(STAMP), "api_version": API_VERSION, **parameters}
    return SparkApplicationTrigger(NAMESPACE, metadata["name"], metadata["uid"], **parameters)


@pytest.mark.parametrize(
    ("exit_code", "outcome", "kind"), [(0, "Succeeded", None), (3, "Failed", "application")], ids=["success", "failure"]
)
async def test_end_of_live_driver_decides_the_result(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, exit_code: int, outcome: str, kind: str | None
) -> None:
    async def end(application: Application) -> None:
        application.log.write("last line")
        application.end_driver(exit_code)

    caplog.set_level("INFO")
    application = await asyncio.to_thread(cluster.create, "pi")
    await asyncio.to_thread(cluster.play, give_up_with_live_driver)
    following = asyncio.Event()
    with call_when_logged("driver | first line", following.set):
        task = asyncio.create_task(run_to_first_event(build_trigger(application)))
        await asyncio.wait_for(following.wait(), 60)
    await asyncio.to_thread(cluster.play, end)
    event = (await asyncio.wait_for(task, 60)).payload
    assert (event["outcome"], event["failure_kind"]) == (outcome, kind)
    assert ("exit code 3" in event["sentence"]) == (exit_code == 3)
    assert "driver | last line" in caplog.messages
    assert "the operator reports FAILED, but a driver pod exists; waiting for the driver to end" in caplog.text


def test_failed_submission_without_a_driver_is_a_scheduling_failure(cluster: ScriptedCluster) -> None:
    application = cluster.create("pi")
    cluster.play(give_up)
    event = fire(build_trigger(application))
    assert (event["outcome"], event["failure_kind"]) == ("Failed", "scheduling")
    assert "no log" not in event["sentence"]


def test_timeout_with_live_driver_is_a_timeout(cluster: ScriptedCluster) -> None:
    application = cluster.create("pi")
    cluster.play(give_up_with_live_driver)
    deadline = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    assert fire(build_trigger(application, deadline=deadline))["kind"] == "timed-out"


def test_next_try_adopts_the_application_of_a_live_driver(cluster: ScriptedCluster) -> None:
    task_instance = TaskInstance()
    task = operator(application=DOCUMENT)
    defer(task, task_instance)
    cluster.play(give_up_with_live_driver)
    defer(task, task_instance.next_try())
    assert len(cluster.applications()) == 1


def test_next_try_after_reported_failure_submits_again(cluster: ScriptedCluster) -> None:
    task_instance = TaskInstance()
    task = operator(application=DOCUMENT)
    deferred = defer(task, task_instance)
    cluster.play(give_up)
    uid = cluster.application()["metadata"]["uid"]
    with pytest.raises(SparkSchedulingFailed):
        task.execute_complete(build_context(task_instance), fire(reload(deferred.trigger)))
    defer(task, task_instance.next_try())
    assert cluster.application()["metadata"]["uid"] != uid


def test_sensor_sees_the_success_of_the_driver(cluster: ScriptedCluster) -> None:
    async def succeed(application: Application) -> None:
        await give_up_with_live_driver(application)
        application.end_driver(0)

    cluster.create("pi")
    cluster.play(succeed)
    trigger = SparkApplicationStateTrigger("pi", ["COMPLETED"], kubernetes_conn_id="spark", api_version=API_VERSION)
    assert fire(trigger)["kind"] == "reached"


async def read_event_after(cluster: ScriptedCluster, act: Callable[..., object], **metadata: Any) -> dict[str, Any]:
    """Return the event of the trigger if `act` is called while the trigger follows the driver."""
    application = await asyncio.to_thread(cluster.create, "pi", **metadata)
    await asyncio.to_thread(cluster.play, give_up_with_live_driver)
    following = asyncio.Event()
    with call_when_logged("driver | first line", following.set):
        task = asyncio.create_task(run_to_first_event(build_trigger(application)))
        await asyncio.wait_for(following.wait(), 60)
    await asyncio.to_thread(act)
    payload: dict[str, Any] = (await asyncio.wait_for(task, 60)).payload
    return payload


@pytest.mark.parametrize("finalizers", [[], ["example.com/keep"]], ids=["deleted", "in progress"])
async def test_deletion_with_live_driver_is_a_deletion(cluster: Cluster, finalizers: list[str]) -> None:
    event = await read_event_after(cluster, lambda: cluster.delete("pi"), finalizers=finalizers)
    assert event["kind"] == "deleted"


async def test_replacement_with_live_driver_is_a_deletion(cluster: Cluster) -> None:
    def replace() -> None:
        cluster.delete("pi")
        cluster.create("pi")

    assert (await read_event_after(cluster, replace))["kind"] == "deleted"


async def test_driver_log_of_a_replaced_application_ends_with_its_own_state(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    states: list[str] = []

    async def finish(_: Narrator, seen: Progress) -> None:
        states.append(seen.state)

    def replace() -> None:
        cluster.delete("pi")
        cluster.create("pi")

    monkeypatch.setattr(Narrator, "finish", finish)
    await read_event_after(cluster, replace)
    assert states == ["FAILED"]


async def test_lost_driver_pod_is_not_a_scheduling_failure(cluster: Cluster) -> None:
    async def delete_driver(application: Application) -> None:
        application.delete_driver()

    event = await read_event_after(cluster, lambda: cluster.play(delete_driver))
    assert (event["outcome"], event["failure_kind"], event["reason"]) == ("Failed", "infrastructure", "DriverLost")
    assert "quota" not in event["sentence"]


@pytest.mark.parametrize("message", ["", "driver pod not found", "failed to submit spark application: timeout"])
def test_success_of_the_driver_counts_whatever_the_operator_reports(cluster: ScriptedCluster, message: str) -> None:
    async def succeed(application: Application) -> None:
        application.start_driver()
        application.end_driver(0)
        application.enter("FAILED", message=message)

    application = cluster.create("pi")
    cluster.play(succeed)
    event = fire(build_trigger(application))
    assert (event["outcome"], event["state"]) == ("Succeeded", "COMPLETED")


def test_next_try_submits_again_if_the_lost_try_had_no_driver(cluster: ScriptedCluster) -> None:
    task_instance = TaskInstance()
    task = operator(application=DOCUMENT)
    defer(task, task_instance)
    cluster.play(give_up)
    uid = cluster.application()["metadata"]["uid"]
    defer(task, task_instance.next_try())
    assert cluster.application()["metadata"]["uid"] != uid


def test_sensor_does_not_believe_a_failure_that_was_not_read_from_the_driver(cluster: ScriptedCluster) -> None:
    async def succeed(application: Application) -> None:
        await give_up_with_live_driver(application)
        application.end_driver(0)

    cluster.create("pi")
    cluster.play(succeed)
    trigger = SparkApplicationStateTrigger("pi", ["FAILED"], kubernetes_conn_id="spark", api_version=API_VERSION)
    event = fire(trigger)
    assert (event["kind"], event["outcome"]) == ("ended", "Succeeded")


def test_end_is_unknown_and_adopted_if_pods_must_not_be_read(
    cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def deny(*_: object) -> None:
        message = 'pods is forbidden: User "somebody" cannot list resource "pods"'
        raise Forbidden(403, "Forbidden", message, "list", "pods", NAMESPACE)

    monkeypatch.setattr(end_module, "list_driver_pods", deny)
    task_instance = TaskInstance()
    task = operator(application=DOCUMENT)
    deferred = defer(task, task_instance)
    cluster.play(give_up)
    event = fire(reload(deferred.trigger))
    assert (event["kind"], event["outcome"], event["failure_kind"]) == ("lost", None, None)
    assert "exceeded quota: pods" in event["sentence"]
    assert "The end is unknown until the driver pod is read" in event["sentence"]
    assert f'grant the verb "list" on pods in namespace {NAMESPACE}' in event["sentence"]
    uid = cluster.application()["metadata"]["uid"]
    defer(task, task_instance.next_try())
    assert cluster.application()["metadata"]["uid"] == uid
