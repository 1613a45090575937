"""A worker that is stopped deletes its application, or leaves it to the next try."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.airflow_compat import AirflowTaskTimeout
from airflow_provider_spark_operator.exceptions import SparkApplicationError
from airflow_provider_spark_operator.follow.submission.stamp import TaskStamp
from airflow_provider_spark_operator.hooks.loop import CANCEL_SECONDS
from airflow_provider_spark_operator.kube.connection import ClusterAccess
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS, ResourceType
from airflow_provider_spark_operator.operators import current_try
from airflow_provider_spark_operator.operators.current_try import TaskTry
from airflow_provider_spark_operator.triggers.task_instance import Fate
from tests.cluster import Cluster, run_on
from tests.follow.applications import FAILED, RUNNING, build_stored
from tests.operators.tasks import operator
from tests.relocation import relocate, shut_down
from tests.task import TaskInstance, build_context, call_when_logged

STAMP = TaskStamp("dag", "task", "run", -1, 1, "id-1", max_tries=3)


@pytest.fixture
def cancelled(monkeypatch: pytest.MonkeyPatch) -> list[TaskStamp]:
    """The stamps whose applications were cancelled."""
    stamps: list[TaskStamp] = []

    async def cancel(self: TaskTry, seconds: float) -> dict[str, Any]:
        stamps.append(self.stamp)
        return {}

    monkeypatch.setattr(TaskTry, "_cancel", cancel)
    return stamps


@pytest.fixture
def task_try() -> TaskTry:
    context = build_context(TaskInstance(try_number=4))  # the last one
    return TaskTry(operator(), context, ClusterAccess(), STAMP, "jobs", SPARK_APPLICATIONS)


def set_fate(monkeypatch: pytest.MonkeyPatch, fate: Callable[..., object]) -> None:
    monkeypatch.setattr(current_try, "read_fate", fate)


def test_killed_task_cancels_its_application(
    monkeypatch: pytest.MonkeyPatch, task_try: TaskTry, cancelled: list[TaskStamp]
) -> None:
    set_fate(monkeypatch, lambda stamp: Fate.KILLED if stamp == STAMP else Fate.MOVED)
    task_try.stop()
    assert cancelled == [STAMP]
    assert task_try.stop_requested


def test_drained_worker_leaves_application_to_next_try(
    monkeypatch: pytest.MonkeyPatch, task_try: TaskTry, cancelled: list[TaskStamp], caplog: pytest.LogCaptureFixture
) -> None:
    set_fate(monkeypatch, lambda stamp: Fate.MOVED)
    with caplog.at_level(logging.INFO):
        task_try.stop()
    assert cancelled == []
    assert "the next try of the task adopts the application" in caplog.text


def test_drained_worker_without_retry_logs_that_application_may_run(
    monkeypatch: pytest.MonkeyPatch, task_try: TaskTry, caplog: pytest.LogCaptureFixture
) -> None:
    set_fate(monkeypatch, lambda stamp: Fate.MOVED)
    assert STAMP.max_tries is not None
    task_try.stamp = replace(STAMP, try_number=STAMP.max_tries + 1)
    with caplog.at_level(logging.INFO):
        task_try.stop()
    assert "the task has no retry left, and the application may still be running" in caplog.text


def test_nothing_is_cancelled_if_airflow_reports_an_error(
    monkeypatch: pytest.MonkeyPatch, task_try: TaskTry, cancelled: list[TaskStamp], caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(stamp: TaskStamp) -> None:
        raise LookupError("no such route")

    set_fate(monkeypatch, refuse)
    task_try.stop()
    assert cancelled == []
    cause = "Airflow did not report the state of the task: no such"
    assert f"could not delete the resources of this task; its program may still be running: {cause}" in caplog.text


def test_stop_waits_for_the_answer_of_airflow(
    monkeypatch: pytest.MonkeyPatch, task_try: TaskTry, cancelled: list[TaskStamp]
) -> None:
    is_awaited = threading.Event()

    class Thread(threading.Thread):
        def join(self, timeout: float | None = None) -> None:
            is_awaited.set()
            super().join(timeout)

    monkeypatch.setattr(current_try, "threading", SimpleNamespace(Thread=Thread))
    set_fate(monkeypatch, lambda stamp: Fate.KILLED if is_awaited.wait(10) else Fate.MOVED)
    task_try.stop()
    assert cancelled == [STAMP]


def test_stop_does_not_wait_for_unresponsive_airflow(
    monkeypatch: pytest.MonkeyPatch, task_try: TaskTry, cancelled: list[TaskStamp], caplog: pytest.LogCaptureFixture
) -> None:
    release = threading.Event()
    threads: list[threading.Thread] = []

    def hang(stamp: TaskStamp) -> None:
        threads.append(threading.current_thread())
        release.wait(60)

    monkeypatch.setattr(current_try, "_FATE_SECONDS", 0.01)
    set_fate(monkeypatch, hang)
    task_try.stop()
    release.set()
    assert cancelled == []
    assert "may still be running: Airflow did not report the state of the task within" in caplog.text
    assert all(thread.daemon for thread in threads)


def test_unresponsive_cluster_is_logged(
    monkeypatch: pytest.MonkeyPatch,
    task_try: TaskTry,
    cluster: Cluster,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(current_try, "CANCEL_SECONDS", current_try._GRACE_SECONDS)
    set_fate(monkeypatch, lambda stamp: Fate.KILLED)
    task_try.access = ClusterAccess(kubeconfig=tmp_path / "none")
    task_try.stop()
    assert f"kubeconfig {tmp_path / 'none'} does not exist" in caplog.text
    shut_down(cluster)
    task_try.access = ClusterAccess(kubeconfig_document=cluster.kubeconfig)
    task_try.stop()
    assert "its program may still be running: could not discover sparkapplications" in caplog.text


@pytest.mark.parametrize(
    ("request_name", "method", "answer"),
    [
        ("_cancel", TaskTry.stop, None),
        ("_list_own", TaskTry.describe_timeout, "no triggerer reported the end of the application"),
        ("_list_own", TaskTry.has_resource, True),
    ],
    ids=["stop", "describe_timeout", "has_resource"],
)
def test_request_that_the_cluster_does_not_answer_is_cancelled(
    monkeypatch: pytest.MonkeyPatch,
    task_try: TaskTry,
    caplog: pytest.LogCaptureFixture,
    request_name: str,
    method: Callable[[TaskTry], object],
    answer: object,
) -> None:
    cancelled = threading.Event()

    async def hang(*_: object) -> None:
        try:
            await asyncio.wait_for(asyncio.Event().wait(), 20)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    monkeypatch.setattr(current_try, "CANCEL_SECONDS", 0.05)
    monkeypatch.setattr(TaskTry, request_name, hang)
    set_fate(monkeypatch, lambda stamp: Fate.KILLED)
    assert method(task_try) == answer
    assert cancelled.is_set()
    assert "could not" in caplog.text


@pytest.mark.parametrize(
    ("error", "may_run", "stop_requested", "is_released"),
    [
        pytest.param(RuntimeError("no"), True, False, True, id="failed"),
        pytest.param(KeyboardInterrupt(), True, False, True, id="interrupted"),
        pytest.param(RuntimeError("no"), False, False, False, id="nothing submitted"),
        pytest.param(RuntimeError("no"), True, True, False, id="stopped by a signal"),
        pytest.param(AirflowTaskTimeout("late"), True, False, False, id="timed out"),
    ],
)
def test_failed_task_releases_what_it_has_submitted(
    task_try: TaskTry,
    cancelled: list[TaskStamp],
    error: BaseException,
    may_run: bool,
    stop_requested: bool,
    is_released: bool,
) -> None:
    task_try.may_run, task_try.stop_requested = may_run, stop_requested
    with pytest.raises(type(error)), task_try.release_if_failed():
        raise error
    assert cancelled == ([STAMP] if is_released else [])


def test_release_reports_that_the_resource_could_not_be_deleted(
    monkeypatch: pytest.MonkeyPatch, task_try: TaskTry
) -> None:
    async def fail(self: TaskTry, seconds: float) -> None:
        raise TimeoutError

    monkeypatch.setattr(TaskTry, "_cancel", fail)
    assert task_try.release() == "could not delete it, so it may still be running: TimeoutError"


def test_application_is_left_to_a_retry_if_the_exception_of_the_task_is_retried(
    monkeypatch: pytest.MonkeyPatch, task_try: TaskTry
) -> None:
    def is_retried(error: BaseException, *_: object) -> bool:
        return isinstance(error, SparkApplicationError) and str(error) == "The trigger failed."

    monkeypatch.setattr(current_try, "is_retried", is_retried)
    error = task_try.give_up("The trigger failed.")
    assert str(error) == "The trigger failed; it may still be running, and a retry adopts it"


def test_cancellation_leaves_time_to_report_its_error(monkeypatch: pytest.MonkeyPatch, task_try: TaskTry) -> None:
    limits: list[float] = []

    async def cancel(self: TaskTry, seconds: float) -> dict[str, Any]:
        limits.append(seconds)
        return {}

    monkeypatch.setattr(TaskTry, "_cancel", cancel)
    task_try.cancel()
    task_try.release()
    assert limits == [
        CANCEL_SECONDS - current_try._GRACE_SECONDS,
        current_try.LONG_CANCEL_SECONDS - current_try._GRACE_SECONDS,
    ]


def test_timeout_names_ended_applications_of_this_try_only(monkeypatch: pytest.MonkeyPatch, task_try: TaskTry) -> None:
    earlier = replace(STAMP, try_number=0, task_instance_id="id-0")
    found = [
        build_stored("ended", "u1", "1", *FAILED),
        build_stored("running", "u2", "2", *RUNNING),
        build_stored("unread", "u4", "4", "Submitted", "SchedulingFailure", "ResourceReleased"),
        build_stored("own", "u3", "3", *FAILED),
    ]
    for document, stamp in zip(found, (earlier, earlier, earlier, STAMP), strict=True):
        document["metadata"] |= {"labels": stamp.build_labels(), "annotations": stamp.build_annotations()}

    async def list_own(self: TaskTry) -> tuple[ResourceType, list[dict[str, Any]]]:
        return self.resource, found

    monkeypatch.setattr(TaskTry, "_list_own", list_own)
    assert task_try.describe_timeout() == (
        "no triggerer reported the end of "
        "SparkApplication jobs/running (RunningHealthy), SparkApplication jobs/unread (ResourceReleased), "
        "SparkApplication jobs/own (ResourceReleased)"
    )


@pytest.mark.parametrize(("own", "searched"), [("jobs", "jobs"), (None, "team")], ids=["own", "default"])
def test_resources_are_searched_in_the_namespace_of_the_task(
    monkeypatch: pytest.MonkeyPatch, task_try: TaskTry, own: str | None, searched: str
) -> None:
    namespaces: list[str] = []

    @asynccontextmanager
    async def connect() -> AsyncIterator[SimpleNamespace]:
        yield SimpleNamespace(default_namespace="team")

    async def open_client(self: TaskTry) -> object:
        return connect()

    async def choose_served_version(client: object, resource: ResourceType) -> ResourceType:
        return resource

    async def list_applications(client: object, resource: object, namespace: str, stamp: object) -> list[object]:
        namespaces.append(namespace)
        return []

    monkeypatch.setattr(TaskTry, "open_client", open_client)
    monkeypatch.setattr(current_try, "choose_served_version", choose_served_version)

    async def cancel_try(client: object, stamp: object, namespace: str | None, resource: object) -> dict[str, Any]:
        namespaces.append(namespace or "team")
        return {}

    monkeypatch.setattr(current_try, "list_applications", list_applications)
    monkeypatch.setattr(current_try, "cancel_try", cancel_try)
    task_try.namespace = own
    assert not task_try.has_resource()
    task_try.cancel()
    assert namespaces == [searched, searched]


def test_killed_task_cancels_its_application_after_outage(
    monkeypatch: pytest.MonkeyPatch,
    task_try: TaskTry,
    cluster: Cluster,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster.script = run_on
    cluster.create("pi", labels=STAMP.build_labels(), annotations=STAMP.build_annotations())
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(cluster.kubeconfig))
    rereads: list[str] = []

    async def reread() -> ClusterAccess:
        rereads.append("the connection")
        return task_try.access

    task_try.access = ClusterAccess(kubeconfig=file, reread=reread)
    set_fate(monkeypatch, lambda stamp: Fate.KILLED)
    shut_down(cluster)
    with (
        relocate(cluster) as kubeconfig,
        call_when_logged("is not available", lambda: file.write_text(yaml.safe_dump(kubeconfig)), current_try.logger),
    ):
        task_try.stop()
    assert "deletion of the resources of this task: the Kubernetes API is not available" in caplog.text
    assert "SparkApplication jobs/pi is being deleted" in caplog.text
    assert rereads == [], "Airflow may not answer in a signal handler"
    assert cluster.applications() == []
