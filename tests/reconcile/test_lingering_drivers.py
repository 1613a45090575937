"""Drivers that are missing in the cache. The controller must not create a second driver."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.lifecycle.transitions import move, move_to_next_attempt
from airflow_provider_spark_operator.core.models.status import AttemptInfo
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.collection import ObjectList, WatchEvent
from airflow_provider_spark_operator.kube.resources import PODS, ResourceType
from airflow_provider_spark_operator.reconcile.objects.pod_selectors import build_pod_selector
from tests import builders
from tests.reconcile.harness import IMAGE, QUICK, Api, build_application, history_of, run_controller

State = ApplicationState
EVERY_POD = build_pod_selector(QUICK.decisions.operator_name)


class BlindClient:
    """A client whose watch of pods shows no pods, like a delayed watch. All other requests are answered."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self.beside: list[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def list(self, resource: ResourceType, namespace: str | None = None, **options: Any) -> ObjectList:
        listed = await self._client.list(resource, namespace, **options)
        return replace(listed, items=[]) if _is_of_the_watch(resource, options) else listed

    async def watch(
        self, resource: ResourceType, namespace: str | None = None, **options: Any
    ) -> AsyncGenerator[WatchEvent, None]:
        if _is_of_the_watch(resource, options):
            await asyncio.Event().wait()
        async for event in self._client.watch(resource, namespace, **options):
            yield event

    async def create(self, resource: ResourceType, document: JsonObject, namespace: str | None) -> JsonObject:
        if resource == PODS:
            there = await self._client.list(PODS, namespace)
            self.beside.append([pod["metadata"]["name"] for pod in there.items])
        return await self._client.create(resource, document, namespace)


def _is_of_the_watch(resource: ResourceType, options: dict[str, Any]) -> bool:
    return resource == PODS and options.get("label_selector") == EVERY_POD


async def wait_for_pod(api: Api, name: str) -> None:
    async def exists() -> bool:
        return await api.list_names(PODS) == [name]

    await api.wait_until_true(exists)


async def wait_for_attempt(api: Api, number: int) -> None:
    async def exists() -> bool:
        labels = [pod["metadata"]["labels"] for pod in await api.list_objects(PODS)]
        return [each["spark-app-selector"] for each in labels] == [f"pi-{number}"]

    await api.wait_until_true(exists)


@pytest.mark.parametrize(
    "edit",
    [{"spark.kubernetes.driver.pod.name": "another"}, {"spark.app.id": "another"}],
    ids=["pod name", "application id"],
)
async def test_uncached_driver_of_an_earlier_spec_is_replaced(api: Api, edit: dict[str, str]) -> None:
    async with run_controller(api):
        await api.submit(build_application())
        await api.wait_for_state(State.DRIVER_REQUESTED)
    # The same state as after a kill before the write of the status, and a later edit.
    await api.patch({"status": None}, subresource="status")
    await api.patch({"spec": {"sparkConf": edit}})
    blind = BlindClient(api.client)
    async with run_controller(api, blind):  # type: ignore[arg-type]
        await wait_for_pod(api, "another-driver" if "spark.app.id" in edit else "another")
    assert blind.beside == [[]]


@pytest.mark.parametrize(
    "conf", [IMAGE, {**IMAGE, "spark.kubernetes.driver.pod.name": "fixed"}], ids=["named", "fixed"]
)
async def test_uncached_driver_of_an_earlier_attempt_is_deleted_before_the_next_attempt(
    api: Api, conf: dict[str, str]
) -> None:
    async with run_controller(api):
        await api.submit(build_application(conf=conf, restart={"restartBackoffMillis": 0}))
        await api.wait_for_state(State.DRIVER_REQUESTED)
    # The same state as after the Apache operator missed the driver in its own cache.
    failed = builders.build_status(State.DRIVER_REQUESTED, State.FAILED)
    later = datetime.now(UTC) + timedelta(seconds=2)  # the times of pods have whole seconds
    again = move_to_next_attempt(failed, AttemptInfo(id=1, restart_counter=1), later, "", trim=True)
    await api.patch({"status": again.to_document()}, subresource="status")
    blind = BlindClient(api.client)
    async with run_controller(api, blind):  # type: ignore[arg-type]
        await wait_for_attempt(api, 1)
    assert blind.beside == [[]]


async def test_driver_with_a_fixed_name_and_an_earlier_attempt_label_is_current(api: Api) -> None:
    async with run_controller(api):
        await api.submit(build_application(conf={**IMAGE, "spark.kubernetes.driver.pod.name": "fixed"}))
        await api.wait_for_state(State.DRIVER_REQUESTED)
    # The Apache operator uses any pod with the name as the driver of the new attempt.
    later = datetime.now(UTC) + timedelta(seconds=2)  # the times of pods have whole seconds
    failed = builders.build_status(State.DRIVER_REQUESTED, State.FAILED)
    again = move_to_next_attempt(failed, AttemptInfo(id=1, restart_counter=1), later, "", trim=True)
    taken_over = move(again, State.DRIVER_REQUESTED, later, "")
    await api.patch({"status": taken_over.to_document()}, subresource="status")
    await api.set_pod("fixed", "ready")
    async with run_controller(api):
        await api.wait_for_state(State.RUNNING_HEALTHY)
        await api.set_pod("fixed", "succeeded")
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
        await api.wait_for_deleted_children()
    assert history_of(ended)[-2:] == ["Succeeded", "ResourceReleased"]


async def test_driver_created_after_the_release_is_deleted_and_reported(
    api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    async with run_controller(api):
        await api.submit(build_application())
        await api.wait_for_state(State.DRIVER_REQUESTED)
        (driver,) = await api.list_objects(PODS)
        async with api.play_drivers("succeeded"):
            released = await api.wait_for_state(State.RESOURCE_RELEASED)
            await api.wait_for_deleted_children()
        late = await api.recreate_pod(driver)
        assert late["metadata"]["uid"] != driver["metadata"]["uid"]
        await api.wait_for_deleted_children()
        await api.wait_for_events("UnexpectedDriver")
    known = await api.wait_for_state(State.RESOURCE_RELEASED)
    assert history_of(known) == history_of(released)
    assert any("pi-0-driver" in message for message in caplog.messages if message.startswith("UnexpectedDriver"))
