"""Tasks that fail after the submission, while their application or SparkCluster still runs, and tasks without XComs."""

import asyncio
import json
import logging
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from airflow.sdk import BaseOperator

from airflow_provider_spark_operator.airflow_compat import AirflowFailException, BaseHook, RetryDecision, RetryPolicy
from airflow_provider_spark_operator.exceptions import (
    SparkApplicationError,
    SparkApplicationFailed,
    SparkApplicationTimedOut,
)
from airflow_provider_spark_operator.testing.spark_clusters import stay_without_workers
from airflow_provider_spark_operator.triggers import spark_application_runtime, spark_cluster_runtime
from tests.cluster import Cluster, fail, run_on
from tests.operators.tasks import operator
from tests.operators.test_spark_cluster import create
from tests.task import TaskInstance, build_context, call_when_logged, defer, fire, reload, run, run_to_first_event

Create = Callable[..., BaseOperator]
LAST_TRY = 4


class RefusedXComs(TaskInstance):
    """A task instance whose XComs raise an exception."""

    error: BaseException = ConnectionError("409: the XCom already exists")

    def xcom_push(self, key: str, value: Any) -> None:
        raise self.error


class NeverRetry(RetryPolicy):
    def evaluate(self, *arguments: object, **options: object) -> RetryDecision:
        return RetryDecision.fail("never")


@pytest.fixture(params=[operator, create], ids=["application", "cluster"])
def create_task(request: pytest.FixtureRequest, cluster: Cluster) -> Create:
    """Create a task whose application or SparkCluster runs on."""
    cluster.script, cluster.cluster_script = run_on, stay_without_workers
    factory: Create = request.param
    return factory


def count_resources(cluster: Cluster) -> int:
    return len([*cluster.applications(), *cluster.spark_clusters()])


def interrupt(task: BaseOperator, task_instance: RefusedXComs, error: BaseException | None = None) -> None:
    """Raise an exception in the task, as soon as it has submitted its resource."""
    task_instance.error = error or KeyboardInterrupt()
    with pytest.raises(type(task_instance.error)):
        task.execute(build_context(task_instance))


