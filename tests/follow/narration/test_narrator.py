"""The output of a narrator while the application runs."""

from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.dialects.dialect import read_progress as read_any_progress
from airflow_provider_spark_operator.core.dialects.progress import StateEntry
from airflow_provider_spark_operator.core.kubernetes.names import LABEL_ROLE
from airflow_provider_spark_operator.follow.access.pods import ExecutorCount
from airflow_provider_spark_operator.follow.access.reference import ApplicationReference
from airflow_provider_spark_operator.follow.narration.narrator import Narration, Narrator
from airflow_provider_spark_operator.follow.narration.obstacles import ATTENDED, BACKGROUND, Pauses
from tests.follow.applications import RUNNING, build_driver, build_stored
from tests.follow.recorder import Recorder
from tests.kube.scripted_api import answer_page, open_client_of, serve_api

REFERENCE = ApplicationReference("jobs", "pi", "u1")
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
BLOCKED = "executor pi-exec-1 is blocked: ErrImagePull: no such image (image registry/job:7)"
PAUSES = Pauses(driver=(0.001, 0.01), executors=(0.001, 0.01))


def build_executor(number: int, reason: str | None = None) -> dict[str, Any]:
    """Return an executor pod that is ready, or waits for a reason."""
    pod = build_driver(owner="p1")
    pod["metadata"] |= {"name": f"pi-exec-{number}", "uid": f"e{number}"}
    pod["metadata"]["labels"][LABEL_ROLE] = "executor"
    waiting = {"waiting": {"reason": reason, "message": "no such image"}}
    statuses = [{"name": "executor", "image": "registry/job:7", "state": waiting}]
    return pod | {"status": {"phase": "Pending", "containerStatuses": statuses} if reason else READY}


@pytest.mark.parametrize("conf", [{}, {"spark.dynamicAllocation.enabled": "true"}], ids=["fixed", "dynamic"])
async def test_executor_that_cannot_be_started_is_shown_once(conf: dict[str, str]) -> None:
    sink = Recorder()
    looks = [
        [],
        [build_executor(0), build_executor(1, "ContainerCreating")],
        [build_executor(0), build_executor(1, "ErrImagePull")],
        [build_executor(0), build_executor(1, "ErrImagePull")],
        [build_executor(0), build_executor(1)],
    ]
    resource = build_stored("pi", "u1", "5", *RUNNING)
    resource["spec"]["sparkConf"] = conf
    async with serve_api() as api, await open_client_of(api) as client:
        api.script(*[answer_page(build_driver(), *pods) for pods in looks])
        async with Narrator(client, REFERENCE, Narration(sink, pauses=PAUSES)) as narrator:
            await narrator.show(read_progress(resource), resource)
            lines = await sink.wait_for("2 of 2 executors ready")
    assert [line for line in lines if "blocked" in line] == [BLOCKED]


async def test_driver_that_cannot_be_started_is_shown_once() -> None:
    sink, blocked = Recorder(), build_driver(status=build_executor(0, "ErrImagePull")["status"])
    resource = build_stored("pi", "u1", "5", "Submitted", "DriverRequested")
    async with serve_api() as api, await open_client_of(api) as client:
        api.script(answer_page(blocked), answer_page(), answer_page(blocked), answer_page(build_driver(status=READY)))
        async with Narrator(client, REFERENCE, Narration(sink, pauses=PAUSES)) as narrator:
            await narrator.show(read_progress(resource), resource)
            await narrator.record_obstacle(read_progress(resource), resource)
            await narrator.record_obstacle(read_progress(resource), resource)
    name = blocked["metadata"]["name"]
    found = [line for line in sink.lines if "blocked" in line]
    assert found == [f"driver {name} is blocked: ErrImagePull: no such image (image registry/job:7)"]


