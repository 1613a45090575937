"""The driver log in the task log if the trigger first reads the application after the end of the driver."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import KUBEFLOW
from airflow_provider_spark_operator.follow.submission.stamp import TaskStamp
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import LogUnavailable
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.testing.cluster import ScriptedCluster
from airflow_provider_spark_operator.triggers.spark_application import SparkApplicationTrigger
from local_kubernetes.api.kinds.kinds import PODS
from tests.cluster import NAMESPACE, Cluster, stay_submitted
from tests.task import call_when_logged, fire, run_to_first_event

STAMP = TaskStamp("dag", "task", "run", -1, 1, "id-1")
SHUTDOWN = "26/01/01 00:00:09 INFO SparkContext: Invoking stop() from shutdown hook"
LINES = [f"line {number}" for number in range(45)]


@pytest.fixture
def kubeflow(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedCluster]:
    with ScriptedCluster(dialect=KUBEFLOW).serve() as cluster:
        document = {"conn_type": "kubernetes", "extra": {"kube_config": cluster.kubeconfig}}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps(document))
        yield cluster


async def log_and_fail(application: Application) -> None:
    application.start()
    for line in LINES:
        application.log.write(line)
    application.fail(exit_code=3)


async def log_and_lose_the_pod(application: Application) -> None:
    application.start()
    for line in LINES:
        application.log.write(line)
    application.enter("Failed", driver=application.end_driver(3))
    application.delete_driver()
    application.enter("ResourceReleased")


def build_trigger(application: dict[str, Any], **parameters: Any) -> SparkApplicationTrigger:
    metadata = application["metadata"]
    parameters = {"kubernetes_conn_id": "spark", "stamp": asdict(STAMP), **parameters}
    return SparkApplicationTrigger(NAMESPACE, metadata["name"], metadata["uid"], **parameters)


def create_ended_application(
    cluster: ScriptedCluster, script: Callable[[Application], Awaitable[None]]
) -> dict[str, Any]:
    """Return an application that ended before a trigger reads it."""
    cluster.script = stay_submitted
    application = cluster.create("pi", labels=STAMP.build_labels(), annotations=STAMP.build_annotations())
    cluster.play(script)
    return application


def list_driver_lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [line.removeprefix("driver | ") for line in caplog.messages if line.startswith("driver | ")]


def test_whole_log_is_shown_once_when_the_driver_pod_outlives_the_application(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    fire(build_trigger(create_ended_application(cluster, log_and_fail)))
    assert list_driver_lines(caplog) == LINES


def test_whole_log_is_shown_at_the_end_when_as_many_logs_as_allowed_are_streamed(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__DRIVER_LOG_STREAMS", "0")
    caplog.set_level("INFO")
    fire(build_trigger(create_ended_application(cluster, log_and_fail)))
    assert list_driver_lines(caplog) == LINES


def test_log_continues_at_the_noted_position_when_the_application_has_ended(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    application = create_ended_application(cluster, log_and_fail)
    (pod,) = cluster.do(lambda: list(cluster.store.objects.list(PODS, NAMESPACE)[0]))
    (log,) = cluster.logs.values()
    stamp = log.lines[39].partition(" ")[0]
    cluster.annotate("pi", log_position=f"id-1 {pod['metadata']['uid']} {stamp} 1")
    fire(build_trigger(application))
    assert list_driver_lines(caplog) == LINES[40:]


def test_gap_is_logged_with_its_times_when_the_driver_pod_was_deleted(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    fire(build_trigger(create_ended_application(cluster, log_and_lose_the_pod)))
    assert list_driver_lines(caplog) == []
    clock = r"\d\d:\d\d:\d\d"
    gap = rf"the driver's log after {clock} until its end at {clock} UTC is not available: the driver pod was deleted"
    assert [line for line in caplog.messages if re.fullmatch(gap, line)] != []


async def test_gap_is_logged_when_the_driver_pod_is_deleted_before_its_log_was_found(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    async def lose_the_pod(application: Application) -> None:
        application.start()
        application.log.write("line")
        application.delete_driver()

    async def notice(application: Application) -> None:
        application.enter("Failed", "ResourceReleased")

    caplog.set_level("INFO")
    application = await asyncio.to_thread(create_ended_application, cluster, lose_the_pod)
    running = asyncio.Event()
    with call_when_logged("RunningHealthy", running.set):
        task = asyncio.create_task(run_to_first_event(build_trigger(application)))
        await asyncio.wait_for(running.wait(), 60)
    await asyncio.to_thread(cluster.play, notice)
    await asyncio.wait_for(task, 60)
    assert [line for line in caplog.messages if "is not available: the driver pod was deleted" in line] != []


def test_gap_begins_at_the_noted_position(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    application = create_ended_application(cluster, log_and_lose_the_pod)
    cluster.annotate("pi", log_position="id-1 some-pod 2026-01-01T01:02:03.000000000Z 1")
    fire(build_trigger(application))
    assert [line for line in caplog.messages if line.startswith("the driver's log after 01:02:03 until")] != []


def test_gap_after_the_noted_position_reports_that_later_lines_may_have_been_shown(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    application = create_ended_application(cluster, log_and_lose_the_pod)
    cluster.annotate("pi", log_position="id-1 some-pod 2026-01-01T01:02:03.000000000Z 1")
    fire(build_trigger(application))
    end = "The log of an earlier try, or the lines above, may contain some of the missing lines"
    assert [line for line in caplog.messages if line.endswith(end)] != []


def test_no_gap_is_logged_when_the_last_line_shown_is_from_the_second_of_the_end(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    application = create_ended_application(cluster, log_and_lose_the_pod)
    history = cluster.applications()[0]["status"]["stateTransitionHistory"].values()
    (end,) = [one["lastTransitionTime"] for one in history if one["currentStateSummary"] == "Failed"]
    second = end.partition(".")[0].removesuffix("Z")
    cluster.annotate("pi", log_position=f"id-1 some-pod {second}.000000000Z 1")
    fire(build_trigger(application))
    assert [line for line in caplog.messages if "is not available" in line] == []


def test_failure_does_not_quote_error_of_a_node_in_place_of_the_log(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("INFO")
    removed = "unable to retrieve container logs for containerd://0123abc"

    async def refuse(self: KubeClient, namespace: str, pod: str, **options: Any) -> AsyncIterator[None]:
        if pod:
            raise LogUnavailable(200, "LogUnavailable", removed, "get", "pods/log", namespace, pod)
        yield

    monkeypatch.setattr(KubeClient, "logs", refuse)
    event = fire(build_trigger(create_ended_application(cluster, log_and_fail)))
    assert f"driver | … the driver's log could not be read: {removed}" in caplog.messages
    assert "Last lines" not in event["sentence"]
    assert "no log available: could not get pods/log" in event["sentence"]


async def test_position_is_noted_soon_after_the_first_lines_of_a_quiet_driver(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    async def run_and_log(application: Application) -> None:
        application.start()
        application.log.write("line")

    caplog.set_level("INFO")
    application = await asyncio.to_thread(create_ended_application, cluster, run_and_log)
    shown = asyncio.Event()
    with call_when_logged("driver | line", shown.set):
        task = asyncio.create_task(run_to_first_event(build_trigger(application)))
        await asyncio.wait_for(shown.wait(), 60)
    (log,) = cluster.logs.values()
    stamp = log.lines[0].partition(" ")[0]
    async with asyncio.timeout(60):
        while stamp not in str(cluster.applications()[0]["metadata"]["annotations"]):  # noqa: ASYNC110 - no signal
            await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize(
    "states",
    [("Submitted", "SchedulingFailure", "ResourceReleased"), ("Submitted", "Failed", "ResourceReleased")],
    ids=["not created", "refused"],
)
def test_no_gap_is_logged_when_no_driver_existed(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, states: tuple[str, str, str]
) -> None:
    async def never_start(application: Application) -> None:
        application.enter(*states, message="client mode is not supported")

    event = fire(build_trigger(create_ended_application(cluster, never_start)))
    assert [line for line in caplog.messages if "driver's log" in line] == []
    assert "no log" not in event["sentence"]


def test_gap_is_not_logged_if_get_logs_is_off(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    fire(build_trigger(create_ended_application(cluster, log_and_lose_the_pod), driver_log=False))
    assert [line for line in caplog.messages if "driver's log" in line] == []


@pytest.mark.parametrize(("level", "is_shown"), [(True, True), ("INFO", True), ("WARNING", False), ("later", True)])
def test_spark_lines_below_the_level_are_omitted(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, level: bool | str, is_shown: bool
) -> None:
    async def log_and_stop(application: Application) -> None:
        application.start()
        application.log.write(SHUTDOWN)
        application.log.write("rows 7")
        application.fail(exit_code=3)

    caplog.set_level("INFO")
    fire(build_trigger(create_ended_application(cluster, log_and_stop), driver_log=level))
    assert list_driver_lines(caplog) == [*([SHUTDOWN] if is_shown else ()), "rows 7"]


def test_log_is_shown_when_the_deadline_passed_while_no_trigger_ran(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    deadline = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    assert fire(build_trigger(create_ended_application(cluster, log_and_fail), deadline=deadline))["kind"] == "ended"
    assert list_driver_lines(caplog) == LINES


def test_log_of_a_running_driver_is_shown_when_the_deadline_passed_while_no_trigger_ran(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    async def run_and_log(application: Application) -> None:
        application.start()
        for line in LINES:
            application.log.write(line)

    caplog.set_level("INFO")
    deadline = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    assert fire(build_trigger(create_ended_application(cluster, run_and_log), deadline=deadline))["kind"] == "timed-out"
    assert list_driver_lines(caplog) == LINES


@pytest.mark.parametrize("states", [("SUCCEEDING", "COMPLETED"), ("FAILING", "FAILED")], ids=["success", "failure"])
def test_whole_log_is_shown_when_kubeflow_never_reports_running(
    kubeflow: ScriptedCluster, caplog: pytest.LogCaptureFixture, states: tuple[str, str]
) -> None:
    async def skip_running(application: Application) -> None:
        application.enter("SUBMITTED")
        application.start_driver()
        for line in LINES:
            application.log.write(line)
        driver = application.end_driver(3 if "FAILED" in states else 0)
        for state in states:
            application.enter(state, driver=driver)

    caplog.set_level("INFO")
    fire(build_trigger(create_ended_application(kubeflow, skip_running), api_version="sparkoperator.k8s.io/v1beta2"))
    assert list_driver_lines(caplog) == LINES


TRACE = [
    "26/01/01 00:00:00 WARN NativeCodeLoader: Unable to load native-hadoop library",
    'Exception in thread "main" java.nio.file.NoSuchFileException: /opt/job/report.jar',
    *["\tat org.apache.spark.deploy.SparkSubmit.main(SparkSubmit.scala)"] * 40,
    "26/01/01 00:00:09 WARN ShutdownHookManager: slow",
    *[SHUTDOWN] * 40,
]


async def log_a_trace_and_fail(application: Application) -> None:
    application.start()
    for line in TRACE:
        application.log.write(line)
    application.fail(exit_code=1)


@pytest.mark.parametrize("driver_log", [True, False], ids=["shown", "not shown"])
def test_failure_begins_with_cause_from_before_the_last_lines(cluster: Cluster, driver_log: bool) -> None:
    sentence = fire(build_trigger(create_ended_application(cluster, log_a_trace_and_fail), driver_log=driver_log))[
        "sentence"
    ]
    first, title, *lines = sentence.splitlines()
    assert first == (
        "SparkApplication jobs/pi failed: java.nio.file.NoSuchFileException: /opt/job/report.jar; state Failed: "
        "container spark-kubernetes-driver of the driver ended with exit code 1 (Error)"
    )
    assert title == "Last lines of the driver's log:"
    # The first line of the log is a warning of every driver, which is left out.
    assert lines == [f"  {line}" for line in (TRACE[1], TRACE[-41])]


def fail_after(*lines: str) -> Callable[[Application], Awaitable[None]]:
    async def script(application: Application) -> None:
        application.start()
        for line in lines:
            application.log.write(line)
        application.fail(exit_code=1)

    return script


EARLY, LATE = [
    ["Traceback (most recent call last):", '  File "/opt/job.py", line 3, in <module>', f"ValueError: {name}"]
    for name in ("early", "late")
]


CAUSED_LATE = "SparkApplication jobs/pi failed: ValueError: late (job.py:3); "


def test_cause_is_read_from_log_end_if_stream_reached_its_limit(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__DRIVER_LOG_BYTES", "1000")
    application = create_ended_application(cluster, fail_after(*EARLY, *[SHUTDOWN] * 40, *LATE))
    assert fire(build_trigger(application))["sentence"].startswith(
        "SparkApplication jobs/pi failed: ValueError: late (job.py:3); "
    )


def test_cause_is_read_from_log_end_if_stream_was_resumed_later(cluster: Cluster) -> None:
    application = create_ended_application(
        cluster, fail_after(*LATE, SHUTDOWN, "org.example.ReportException: at the shutdown")
    )
    (pod,) = cluster.do(lambda: list(cluster.store.objects.list(PODS, NAMESPACE)[0]))
    (log,) = cluster.logs.values()
    stamp = log.lines[3].partition(" ")[0]
    cluster.annotate("pi", log_position=f"id-1 {pod['metadata']['uid']} {stamp} 1")
    assert fire(build_trigger(application))["sentence"].startswith(
        "SparkApplication jobs/pi failed: ValueError: late (job.py:3); "
    )


def test_cause_is_read_from_stream_if_complete(cluster: Cluster) -> None:
    application = create_ended_application(cluster, fail_after(*LATE, *[SHUTDOWN] * 2000, "Error: closed twice"))
    assert fire(build_trigger(application))["sentence"].startswith(
        "SparkApplication jobs/pi failed: ValueError: late (job.py:3); "
    )


def test_driver_lines_keep_their_level(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    fire(build_trigger(create_ended_application(cluster, log_a_trace_and_fail)))
    levels = [record.levelname for record in caplog.records if record.getMessage().startswith("driver | ")]
    assert levels == ["WARNING", *["ERROR"] * 41, "WARNING", *["INFO"] * 40]


def test_cause_in_the_log_of_a_deleted_driver_is_not_quoted(cluster: Cluster) -> None:
    async def be_evicted(application: Application) -> None:
        application.start()
        for line in TRACE:
            application.log.write(line)
        application.enter("DriverEvicted", driver=application.end_driver(137))
        application.enter("TerminatedWithoutReleaseResources")

    assert (
        "NoSuchFile"
        not in fire(build_trigger(create_ended_application(cluster, be_evicted)))["sentence"].splitlines()[0]
    )
