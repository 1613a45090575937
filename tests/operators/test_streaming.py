"""A task with streaming queries: progress, stalls, and the replacement of an earlier version."""

import asyncio
import logging
from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.airflow_compat import AirflowFailException
from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_RESULT_TAKEN_BY, ANNOTATION_STOP
from airflow_provider_spark_operator.core.report.stream_health import StreamHealth
from airflow_provider_spark_operator.exceptions import SparkStreamStalled
from airflow_provider_spark_operator.follow.access.requests import wait_until_deleted
from airflow_provider_spark_operator.follow.recording import stream_check
from airflow_provider_spark_operator.follow.submission import adoption, stop
from airflow_provider_spark_operator.kube.errors import Forbidden, KubeError
from airflow_provider_spark_operator.parameters import Streaming
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy
from airflow_provider_spark_operator.testing.applications import Application
from local_kubernetes.api.kinds.kinds import PODS
from tests.cluster import Cluster, run_on
from tests.operators.tasks import DOCUMENT, operator
from tests.task import TaskInstance, run

LINE = 'spark-task {"queries": {"clicks": {"batch": %d, "first": %d, "rows": 2, "time": "now"}}}'


@pytest.fixture(params=[True, False], ids=["deferred", "on the worker"])
def deferrable(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(autouse=True)
def no_garbage_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for the deletion of drivers: the scripted cluster does not delete what belongs to an application."""
    monkeypatch.setattr(adoption, "wait_until_gone", wait_until_deleted)


async def stream(application: Application) -> None:
    """Complete a batch, and run on."""
    application.enter("Submitted", "DriverRequested")
    application.start_driver()
    application.enter("DriverStarted", "RunningHealthy")
    application.log.write(LINE % (3, 3))


def read_annotations(cluster: Cluster, application: Application) -> dict[str, str]:
    return dict(
        cluster.store.objects.get(PODS, application.namespace, application.driver)["metadata"].get("annotations", {})
    )


def create_another_run() -> TaskInstance:
    task_instance = TaskInstance()
    task_instance.run_id = "manual__2"
    return task_instance


def streaming(**settings: Any) -> Streaming:
    return Streaming(**{"stalled_after": 0.2, **settings})


def test_task_ends_when_a_query_has_made_progress(
    cluster: Cluster, deferrable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.script, task_instance = stream, TaskInstance()
    assert run(operator(deferrable, streaming=streaming(wait_for="progress")), task_instance) == "pi"
    assert "jobs/pi makes progress: query clicks has completed batch 3 with 2 rows" in caplog.text
    annotations = cluster.application()["metadata"]["annotations"]
    assert annotations[ANNOTATION_RESULT_TAKEN_BY] == str(task_instance.id)


def test_stalled_application_is_ended_and_can_be_retried(cluster: Cluster, deferrable: bool) -> None:
    cluster.script = stream
    with pytest.raises(SparkStreamStalled, match="jobs/pi is stalled: its queries have made no progress for") as caught:
        run(operator(deferrable, streaming=streaming(on_stall="fail")), TaskInstance())
    assert cluster.applications() == []
    assert (caught.value.reason, caught.value.retry_worthy) == ("StreamStalled", True)
    assert SparkRetryPolicy().evaluate(caught.value, 1, 3).action.value == "retry"


def test_stall_is_a_warning_by_default(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    async def script(application: Application) -> None:
        await stream(application)
        while "is stalled" not in caplog.text:  # noqa: ASYNC110 - a log has no event
            await asyncio.sleep(0.01)
        application.succeed()

    cluster.script = script
    assert run(operator(streaming=streaming()), TaskInstance()) == "pi"


def test_unexpected_error_of_the_check_is_one_warning(
    cluster: Cluster, deferrable: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("batch")

    async def script(application: Application) -> None:
        await stream(application)
        while "unexpected" not in caplog.text:  # noqa: ASYNC110 - a log has no event
            await asyncio.sleep(0.01)
        application.succeed()

    monkeypatch.setattr(StreamHealth, "check", fail)
    cluster.script = script
    assert run(operator(deferrable, streaming=streaming()), TaskInstance()) == "pi"
    warning = "jobs/pi is followed without the check of its streaming queries: unexpected KeyError: 'batch'. Report"
    assert caplog.text.count(warning) == 1


def test_missing_permission_for_the_log_is_one_warning(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusals = 0

    async def refuse(*_: object) -> None:
        nonlocal refusals
        refusals += 1
        if refusals > 2:
            (application,) = running
            application.succeed()
        if refusals == 2:
            raise KubeError(500, "InternalError", "the API is down")
        raise Forbidden(403, "Forbidden", "no", "get", "pods/log", "jobs", "pi-driver")

    running: list[Application] = []

    async def script(application: Application) -> None:
        await stream(application)
        running.append(application)

    monkeypatch.setattr(stream_check, "_read_report", refuse)
    cluster.script = script
    assert run(operator(streaming=streaming()), TaskInstance()) == "pi"
    assert (
        caplog.text.count("jobs/pi is followed without the check of its streaming queries: could not get pods/log") == 1
    )


def test_new_run_replaces_the_application_and_both_tasks_succeed(
    cluster: Cluster, deferrable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.script = stream
    task = operator(deferrable, streaming=streaming(wait_for="progress"))
    run(task, TaskInstance())
    first = cluster.application()["metadata"]["uid"]
    assert run(operator(deferrable, streaming=streaming(wait_for="progress")), create_another_run()) == "pi"
    (application,) = cluster.applications()
    assert application["metadata"]["uid"] != first
    assert "could not stop SparkApplication jobs/pi gracefully: its driver pod has no volume" in caplog.text


def test_earlier_version_is_asked_to_stop(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(stop, "shows_annotation", lambda *_: True)

    async def stop_on_request(application: Application) -> None:
        await stream(application)
        while ANNOTATION_STOP not in read_annotations(cluster, application):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        application.succeed()

    cluster.script = stop_on_request
    run(operator(streaming=streaming(wait_for="progress")), TaskInstance())
    cluster.script = stream
    run(operator(streaming=streaming(wait_for="progress")), create_another_run())
    assert "asked SparkApplication jobs/pi to stop" in caplog.text
    assert "did not stop within" not in caplog.text
    assert "its query clicks began with batch 0" not in caplog.text


def test_cleared_task_stops_its_application_before_it_runs_another(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stop, "shows_annotation", lambda *_: True)
    cluster.script = stream
    settings = streaming(wait_for="progress", stop_timeout=timedelta(seconds=0.1))
    run(operator(streaming=settings), TaskInstance())
    cleared = TaskInstance().next_try()
    cleared.max_tries = cleared.try_number + 3
    assert run(operator(streaming=settings), cleared) == "pi"
    assert "SparkApplication jobs/pi did not stop within 0s; deleting it" in caplog.text


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"streaming": "yes"}, "streaming must be True, False or a Streaming"),
        ({"streaming": Streaming(wait_for="start")}, "streaming.wait_for must be 'end' or 'progress', not 'start'"),
        ({"streaming": Streaming(on_stall="stop")}, "streaming.on_stall must be 'fail' or 'warn', not 'stop'"),
        ({"streaming": Streaming(stalled_after=0)}, "streaming.stalled_after must be a number of seconds greater"),
        ({"streaming": True, "wait_for_completion": False}, "streaming: needs a worker that waits"),
        (
            {"streaming": True, "application": None, "sql": "SELECT 1", "image": "spark:4.3.0"},
            "streaming: sql reports no progress of a query",
        ),
        (
            {"streaming": True, "application": None, "name": None, "py_file": "local:///a.py", "image": "spark:4.3.0"},
            "streaming: needs a name, because each DAG run",
        ),
    ],
)
def test_invalid_setting_is_rejected(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        operator(**parameters)


def test_manifest_without_a_name_is_rejected(cluster: Cluster) -> None:
    nameless = {**DOCUMENT, "metadata": {}}
    with pytest.raises(AirflowFailException, match=r"metadata\.name: needs a name, because each DAG run"):
        run(operator(application=nameless, name=None, streaming=True), TaskInstance())
    assert cluster.applications() == []


def test_image_gets_the_file_with_the_request(cluster: Cluster) -> None:
    cluster.script = stream
    run(operator(streaming=streaming(wait_for="progress")), TaskInstance())
    template = cluster.application()["spec"]["driverSpec"]["podTemplateSpec"]["spec"]
    assert template["containers"][0]["volumeMounts"] == [{"name": "spark-task", "mountPath": "/opt/spark-task"}]


def test_application_of_another_run_stays_without_streaming(cluster: Cluster) -> None:
    cluster.script = run_on
    cluster.create("other")
    run(operator(wait_for_completion=False), TaskInstance())
    with pytest.raises(Exception, match="Wait until it ends"):
        run(operator(), create_another_run())
