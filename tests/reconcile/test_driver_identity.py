"""Drivers whose labels, owners or pods others have changed: none is doubled, lost, or taken for another."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.collection import WatchEvent
from airflow_provider_spark_operator.kube.errors import NotFound
from airflow_provider_spark_operator.kube.resources import CONFIG_MAPS, PODS, SPARK_APPLICATIONS, ResourceType
from tests import builders
from tests.reconcile.harness import Api, build_application, history_of, run_controller, state_of

State = ApplicationState
RESTARTS: JsonObject = {"restartPolicy": "OnFailure", "maxRestartAttempts": 1, "restartBackoffMillis": 1}
LABELS = pytest.mark.parametrize(
    "key", ["spark-role", "spark.operator/name", "spark.operator/spark-app-name", "spark-app-selector"]
)


async def start(api: Api, restart: JsonObject = RESTARTS) -> JsonObject:
    """Submit an application and start its driver; return the driver when the application is running."""
    await api.submit(build_application(restart=restart))
    await api.wait_for_state(State.DRIVER_REQUESTED)
    await api.set_pod("pi-0-driver", "ready")
    await api.wait_for_state(State.RUNNING_HEALTHY)
    return await api.client.get(PODS, "pi-0-driver", api.namespace)


async def patch_driver(api: Api, metadata: JsonObject) -> None:
    await api.client.patch(PODS, "pi-0-driver", api.namespace, {"metadata": metadata})


async def exists(api: Api, name: str) -> bool:
    try:
        await api.client.get(PODS, name, api.namespace)
    except NotFound:
        return False
    return True


def build_copy(pod: JsonObject, name: str, **metadata: Any) -> JsonObject:
    """Return a new pod with the labels and owners of another pod."""
    kept = {key: pod["metadata"][key] for key in ("labels", "ownerReferences")}
    return {**pod, "metadata": {**kept, "name": name, **metadata}, "status": {}}


@LABELS
async def test_driver_with_changed_label_is_followed_to_its_end(api: Api, key: str) -> None:
    async with run_controller(api):
        await start(api)
        await patch_driver(api, {"labels": {key: "changed"}})
        await api.set_pod("pi-0-driver", "succeeded")
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
        await api.wait_for_deleted_children()
    assert history_of(ended)[-3:] == ["RunningHealthy", "Succeeded", "ResourceReleased"]


@LABELS
async def test_suspended_application_with_changed_label_resumes_after_its_driver_is_deleted(api: Api, key: str) -> None:
    async with run_controller(api):
        driver = await start(api)
        await patch_driver(api, {"labels": {key: "changed"}, "finalizers": ["test.example/hold"]})
        await api.patch({"spec": {"suspend": True}})
        await api.wait_for_state(State.SUSPENDED)
        await api.patch({"spec": {"suspend": False}})

        async def is_being_deleted() -> bool:
            pod = await api.client.get(PODS, "pi-0-driver", api.namespace)
            return "deletionTimestamp" in pod["metadata"]

        await api.wait_until_true(is_being_deleted)
        known = await api.client.get(SPARK_APPLICATIONS, "pi", api.namespace)
        assert state_of(known) == State.SUSPENDED
        await patch_driver(api, {"finalizers": None})
        again = await api.wait_for_state(State.DRIVER_REQUESTED)
    assert history_of(again)[-3:] == ["Suspended", "Submitted", "DriverRequested"]
    (later,) = await api.list_objects(PODS)
    assert later["metadata"]["uid"] != driver["metadata"]["uid"]


@pytest.mark.parametrize("restarts_controller", [False, True], ids=["watched", "after a restart"])
async def test_driver_with_changed_label_and_edited_name_is_released(api: Api, restarts_controller: bool) -> None:
    async with run_controller(api):
        await start(api)
        key = "spark-role" if restarts_controller else "spark.operator/name"
        await patch_driver(api, {"labels": {key: "changed"}})
        await api.patch({"spec": {"sparkConf": {"spark.kubernetes.driver.pod.name": "another"}}})
        if not restarts_controller:
            await api.set_pod("pi-0-driver", "succeeded")
            await api.wait_for_state(State.RESOURCE_RELEASED)
    if restarts_controller:
        async with run_controller(api):
            await api.set_pod("pi-0-driver", "succeeded")
            await api.wait_for_state(State.RESOURCE_RELEASED)
    await api.wait_for_deleted_children()


class SkippingClient:
    """A client whose watch of pods shows no changes, only deletions, as a controller sees them that was paused."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self.skips = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def watch(
        self, resource: ResourceType, namespace: str | None = None, **options: Any
    ) -> AsyncGenerator[WatchEvent, None]:
        async for event in self._client.watch(resource, namespace, **options):
            if not (self.skips and resource == PODS and event.type == "MODIFIED"):
                yield event


