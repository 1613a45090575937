"""What a task's log is told while the application runs."""

import asyncio
import logging
from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.apache import progress
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.kube.backoff import Backoff
from airflow_provider_spark_operator.triggers import narration
from airflow_provider_spark_operator.triggers.narration import Narrator
from tests.follow.applications import RUNNING, driver, stored
from tests.kube.scripted import client_of, page, scripted_api

REFERENCE = ApplicationReference("jobs", "pi", "u1")
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
BLOCKED = "executor pi-exec-1 cannot be started: ErrImagePull: no such image (image registry/job:7)"


def executor(number: int, reason: str | None = None) -> dict[str, Any]:
    """An executor that is ready, or waits for a reason."""
    pod = driver(owner="p1")
    pod["metadata"] |= {"name": f"pi-exec-{number}", "uid": f"e{number}"}
    waiting = {"waiting": {"reason": reason, "message": "no such image"}}
    statuses = [{"name": "executor", "image": "registry/job:7", "state": waiting}]
    return pod | {"status": {"phase": "Pending", "containerStatuses": statuses} if reason else READY}


class Told(logging.Handler):
    """Keeps what is told."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.news = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        self.news.set()

    async def until(self, end: str) -> list[str]:
        async with asyncio.timeout(30):
            while not any(line.endswith(end) for line in self.lines):
                self.news.clear()
                await self.news.wait()
        return self.lines


@pytest.mark.parametrize("conf", [{}, {"spark.dynamicAllocation.enabled": "true"}], ids=["fixed", "dynamic"])
async def test_an_executor_that_cannot_be_started_is_told_once(
    monkeypatch: pytest.MonkeyPatch, conf: dict[str, str]
) -> None:
    monkeypatch.setattr(narration, "Backoff", lambda **limits: Backoff(first=0.001))
    log, told = logging.Logger("task"), Told()
    log.addHandler(told)
    looks = [
        [],
        [executor(0), executor(1, "ContainerCreating")],
        [executor(0), executor(1, "ErrImagePull")],
        [executor(0), executor(1, "ErrImagePull")],
        [executor(0), executor(1)],
    ]
    resource = stored("pi", "u1", "5", *RUNNING)
    resource["spec"]["sparkConf"] = conf
    async with scripted_api() as api, await client_of(api) as client:
        api.script(*[answer for pods in looks for answer in (page(driver()), page(*pods))])
        async with Narrator(client, REFERENCE, log, with_driver_log=False) as narrator:
            await narrator.tell(progress(resource), resource)
            lines = await told.until("executors 2/2")
    assert [line for line in lines if "cannot" in line] == [f"SparkApplication jobs/pi: {BLOCKED}"]
