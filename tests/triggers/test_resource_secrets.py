"""Secrets of the worker in the log and the event of a trigger, whose process does not know them."""

import copy
import json
from typing import Any
from urllib.parse import quote

import pytest

from airflow_provider_spark_operator import airflow_compat
from airflow_provider_spark_operator.airflow_compat import AirflowFailException
from airflow_provider_spark_operator.exceptions import SparkApplicationFailed
from airflow_provider_spark_operator.operators.spark_cluster import SparkClusterOperator
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.testing.spark_clusters import ScriptedSparkCluster
from tests.cluster import Cluster, stay_submitted
from tests.operators.tasks import DOCUMENT, operator
from tests.operators.test_spark_cluster import DOCUMENT as CLUSTER
from tests.task import TaskInstance, defer, fire, reload, run

SECRET = "hunter2-and-more"
ROTATED = "correct-horse"


def know(monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
    """Let this process know a secret, as a worker does that has read a connection."""
    monkeypatch.setattr(airflow_compat, "redact", lambda text: text.replace(secret, "***"))


def with_secret(document: dict[str, Any], secret: str) -> dict[str, Any]:
    document = copy.deepcopy(document)
    document["spec"].setdefault("sparkConf", {})["spark.job.url"] = f"jdbc:x://user:{secret}@db"
    return document


async def print_secret_and_fail(application: Application) -> None:
    application.start()
    application.log.write(f"connecting with {SECRET}")
    application.log.write("x" * 390 + SECRET)
    application.enter("RunningWithBelowThresholdExecutors", message=f"the image needs {SECRET}")
    application.enter("Failed", message=f"ended with {SECRET}", driver=application.end_driver(3))
    application.enter("ResourceReleased")


def test_secrets_of_the_worker_are_masked_in_log_and_event(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    cluster.script = print_secret_and_fail
    with monkeypatch.context() as worker:
        know(worker, SECRET)
        deferred = defer(operator(application=with_secret(DOCUMENT, SECRET)), TaskInstance())
    trigger = reload(deferred.trigger)
    assert SECRET not in json.dumps(trigger.serialize())
    event = json.dumps(fire(trigger), ensure_ascii=False)
    assert "connecting with ***" in caplog.text
    assert "the image needs ***" in caplog.text
    assert "connecting with ***" in event
    assert "x***…" in event
    assert SECRET not in caplog.text + event
    assert SECRET[:8] not in event


def test_secret_that_is_quoted_in_the_resource_is_masked_as_the_driver_prints_it(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    secret = 'Pw@ss/w0rd?"q'

    async def print_and_fail(application: Application) -> None:
        application.start()
        application.log.write(f"user spark of db connects with {secret}")
        application.fail(exit_code=3)

    caplog.set_level("INFO")
    cluster.script = print_and_fail
    with monkeypatch.context() as worker:
        know(worker, secret)
        task = operator(application=with_secret(DOCUMENT, quote(secret, safe="")))
        trigger = reload(defer(task, TaskInstance()).trigger)
    assert secret not in str(trigger.serialize())
    event = json.dumps(fire(trigger))
    assert "user spark of db connects with ***" in caplog.text
    assert "user spark of db connects with ***" in event


def test_secret_that_changed_since_the_earlier_try_is_masked(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    cluster.script = stay_submitted
    first = TaskInstance()
    defer(operator(application=with_secret(DOCUMENT, SECRET)), first)
    with monkeypatch.context() as worker:
        know(worker, ROTATED)
        deferred = defer(operator(application=with_secret(DOCUMENT, ROTATED)), first.next_try())

    async def print_url_and_fail(application: Application) -> None:
        application.start()
        application.log.write(f"connecting to jdbc:x://user:{SECRET}@db")
        application.fail(exit_code=3)

    cluster.play(print_url_and_fail)
    event = json.dumps(fire(reload(deferred.trigger)))
    assert "connecting to ***" in event
    assert SECRET not in caplog.text + event


@pytest.mark.parametrize("deferrable", [True, False], ids=["deferred", "on the worker"])
def test_exception_for_callbacks_has_no_secret(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, deferrable: bool
) -> None:
    cluster.script = print_secret_and_fail
    know(monkeypatch, SECRET)
    with pytest.raises(SparkApplicationFailed, match=r"connecting with \*\*\*") as caught:
        run(operator(deferrable, application=with_secret(DOCUMENT, SECRET)), TaskInstance())
    assert SECRET not in str(caught.value)


def test_rejected_value_is_masked_in_the_exception(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    know(monkeypatch, SECRET)
    with pytest.raises(AirflowFailException, match=r"\*\*\*") as caught:
        run(operator(application=with_secret({**DOCUMENT, "spec": {SECRET: 1}}, SECRET)), TaskInstance())
    assert SECRET not in str(caught.value)


def test_secrets_of_a_cluster_are_masked_in_log_and_event(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def be_refused(one: ScriptedSparkCluster) -> None:
        one.enter("SchedulingFailure", message=f"the pod is invalid: {SECRET}")

    caplog.set_level("INFO")
    cluster.cluster_script = be_refused
    with monkeypatch.context() as worker:
        know(worker, SECRET)
        task = SparkClusterOperator(
            task_id="create",
            cluster=with_secret(CLUSTER, SECRET),
            name="shared",
            kubernetes_conn_id="spark",
            deferrable=True,
        )
        deferred = defer(task, TaskInstance())
    event = json.dumps(fire(reload(deferred.trigger)))
    assert "the pod is invalid: ***" in caplog.text
    assert "the pod is invalid: ***" in event
    assert SECRET not in caplog.text + event
