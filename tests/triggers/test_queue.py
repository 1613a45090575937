"""Many deferred tasks that share a queue with room for two applications."""

import asyncio
import logging
import threading
from collections.abc import Mapping
from datetime import timedelta

import pytest

from airflow_provider_spark_operator.core.report import waits
from airflow_provider_spark_operator.exceptions import SparkApplicationFailed
from airflow_provider_spark_operator.follow.narration import narrator
from airflow_provider_spark_operator.follow.narration.obstacles import Pauses
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.triggers import spark_application_runtime
from tests.cluster import Cluster
from tests.operators.tasks import operator
from tests.task import TaskInstance, build_context, defer, reload, run_to_first_event

ROOM = 2
NAMES = [f"job-{number}" for number in range(10)]
FAILED = {"job-3", "job-7"}


class Queue:
    """Runs `ROOM` applications at a time, each once its task has logged what the application waits for.

    Attributes:
        most: How many applications ran at the same time.
    """

    def __init__(self, logged: Mapping[str, threading.Event]) -> None:
        self.most = 0
        self._logged = logged
        self._running = 0
        self._room = asyncio.Semaphore(ROOM)
        self._lives: set[asyncio.Task[None]] = set()

    async def queue(self, application: Application) -> None:
        self._lives.add(asyncio.create_task(self._live(application)))

    async def _live(self, application: Application) -> None:
        application.report("KueueAdmissionPending", "insufficient unused quota for cpu")
        assert await asyncio.to_thread(self._logged[application.name].wait, 120)
        async with self._room:
            self._running += 1
            self.most = max(self.most, self._running)
            application.report("KueueAdmitted", "admitted")
            application.start()
            if application.name in FAILED:
                application.fail(exit_code=3)
            else:
                application.succeed()
            self._running -= 1


class Listener(logging.Handler):
    """Opens the gate of each application whose task logs that it waits for Kueue."""

    def __init__(self, logged: Mapping[str, threading.Event]) -> None:
        super().__init__()
        self._logged = logged

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        for name, event in self._logged.items():
            if message.startswith(
                f"SparkApplication jobs/{name} is waiting: it waits for Kueue admission in queue team-a"
            ):
                event.set()


async def test_ten_deferred_tasks_end_as_their_applications_do(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(narrator, "BACKGROUND", Pauses((0.01, 0.05), (0.01, 0.05), request=0.0))
    monkeypatch.setattr(waits, "_SHORTEST", timedelta())
    logged = {name: threading.Event() for name in NAMES}
    queue, listener = Queue(logged), Listener(logged)
    cluster.script = queue.queue
    spark_application_runtime.logger.addHandler(listener)
    try:
        tasks = {name: operator(name=name, kueue_queue="team-a") for name in NAMES}
        instances = {name: TaskInstance(task_id=name) for name in NAMES}
        deferrals = {name: await asyncio.to_thread(defer, tasks[name], instances[name]) for name in NAMES}
        async with asyncio.timeout(240):
            events = await asyncio.gather(*(run_to_first_event(reload(deferrals[name].trigger)) for name in NAMES))
    finally:
        spark_application_runtime.logger.removeHandler(listener)
    assert all(event.is_set() for event in logged.values())
    assert 1 <= queue.most <= ROOM
    for name, event in zip(NAMES, events, strict=True):
        method, context = deferrals[name].method_name, build_context(instances[name])
        if name in FAILED:
            with pytest.raises(SparkApplicationFailed, match="exit code 3"):
                await asyncio.to_thread(tasks[name].resume_execution, method, {"event": event.payload}, context)
        else:
            found = await asyncio.to_thread(tasks[name].resume_execution, method, {"event": event.payload}, context)
            assert found == name
        (wait,) = instances[name].xcoms["spark_run"]["waits"]
        assert wait["text"] == "queue team-a: insufficient unused quota for cpu"
