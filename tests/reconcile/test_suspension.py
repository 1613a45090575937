"""Suspension where the cluster's definition does not contain the state `Suspended`."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, PODS
from tests.local_api import NAMESPACE
from tests.reconcile.harness import Api, build_application, run_controller

State = ApplicationState


def without_suspended(schema: Any) -> Any:
    """Return a part of a definition without the state."""
    if isinstance(schema, dict):
        return {key: without_suspended(value) for key, value in schema.items()}
    return [without_suspended(each) for each in schema if each != "Suspended"] if isinstance(schema, list) else schema


@pytest.fixture
async def outdated_api(kubeconfig: JsonObject) -> AsyncIterator[Api]:
    """A api whose definitions do not contain the state."""
    async with await open_client(ClusterAccess(kubeconfig_document=kubeconfig)) as client:
        for definition in build_custom_resource_definitions():
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, without_suspended(definition), None)
        await client.create(
            NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, None
        )
        yield Api(client, NAMESPACE)


async def test_rejected_status_of_suspension_keeps_the_driver(outdated_api: Api) -> None:
    api = outdated_api
    async with run_controller(api), api.play_drivers("run"):
        await api.submit(build_application())
        await api.wait_for_state(State.RUNNING_HEALTHY)
        await api.patch({"spec": {"suspend": True}})
        await api.wait_for_events(reasons.STATUS_UPDATE_FAILED)
        driver = await api.client.get(PODS, "pi-0-driver", api.namespace)
        assert "deletionTimestamp" not in driver["metadata"]
        await api.patch({"spec": {"suspend": False}})
        await api.set_pod("pi-0-driver", "succeeded")
        await api.wait_for_state(State.RESOURCE_RELEASED)
    assert list(api.drivers) == ["pi-0-driver"]
