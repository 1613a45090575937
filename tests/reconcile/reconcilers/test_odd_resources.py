"""Resources that the API server stores and that cannot run fail, and can be deleted."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.models.cluster import ClusterState
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import BadRequest, Invalid, ServerError, is_refusal, is_refused_content
from airflow_provider_spark_operator.kube.resources import (
    PODS,
    SPARK_APPLICATIONS,
    SPARK_CLUSTERS,
    STATEFUL_SETS,
    ResourceType,
)
from airflow_provider_spark_operator.reconcile.reconcilers import applications
from tests.reconcile.harness import Api, build_application, build_error, history_of, run_controller
from tests.reconcile.reconcilers.test_clusters import build_cluster, submit, wait_for_deletion, wait_for_state

State = ApplicationState
LONG_NAME = "n" * 64


class StrictSelectors:
    """A client that rejects selectors with an invalid label value, as Kubernetes does."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def list(self, resource: ResourceType, *arguments: Any, **options: Any) -> Any:
        selector = options.get("label_selector") or ""
        if any(len(term.partition("=")[2]) > 63 for term in selector.split(",")):
            raise build_error(BadRequest, 400)
        return await self._client.list(resource, *arguments, **options)


class RefusingStatus:
    """A client that rejects every status of an application, as an incompatible CRD does."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def patch(self, resource: ResourceType, *arguments: Any, **options: Any) -> Any:
        if resource == SPARK_APPLICATIONS and options.get("subresource") == "status":
            raise build_error(Invalid, 422)
        return await self._client.patch(resource, *arguments, **options)


def nest(levels: int) -> JsonObject:
    value: JsonObject = {}
    for _ in range(levels):
        value = {"a": value}
    return value


async def test_application_with_a_name_too_long_for_a_label_fails_and_can_be_deleted(api: Api) -> None:
    async with run_controller(api, StrictSelectors(api.client)):  # type: ignore[arg-type]
        await api.submit(build_application(LONG_NAME))
        ended = await api.wait_for_state(State.RESOURCE_RELEASED, name=LONG_NAME)
        await api.delete(LONG_NAME)
        await api.wait_until(lambda seen: seen is None, LONG_NAME)
    assert history_of(ended) == ["Submitted", "SchedulingFailure", "ResourceReleased"]
    message = ended["status"]["stateTransitionHistory"]["1"]["message"]
    assert message.startswith("metadata.name:")
    assert "use at most 63" in message
    assert await api.list_names(PODS) == []


async def test_invalid_application_with_a_long_name_fails_and_can_be_deleted(api: Api) -> None:
    async with run_controller(api, StrictSelectors(api.client)):  # type: ignore[arg-type]
        await api.submit(build_application(LONG_NAME, driverSpec={"podTemplateSpec": nest(120)}))
        ended = await api.wait_for_state(State.RESOURCE_RELEASED, name=LONG_NAME)
        await api.delete(LONG_NAME)
        await api.wait_until(lambda seen: seen is None, LONG_NAME)
    assert "nested more than 100 levels" in ended["status"]["stateTransitionHistory"]["1"]["message"]


async def test_resources_nested_too_deeply_fail_and_others_run(api: Api) -> None:
    async with run_controller(api), api.play_drivers("succeeded"):
        await api.submit(build_application("deep", driverSpec={"podTemplateSpec": nest(250)}))
        await submit(api, build_cluster(master={"serviceSpec": nest(250)}))
        await api.submit(build_application())
        await api.wait_for_state(State.RESOURCE_RELEASED)
        ended = await api.wait_for_state(State.RESOURCE_RELEASED, name="deep")
        await wait_for_state(api, ClusterState.RESOURCE_RELEASED)
    assert history_of(ended) == ["Submitted", "SchedulingFailure", "ResourceReleased"]


async def test_deleted_application_is_finalized_although_its_status_is_rejected(api: Api) -> None:
    await api.submit(build_application())
    async with run_controller(api):
        await api.wait_for_state(State.DRIVER_REQUESTED)
    await api.delete()
    async with run_controller(api, RefusingStatus(api.client)):  # type: ignore[arg-type]
        await api.wait_for_deletion()


async def test_deleted_application_is_finalized_after_a_defect_of_the_controller(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RecursionError("unexpected")

    await api.submit(build_application())
    async with run_controller(api):
        await api.wait_for_state(State.DRIVER_REQUESTED)
        monkeypatch.setattr(applications, "decide", fail)
        await api.delete()
        await api.wait_for_deletion()


async def test_cluster_with_two_billion_workers_fails_without_a_stateful_set(api: Api) -> None:
    async with run_controller(api):
        await submit(api, build_cluster(init=2_000_000_000, maximum=2_000_000_000))
        failed = await wait_for_state(api, ClusterState.RESOURCE_RELEASED)
        await api.client.delete(SPARK_CLUSTERS, "cl", api.namespace)
        await wait_for_deletion(api)
    assert "initWorkers: is 2000000000: use at most 10000" in failed["status"]["currentState"]["message"]
    assert await api.list_names(STATEFUL_SETS) == []


@pytest.mark.parametrize(
    "message",
    [
        "failed to create typed patch object (jobs/cl-master; apps/v1, Kind=StatefulSet): .spec.x: field not declared",
        "etcdserver: request is too large",
        "rpc error: trying to send message larger than max (3145728 vs. 2097152)",
    ],
)
def test_rejected_content_with_status_500_is_a_refusal(message: str) -> None:
    error = ServerError(500, "InternalError", message)
    assert is_refusal(error)
    assert is_refused_content(error)
    assert not is_refusal(ServerError(500, "InternalError", "etcdserver: leader changed"))