@pytest.mark.parametrize(
    ("status", "state", "words"),
    [
        (builders.build_driver_pod("succeeded")["status"], State.SUCCEEDED, "exit code 0"),
        (builders.build_driver_pod("killed")["status"], State.FAILED, "exit code 137"),
        ({"phase": "Failed", "reason": "Evicted", "message": "no disk"}, State.DRIVER_EVICTED, "no disk"),
    ],
    ids=["succeeded", "failed", "evicted"],
)
async def test_end_that_only_the_deletion_of_the_driver_shows_is_recorded(
    api: Api, status: JsonObject, state: ApplicationState, words: str
) -> None:
    skipping = SkippingClient(api.client)
    async with run_controller(api, skipping):  # type: ignore[arg-type]
        await start(api, restart={"restartPolicy": "Never"})
        skipping.skips = True
        await api.client.patch(PODS, "pi-0-driver", api.namespace, {"status": status}, subresource="status")
        await api.client.delete(PODS, "pi-0-driver", api.namespace, grace_seconds=0)
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
    assert history_of(ended)[-2:] == [state, State.RESOURCE_RELEASED]
    assert any(words in record["message"] for record in ended["status"]["stateTransitionHistory"].values())


async def test_driver_without_owner_is_released_with_its_application(api: Api) -> None:
    async with run_controller(api):
        await start(api)
        await patch_driver(api, {"ownerReferences": None})  # as `kubectl delete --cascade=orphan` does
        await api.delete()
        await api.wait_for_deletion()
        await api.wait_for_deleted_children()


@pytest.mark.parametrize("is_owned", [False, True], ids=["no owner", "another owner"])
async def test_foreign_pod_with_the_name_of_the_driver_is_reported_and_left_alone(api: Api, is_owned: bool) -> None:
    settings = await api.client.create(CONFIG_MAPS, {"metadata": {"name": "settings"}}, api.namespace)
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "settings", "uid": settings["metadata"]["uid"]}
    labels = {"spark.operator/name": builders.OPERATOR_NAME, "spark.operator/spark-app-name": "pi"}
    metadata = {"name": "pi-0-driver", "labels": labels, "ownerReferences": [owner] if is_owned else []}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    foreign = await api.client.create(PODS, {"metadata": metadata, "spec": spec}, api.namespace)
    async with run_controller(api):
        await api.submit(build_application())
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
    assert history_of(ended)[-2:] == ["SchedulingFailure", "ResourceReleased"]
    messages = [record["message"] for record in ended["status"]["stateTransitionHistory"].values()]
    assert any("pi-0-driver exists and does not belong to this application" in message for message in messages)
    assert "Pod pi-0-driver has the driver's name" in messages[-1]
    (pod,) = await api.list_objects(PODS)
    assert pod["metadata"]["uid"] == foreign["metadata"]["uid"]


async def test_copy_of_the_driver_neither_replaces_it_nor_is_deleted(api: Api) -> None:
    async with run_controller(api):
        driver = await start(api)
        await api.client.create(PODS, build_copy(driver, "copy"), api.namespace)
        await api.set_pod("copy", "failed")
        await api.set_pod("pi-0-driver", "succeeded")
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
    assert history_of(ended)[-2:] == ["Succeeded", "ResourceReleased"]
    assert (await exists(api, "copy"), await exists(api, "pi-0-driver")) == (True, False)


async def test_copy_does_not_hide_the_loss_of_the_driver(api: Api) -> None:
    async with run_controller(api):
        driver = await start(api)
        await api.client.create(PODS, build_copy(driver, "copy"), api.namespace)
        await api.set_pod("copy", "ready")
        await api.client.delete(PODS, "pi-0-driver", api.namespace, grace_seconds=0)
        await api.wait_for_state(State.FAILED, State.SCHEDULED_TO_RESTART, State.DRIVER_REQUESTED)
        await api.wait_until_true(lambda: exists(api, "pi-1-driver"))