@pytest.mark.parametrize("deferrable", [True, False])
def test_refused_xcom_does_not_fail_the_task(
    cluster: Cluster, deferrable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    assert run(operator(deferrable), RefusedXComs(try_number=LAST_TRY)) == "pi"
    assert run(create(deferrable), RefusedXComs()) == "shared"
    assert "could not store the XCom namespace, so other tasks cannot read it: 409" in caplog.text


def test_interrupted_task_without_a_retry_deletes_its_resource(
    cluster: Cluster, create_task: Create, caplog: pytest.LogCaptureFixture
) -> None:
    interrupt(create_task(), RefusedXComs(try_number=LAST_TRY))
    assert count_resources(cluster) == 0
    assert "the task failed after the submission of its Spark" in caplog.text
    assert "; it was deleted" in caplog.text


def test_interrupted_task_leaves_its_resource_to_a_retry(
    cluster: Cluster, create_task: Create, caplog: pytest.LogCaptureFixture
) -> None:
    task_instance = RefusedXComs(try_number=LAST_TRY - 1)
    interrupt(create_task(), task_instance)
    assert "; it may still be running, and a retry adopts it" in caplog.text
    defer(create_task(), task_instance.next_try())
    assert count_resources(cluster) == 1


def test_interrupted_task_keeps_its_resource_without_delete_on_kill(
    cluster: Cluster, create_task: Create, caplog: pytest.LogCaptureFixture
) -> None:
    interrupt(create_task(delete_on_kill=False), RefusedXComs(try_number=LAST_TRY))
    assert count_resources(cluster) == 1
    assert "it keeps running because delete_on_kill=False" in caplog.text


@pytest.mark.parametrize("policy", [None, NeverRetry()], ids=["final exception", "policy"])
def test_failure_that_is_never_retried_deletes_the_resource(
    cluster: Cluster, create_task: Create, policy: RetryPolicy | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = AirflowFailException("stop") if policy is None else RuntimeError("stop")
    task = create_task(deferrable=False, retry_policy=policy)

    def raise_error(*arguments: object) -> None:
        raise error

    for runtime in ("spark_application_runtime", "spark_cluster_runtime"):
        monkeypatch.setattr(f"airflow_provider_spark_operator.operators.{runtime}.push_links", raise_error)
    with pytest.raises(type(error)):
        task.execute(build_context(TaskInstance()))
    assert count_resources(cluster) == 0


def test_interrupted_wait_deletes_the_application(cluster: Cluster) -> None:
    cluster.script = run_on
    with (
        call_when_logged("RunningHealthy", lambda: os.kill(os.getpid(), signal.SIGINT)),
        pytest.raises(KeyboardInterrupt),
    ):
        operator(deferrable=False).execute(build_context(TaskInstance(try_number=LAST_TRY)))
    assert cluster.applications() == []


@pytest.mark.parametrize("delete_on_kill", [True, False])
def test_interrupted_dag_test_deletes_the_resource_of_a_deferred_task(
    cluster: Cluster, create_task: Create, delete_on_kill: bool
) -> None:
    trigger = reload(defer(create_task(delete_on_kill=delete_on_kill), TaskInstance()).trigger)
    application = cluster.applications() != []
    words, runtime = (
        ("RunningHealthy", spark_application_runtime) if application else ("workers", spark_cluster_runtime)
    )
    with (
        call_when_logged(words, lambda: os.kill(os.getpid(), signal.SIGINT), runtime.logger),
        pytest.raises(KeyboardInterrupt),
    ):
        asyncio.run(run_to_first_event(trigger))  # as `dag.test()` does
    assert count_resources(cluster) == (0 if delete_on_kill else 1)


def test_failure_before_the_submission_deletes_nothing(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), pytest.raises(SparkApplicationError, match="could not submit"):
        operator(namespace="nowhere").execute(build_context(TaskInstance(try_number=LAST_TRY)))
    assert "the task failed after the submission" not in caplog.text


@pytest.mark.parametrize(
    ("try_number", "outcome"),
    [(LAST_TRY - 1, "it may still be running, and a retry adopts it"), (LAST_TRY, "it was deleted")],
)
@pytest.mark.parametrize("reason", ["the trigger failed", "a lost watch"])
def test_task_that_cannot_follow_its_resource_deletes_it_if_no_retry_is_left(
    cluster: Cluster, create_task: Create, try_number: int, outcome: str, reason: str
) -> None:
    task_instance = TaskInstance(try_number=try_number)
    defer(create_task(), task_instance)
    event = {"kind": "lost", "namespace": "jobs", "name": "pi", "uid": "u1", "sentence": "it cannot be followed."}
    method, arguments = (
        ("__fail__", {"error": "Trigger failure"})
        if reason == "the trigger failed"
        else ("execute_complete", {"event": event})
    )
    sentence = r"\(see the log of the triggerer\)" if method == "__fail__" else "^it cannot be followed"
    with pytest.raises(SparkApplicationError, match=f"{sentence}; {outcome}$"):
        create_task().resume_execution(method, arguments, build_context(task_instance))
    assert count_resources(cluster) == (1 if try_number < LAST_TRY else 0)


@pytest.mark.parametrize("conn", ["undefined", "contradictory", "no backend"])
def test_outcome_does_not_change_if_the_connection_cannot_be_used_at_resume(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, conn: str
) -> None:
    application, shared = TaskInstance(), TaskInstance("create")
    ended = {"event": fire(reload(defer(operator(), application).trigger))}
    ready = {"event": fire(reload(defer(create(), shared).trigger))}
    break_connection(monkeypatch, conn)
    assert operator().resume_execution("execute_complete", ended, build_context(application)) == "pi"
    assert create().resume_execution("execute_complete", ready, build_context(shared)) == "shared"
    assert caplog.text.count("could not record on Spark") == 2


def test_failure_is_reported_if_the_connection_cannot_be_used_at_resume(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.script = fail
    task_instance = TaskInstance()
    event = fire(reload(defer(operator(), task_instance).trigger))
    break_connection(monkeypatch, "undefined")
    with pytest.raises(SparkApplicationFailed, match="exit code 3"):
        operator().resume_execution("execute_complete", {"event": event}, build_context(task_instance))


def test_timeout_is_reported_if_the_connection_cannot_be_used_at_resume(
    cluster: Cluster, create_task: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_instance = TaskInstance()
    defer(create_task(), task_instance)
    break_connection(monkeypatch, "undefined")
    with pytest.raises(SparkApplicationTimedOut, match=r"could not delete it, .*running: .*'spark'"):
        create_task().resume_execution("__fail__", {"error": "Trigger timeout"}, build_context(task_instance))


def break_connection(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    if way == "no backend":

        def refuse(conn_id: str) -> None:
            raise ConnectionError("the secrets backend does not answer")

        monkeypatch.setattr(BaseHook, "get_connection", refuse)
    elif way == "contradictory":
        extra = {"kube_config_path": "/a", "in_cluster": True}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps({"conn_type": "kubernetes", "extra": extra}))
    else:
        monkeypatch.delenv("AIRFLOW_CONN_SPARK")
