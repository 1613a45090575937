"""The status keeps the last lines of a failed driver's log after the pod is deleted."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.log.driver_log import split_lines
from airflow_provider_spark_operator.core.states.reasons import SCHEDULING_FAILED
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.core.verdict.verdict import FailureKind, judge_progress
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Forbidden, KubeError, LogUnavailable, NotFound
from airflow_provider_spark_operator.kube.resources import PODS
from airflow_provider_spark_operator.reconcile.reports import driver_log
from tests.reconcile.harness import Api, build_application, build_error, history_of, run_controller

State = ApplicationState
LOG = ("26/01/01 00:00:00 INFO SparkContext: running", "Traceback (most recent call last):", "ValueError: password=x7")
KEPT = ("Traceback (most recent call last):", "ValueError: password=(redacted)")


class Logging:
    """A client whose containers all have the same log. With None, the request for a log is never answered."""

    def __init__(self, client: KubeClient, lines: tuple[str, ...] | KubeError | None) -> None:
        self._client = client
        self._lines = lines
        self.read: list[dict[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def logs(self, namespace: str, pod: str, **options: Any) -> AsyncGenerator[str, None]:
        self.read.append({"pod": pod, **options})
        if self._lines is None:
            await asyncio.Event().wait()
        if isinstance(self._lines, KubeError):
            raise self._lines
        for line in self._lines or ():
            yield line


async def run_to_the_end(api: Api, client: Logging, ending: str = "failed") -> dict[str, Any]:
    async with run_controller(api, client), api.play_drivers(ending):  # type: ignore[arg-type]
        await api.submit(build_application())
        return await api.wait_for_state(State.RESOURCE_RELEASED)


async def test_status_keeps_the_last_lines_of_a_failed_driver(api: Api) -> None:
    client = Logging(api.client, LOG)
    ended = await run_to_the_end(api, client)
    assert await api.list_names(PODS) == []
    records = [record for record in ended["status"]["stateTransitionHistory"].values() if "log" in record["message"]]
    (failed,) = records
    assert failed["currentStateSummary"] == State.FAILED
    sentence, lines = split_lines(failed["message"])
    assert lines == KEPT
    assert "exit code 1" in sentence
    assert judge_progress(read_progress(ended)).sentence.count("\n") == 0
    (read,) = client.read
    assert (read["pod"], read["container"]) == ("pi-0-driver", "spark-kubernetes-driver")
    assert read["tail_lines"] <= 500
    assert read["limit_bytes"] <= 1024 * 1024


REJECTED = (
    "io.fabric8.kubernetes.client.KubernetesClientException: Failure executing: POST at: https://k/jobs/pods. Message: "
    'pods "pi-exec-1" is forbidden: exceeded quota: team, limited: requests.cpu=1. Received status: Status(code=403'
)
LIMIT = "26/01/01 00:00:09 ERROR ExecutorPodsLifecycleManager: Max number of executor failures (3) reached"


async def test_status_names_the_quota_that_ended_the_driver(api: Api) -> None:
    ended = await run_to_the_end(api, Logging(api.client, (REJECTED, LIMIT, *LOG)))
    verdict = judge_progress(read_progress(ended))
    assert (verdict.failure_kind, verdict.reason) == (FailureKind.SCHEDULING, SCHEDULING_FAILED)
    assert verdict.sentence.startswith("Failed: Spark could not create executors: exceeded quota: team, limited: req")
    assert "raise the ResourceQuota of the namespace" in verdict.sentence


async def test_rejected_executors_do_not_explain_an_error_of_the_program(api: Api) -> None:
    ended = await run_to_the_end(api, Logging(api.client, (REJECTED, *LOG)))
    assert judge_progress(read_progress(ended)).failure_kind is FailureKind.APPLICATION


PROBLEMS = [build_error(Forbidden, 403), build_error(NotFound, 404), build_error(LogUnavailable, 200), None]


@pytest.mark.parametrize("problem", PROBLEMS, ids=["403", "404", "node has no log", "no answer"])
async def test_failure_is_reported_without_lines_if_the_log_is_unreadable(
    api: Api, monkeypatch: pytest.MonkeyPatch, problem: KubeError | None
) -> None:
    monkeypatch.setattr(driver_log, "_SECONDS", 0.1)
    client = Logging(api.client, problem)
    ended = await run_to_the_end(api, client)
    assert history_of(ended)[-2:] == ["Failed", "ResourceReleased"]
    assert "Last lines" not in str(ended["status"])
    assert len(client.read) == 1


async def test_log_of_a_successful_driver_is_not_read(api: Api) -> None:
    client = Logging(api.client, LOG)
    await run_to_the_end(api, client, "succeeded")
    assert client.read == []
