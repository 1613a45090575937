"""Requests that the API rejects, because of permissions or content, do not block the end of an application."""

from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Forbidden
from airflow_provider_spark_operator.kube.resources import INGRESSES, PODS, SERVICE_ACCOUNTS, ResourceType
from airflow_provider_spark_operator.reconcile.attempts import attempt
from tests.reconcile.harness import IMAGE, Api, build_application, build_error, history_of, run_controller

State = ApplicationState
INGRESS = {
    "serviceMetadata": {"name": "ui"},
    "serviceSpec": {"ports": [{"port": 4040}]},
    "ingressMetadata": {"name": "ui"},
}


WITH_ACCOUNT = {**IMAGE, "spark.kubernetes.authenticate.driver.serviceAccountName": "late"}


class WithoutRights:
    """A client without permissions on one kind of object."""

    def __init__(self, client: KubeClient, withheld: ResourceType) -> None:
        self._client = client
        self._withheld = withheld

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._client, name)
        if name not in ("get", "create", "delete"):
            return real

        async def call(resource: ResourceType, *arguments: Any, **options: Any) -> Any:
            if resource == self._withheld:
                raise build_error(Forbidden, 403)
            return await real(resource, *arguments, **options)

        return call


async def test_missing_permission_fails_the_application_and_it_can_be_deleted(api: Api) -> None:
    client = WithoutRights(api.client, INGRESSES)
    async with run_controller(api, client):  # type: ignore[arg-type]
        await api.submit(build_application(driverServiceIngressList=[INGRESS]))
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
        await api.delete()
        await api.wait_for_deletion()
    assert history_of(ended) == ["Submitted", "SchedulingFailure", "ResourceReleased"]
    assert await api.list_names(PODS) == []


async def test_application_sent_before_its_service_account_starts_when_the_account_exists(
    api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with run_controller(api):
        await api.submit(build_application(conf=WITH_ACCOUNT))

        async def is_refused() -> bool:
            return 'serviceaccount "late" not found; retrying' in caplog.text

        await api.wait_until_true(is_refused)
        await api.client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "late"}}, api.namespace)
        started = await api.wait_for_state(State.DRIVER_REQUESTED, State.SCHEDULING_FAILURE)
    assert history_of(started) == ["Submitted", "DriverRequested"]


async def test_missing_service_account_of_an_older_application_is_a_scheduling_failure(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt, "_SERVICE_ACCOUNT_WAIT", timedelta(0))
    async with run_controller(api):
        await api.submit(build_application(conf=WITH_ACCOUNT))
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
    assert history_of(ended) == ["Submitted", "SchedulingFailure", "ResourceReleased"]
    assert 'serviceaccount "late" not found' in ended["status"]["stateTransitionHistory"]["1"]["message"]


@pytest.mark.parametrize(
    ("field", "metadata", "part"),
    [
        ("serviceMetadata", {"name": 5}, "name"),
        ("ingressMetadata", {"name": ["ui"]}, "name"),
        ("ingressMetadata", {"name": "ui", "namespace": 5}, "namespace"),
    ],
)
async def test_name_that_is_not_a_string_is_a_scheduling_failure(
    api: Api, field: str, metadata: dict[str, Any], part: str
) -> None:
    async with run_controller(api):
        await api.submit(build_application(driverServiceIngressList=[{**INGRESS, field: metadata}]))
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
    assert history_of(ended) == ["Submitted", "SchedulingFailure", "ResourceReleased"]
    message = ended["status"]["stateTransitionHistory"]["1"]["message"]
    assert f"spec.driverServiceIngressList[0].{field}.{part}" in message
    assert "must be a string" in message
