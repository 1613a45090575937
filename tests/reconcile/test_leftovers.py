"""Objects of deleted drivers that garbage collection has not deleted yet. Later drivers must not use them."""

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import LABEL_APPLICATION_NAME, LABEL_OPERATOR_NAME
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Forbidden
from airflow_provider_spark_operator.kube.resources import CONFIG_MAPS, PODS
from tests.reconcile.harness import QUICK, Api, FaultyClient, build_application, build_error, run_controller

State = ApplicationState
FIRST, SECOND = "pi-0-spark-drv-conf-map", "pi-1-spark-drv-conf-map"
LABELS = {LABEL_OPERATOR_NAME: QUICK.decisions.operator_name, LABEL_APPLICATION_NAME: "pi"}


async def create_leftover(client: KubeClient, namespace: str, name: str, **metadata: object) -> None:
    """Create a config map that garbage collection has not deleted yet."""
    document = {"metadata": {"name": name, **metadata}, "data": {"spark.properties": "spark.of=another"}}
    await client.create(CONFIG_MAPS, document, namespace)


async def run_to_the_end(api: Api) -> None:
    """Run an application until it has completed."""
    async with api.play_drivers("succeeded"):
        await api.submit(build_application())
        await api.wait_for_state(State.RESOURCE_RELEASED)
        await api.wait_for_deleted_children()


async def test_leftover_config_map_is_deleted_before_the_application(api: Api) -> None:
    async with run_controller(api):
        await run_to_the_end(api)
        await create_leftover(api.client, api.namespace, FIRST, labels=LABELS)
        await api.delete()
        await api.wait_for_deletion()
        assert await api.list_names(CONFIG_MAPS) == []


async def test_application_stays_until_its_leftover_config_map_is_deleted(
    api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with run_controller(api):
        await run_to_the_end(api)
        await create_leftover(api.client, api.namespace, FIRST, labels=LABELS, finalizers=["test/held"])
        await api.delete()

        async def is_waiting() -> bool:
            return "is still being deleted" in caplog.text

        await api.wait_until_true(is_waiting)
        assert await api.wait_until(lambda seen: seen is not None)
        await api.client.patch(CONFIG_MAPS, FIRST, api.namespace, {"metadata": {"finalizers": None}})
        await api.wait_for_deletion()


async def test_config_map_without_the_labels_of_the_application_stays(api: Api) -> None:
    async with run_controller(api):
        await run_to_the_end(api)
        await create_leftover(api.client, api.namespace, FIRST)
        await api.delete()
        await api.wait_for_deletion()
        assert await api.list_names(CONFIG_MAPS) == [FIRST]


async def test_missing_permission_does_not_block_the_deletion(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    refused = FaultyClient(api.client, ("get",), 1, build_error(Forbidden, 403), after=False, for_good=False)
    async with run_controller(api):
        await run_to_the_end(api)
    async with run_controller(api, refused):  # type: ignore[arg-type]
        await api.delete()
        await api.wait_for_deletion()
    assert refused.has_struck
    assert f"could not check or delete ConfigMap {api.namespace}/{FIRST}: " in caplog.text


async def test_attempt_waits_until_objects_of_the_same_names_are_deleted(
    api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    """The leftover is from a deleted driver with an application id that the user has set."""
    caplog.set_level("INFO")
    restart = {"restartPolicy": "Always", "maxRestartAttempts": 1, "restartBackoffMillis": 1}
    await create_leftover(
        api.client, api.namespace, SECOND, labels=LABELS, ownerReferences=[await create_other_owner(api)]
    )
    async with run_controller(api), api.play_drivers("failed", "run"):
        await api.submit(build_application(restart=restart))

        async def is_waiting() -> bool:
            return f"ConfigMap {api.namespace}/{SECOND} of an earlier attempt is still being deleted" in caplog.text

        await api.wait_until_true(is_waiting)
        assert await api.list_names(PODS) == []
        await api.client.delete(CONFIG_MAPS, SECOND, api.namespace)
        await api.wait_for_state(State.RUNNING_HEALTHY)
    assert list(api.drivers) == ["pi-0-driver", "pi-1-driver"]


async def create_other_owner(api: Api) -> JsonObject:
    """Create another owner; return the reference to it."""
    document = {"metadata": {"name": "anybody"}, "data": {}}
    created = await api.client.create(CONFIG_MAPS, document, api.namespace)
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": "anybody", "uid": created["metadata"]["uid"]}
