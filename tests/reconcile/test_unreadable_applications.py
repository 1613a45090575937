import logging
from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.core.verdict.verdict import judge_progress
from airflow_provider_spark_operator.kube.client import PatchType
from airflow_provider_spark_operator.kube.errors import Invalid
from airflow_provider_spark_operator.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, PODS
from airflow_provider_spark_operator.reconcile.serving.metrics import Metrics
from tests.reconcile.harness import (
    Api,
    FaultyClient,
    build_application,
    build_error,
    get_value,
    history_of,
    run_controller,
    state_of,
)

State = ApplicationState


async def test_invalid_application_does_not_stop_other_applications(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    unreadable = {"currentState": {"currentStateSummary": "Submitted", "lastTransitionTime": "yesterday"}}
    await api.submit(build_application("poison"))
    await api.patch({"status": unreadable}, "poison", subresource="status")
    async with run_controller(api), api.play_drivers("succeeded"):
        await api.submit(build_application())
        await api.wait_for_state(State.RESOURCE_RELEASED)
        await api.wait_for_events("InvalidResource")
        assert "invalid application: status.currentState" in caplog.text
        await api.delete("poison")
        await api.wait_until(lambda seen: seen is None, "poison")


UNKNOWN_MODE: dict[str, dict[str, Any]] = {"spec": {"deploymentMode": "EdgeMode"}}


async def install_newer_definitions(api: Api) -> None:
    """Change the CRD so that the API accepts a value that this controller does not know."""
    path = "/schema/openAPIV3Schema/properties/spec/properties/deploymentMode/enum/-"
    name = "sparkapplications.spark.apache.org"
    patch = [{"op": "add", "path": f"/spec/versions/{each}{path}", "value": "EdgeMode"} for each in range(3)]
    await api.client.patch(CUSTOM_RESOURCE_DEFINITIONS, name, None, patch, patch_type=PatchType.JSON)


async def wait_for_reconcile(api: Api, metrics: Metrics) -> None:
    """Wait until a reconcile is complete."""

    async def is_reconciled() -> bool:
        return get_value(metrics, "reconciles_total", kind="SparkApplication", result="done") is not None

    await api.wait_until_true(is_reconciled)


async def test_invalid_application_ends_with_the_problem(api: Api) -> None:
    await install_newer_definitions(api)
    async with run_controller(api):
        await api.submit(build_application(**UNKNOWN_MODE["spec"]))
        ended = await api.wait_for_state(State.RESOURCE_RELEASED)
    judged = judge_progress(read_progress(ended))
    assert history_of(ended) == ["Submitted", "SchedulingFailure", "ResourceReleased"]
    assert (judged.outcome, judged.retry_worthy) == ("Failed", False)
    assert "spec.deploymentMode: 'EdgeMode' is not supported" in judged.sentence
    assert await api.list_names(PODS) == []


async def test_invalid_edit_does_not_end_a_running_application(api: Api) -> None:
    await install_newer_definitions(api)
    async with run_controller(api):
        await api.submit(build_application())
        await api.wait_for_state(State.DRIVER_REQUESTED)
        await api.patch(UNKNOWN_MODE)
        await api.wait_for_events("InvalidResource")
        await api.patch({"spec": {"deploymentMode": "ClusterMode"}})
        await api.set_pod("pi-0-driver", "ready")
        running = await api.wait_for_state(State.RUNNING_HEALTHY)
    assert history_of(running)[-1] == State.RUNNING_HEALTHY


async def test_invalid_application_with_an_unrecorded_driver_is_not_ended(api: Api) -> None:
    await install_newer_definitions(api)
    await api.submit(build_application())
    async with run_controller(api):
        await api.wait_for_state(State.DRIVER_REQUESTED)
    # The same state as after a kill before the write of the status, and a later edit.
    await api.patch({"status": None}, subresource="status")
    await api.patch(UNKNOWN_MODE)
    metrics = Metrics()
    async with run_controller(api, metrics=metrics):
        await wait_for_reconcile(api, metrics)
        application = await api.wait_until(lambda seen: seen is not None)
        assert application is not None
        assert state_of(application) is None
        await api.patch({"spec": {"deploymentMode": "ClusterMode"}})
        again = await api.wait_for_state(State.DRIVER_REQUESTED)
    assert history_of(again) == ["Submitted", "DriverRequested"]


async def test_rejected_status_of_an_invalid_application_is_not_retried(
    api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    await install_newer_definitions(api)
    refusing = FaultyClient(api.client, ("patch",), 1, build_error(Invalid, 422), after=False, for_good=True)
    metrics = Metrics()
    await api.submit(build_application(**UNKNOWN_MODE["spec"]))
    async with run_controller(api, refusing, metrics=metrics):  # type: ignore[arg-type]
        await wait_for_reconcile(api, metrics)
    assert "could not write the status of the invalid" in caplog.text
    assert get_value(metrics, "reconciles_total", result="failed") is None
