"""Many applications that end at the same time, each with its own task."""

import asyncio
from dataclasses import asdict
from typing import Any

import aiohttp
import pytest

from airflow_provider_spark_operator.follow.submission.stamp import TaskStamp
from airflow_provider_spark_operator.testing.applications import Application
from airflow_provider_spark_operator.triggers.spark_application import SparkApplicationTrigger
from tests.cluster import NAMESPACE, Cluster
from tests.task import start_trigger

TASKS = 10
LINE = "the last line"


@pytest.mark.parametrize("streams", ["200", "5"])
async def test_tasks_share_lists_of_pods_and_read_each_log_once(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, streams: str
) -> None:
    monkeypatch.setenv("AIRFLOW__SPARK_OPERATOR__DRIVER_LOG_STREAMS", streams)
    caplog.set_level("INFO")
    begun: list[Application] = []

    async def begin(application: Application) -> None:
        application.start(executors=2)
        begun.append(application)

    def end() -> None:
        for application in begun:
            application.log.write(LINE)
            application.succeed()

    cluster.script = begin
    tasks = []
    for number in range(TASKS):
        created = await asyncio.to_thread(cluster.create, f"pi-{number}")
        tasks.append(await start_trigger(build_trigger(created["metadata"]), "RunningHealthy"))
    requests = count_requests(monkeypatch)
    await asyncio.to_thread(cluster.do, end)
    events = await asyncio.gather(*tasks)
    assert [event.payload["outcome"] for event in events] == ["Succeeded"] * TASKS
    assert caplog.messages.count(f"driver | {LINE}") == TASKS
    logs = [path for path in requests if path.endswith("/log")]
    assert len(logs) <= TASKS + 1  # the stream of the last driver may have begun meanwhile
    assert len([path for path in requests if path.endswith("/pods")]) <= TASKS


def build_trigger(metadata: dict[str, Any]) -> SparkApplicationTrigger:
    """Return the trigger of the task of an application."""
    stamp = asdict(TaskStamp("dag", metadata["name"], "run", -1, 1, f"id-{metadata['name']}"))
    return SparkApplicationTrigger(
        NAMESPACE, metadata["name"], metadata["uid"], kubernetes_conn_id="spark", stamp=stamp, record=True
    )


def count_requests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which the path of each further request is added."""
    paths: list[str] = []
    original = aiohttp.ClientSession._request

    async def request(session: aiohttp.ClientSession, method: str, url: Any, **options: Any) -> Any:
        paths.append(str(url).partition("?")[0])
        return await original(session, method, url, **options)

    monkeypatch.setattr(aiohttp.ClientSession, "_request", request)
    return paths