@pytest.mark.parametrize("keeps_counting", [True, False])
async def test_executors_are_counted_after_all_were_ready_only_if_requested(keeps_counting: bool) -> None:
    sink, pauses = Recorder(), replace(PAUSES, keeps_counting=keeps_counting)
    resource = build_stored("pi", "u1", "5", *RUNNING)
    async with serve_api() as api, await open_client_of(api) as client:
        api.script(
            answer_page(build_driver(), build_executor(0), build_executor(1)),
            answer_page(build_driver(), *map(build_executor, range(3))),
        )
        async with Narrator(client, REFERENCE, Narration(sink, pauses=pauses)) as narrator:
            await narrator.show(read_progress(resource), resource)
            if keeps_counting:
                await sink.wait_for("3 of 3 executors ready")
    assert ("3 of 3 executors ready" in sink.lines) is keeps_counting


async def test_number_of_executors_is_shown_again_only_if_its_text_changes() -> None:
    sink = Recorder()
    resource = build_stored("pi", "u1", "5", *RUNNING)
    running = [build_executor(number) | {"status": {"phase": "Running"}} for number in range(2)]
    looks = [[], running, [*map(build_executor, range(2))]]
    async with serve_api() as api, await open_client_of(api) as client:
        api.script(*[answer_page(build_driver(), *pods) for pods in looks])
        async with Narrator(client, REFERENCE, Narration(sink, pauses=PAUSES)) as narrator:
            await narrator.show(read_progress(resource), resource)
            lines = await sink.wait_for("2 of 2 executors ready")
    assert [line for line in lines if "executors" in line] == [
        "RunningHealthy, 0 of 2 executors ready",
        "2 of 2 executors ready",
    ]


@pytest.mark.parametrize("is_lost", [False, True], ids=["gone in one count", "lost"])
async def test_fall_to_no_executor_is_shown_only_if_another_count_confirms_it(is_lost: bool) -> None:
    sink, resource = Recorder(), build_stored("pi", "u1", "5", *RUNNING)
    both, pauses = [build_executor(0), build_executor(1)], replace(PAUSES, keeps_counting=True)
    looks = [both, [], *([[]] if is_lost else []), [*both, build_executor(2)]]
    async with serve_api() as api, await open_client_of(api) as client:
        api.script(*[answer_page(build_driver(), *pods) for pods in looks])
        async with Narrator(client, REFERENCE, Narration(sink, pauses=pauses)) as narrator:
            await narrator.show(read_progress(resource), resource)
            await sink.wait_for("3 of 3 executors ready")
    assert ("0 of 2 executors ready" in sink.lines) is is_lost


def test_driver_pod_is_requested_often_only_while_a_user_watches() -> None:
    assert ATTENDED.keeps_counting
    assert not BACKGROUND.keeps_counting
    assert BACKGROUND.driver > ATTENDED.driver


async def test_state_is_shown_once_although_its_time_is_known_later() -> None:
    sink = Recorder()
    stored = build_stored("pi", "u1", "6", "Submitted", "DriverRequested", "Submitted")
    new = {key: value for key, value in stored.items() if key != "status"}
    async with serve_api() as api, await open_client_of(api) as client:
        api.script(*[answer_page()] * 10)
        async with Narrator(client, REFERENCE, Narration(sink, pauses=PAUSES)) as narrator:
            for resource in (new, new, stored, stored):
                await narrator.show(read_progress(resource), resource)
    assert sink.states == ["Submitted", "DriverRequested", "Submitted"]


async def test_message_of_a_state_is_not_repeated_by_the_next_state() -> None:
    messages: list[str | None] = []

    class Sink(Recorder):
        def show_state(self, entry: StateEntry, executors: ExecutorCount | None) -> None:
            messages.append(entry.message)

    async with (
        serve_api() as api,
        await open_client_of(api) as client,
        Narrator(client, REFERENCE, Narration(Sink(), pauses=PAUSES)) as narrator,
    ):
        for state, message in (("SUBMISSION_FAILED", "no quota"), ("FAILED", "no quota"), ("UNKNOWN", "no node")):
            resource = {
                "apiVersion": "sparkoperator.k8s.io/v1beta2",
                "metadata": {"name": "pi"},
                "status": {"applicationState": {"state": state, "errorMessage": message}},
            }
            await narrator.show(read_any_progress(resource), resource)
    assert messages == ["no quota", None, "no node"]
