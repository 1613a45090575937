import logging
from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.core.verdict.verdict import judge_progress
from airflow_provider_spark_operator.kube.client import PatchType
from airflow_provider_spark_operator.kube.errors import Invalid
from airflow_provider_spark_operator.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    PODS,
)
from airflow_provider_spark_operator.reconcile.serving.metrics import Metrics
from tests.reconcile.stage import (
    FaultyClient,
    Stage,
    build_application,
    build_error,
    get_value,
    history_of,
    play_drivers,
    run_controller,
    state_of,
)

State = ApplicationState


async def test_invalid_application_does_not_stop_other_applications(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    unreadable = {"currentState": {"currentStateSummary": "Submitted", "lastTransitionTime": "yesterday"}}
    await stage.submit(build_application("poison"))
    await stage.patch({"status": unreadable}, "poison", subresource="status")
    async with run_controller(stage.client, stage.namespace), play_drivers(stage, "succeeded"):
        await stage.submit(build_application())
        await stage.wait_for_state(State.RESOURCE_RELEASED)

        async def is_recorded() -> bool:
            return "InvalidResource" in await stage.list_event_reasons()

        await stage.wait_until_true(is_recorded)
        assert "invalid application: status.currentState" in caplog.text
        await stage.delete("poison")
        await stage.wait_until(lambda seen: seen is None, "poison")


UNKNOWN_MODE: dict[str, dict[str, Any]] = {"spec": {"deploymentMode": "EdgeMode"}}


async def install_newer_definitions(stage: Stage) -> None:
    """Change the CRD so that the API accepts a value that this controller does not know."""
    path = "/schema/openAPIV3Schema/properties/spec/properties/deploymentMode/enum/-"
    name = "sparkapplications.spark.apache.org"
    patch = [{"op": "add", "path": f"/spec/versions/{each}{path}", "value": "EdgeMode"} for each in range(3)]
    await stage.client.patch(CUSTOM_RESOURCE_DEFINITIONS, name, None, patch, patch_type=PatchType.JSON)


async def wait_for_reconcile(stage: Stage, metrics: Metrics) -> None:
    """Wait until a reconcile is complete."""

    async def is_reconciled() -> bool:
        return get_value(metrics, "reconciles_total", kind="SparkApplication", result="done") is not None

    await stage.wait_until_true(is_reconciled)


async def test_invalid_application_ends_with_the_problem(stage: Stage) -> None:
    await install_newer_definitions(stage)
    async with run_controller(stage.client, stage.namespace):
        await stage.submit(build_application(**UNKNOWN_MODE["spec"]))
        ended = await stage.wait_for_state(State.RESOURCE_RELEASED)
    judged = judge_progress(read_progress(ended))
    assert history_of(ended) == ["Submitted", "SchedulingFailure", "ResourceReleased"]
    assert (judged.outcome, judged.retry_worthy) == ("Failed", False)
    assert "spec.deploymentMode: 'EdgeMode' is not supported" in judged.sentence
    assert await stage.list_names(PODS) == []


async def test_invalid_edit_does_not_end_a_running_application(stage: Stage) -> None:
    await install_newer_definitions(stage)
    async with run_controller(stage.client, stage.namespace):
        await stage.submit(build_application())
        await stage.wait_for_state(State.DRIVER_REQUESTED)
        await stage.patch(UNKNOWN_MODE)

        async def is_recorded() -> bool:
            return "InvalidResource" in await stage.list_event_reasons()

        await stage.wait_until_true(is_recorded)
        await stage.patch({"spec": {"deploymentMode": "ClusterMode"}})
        await stage.set_pod("pi-0-driver", "ready")
        running = await stage.wait_for_state(State.RUNNING_HEALTHY)
    assert history_of(running)[-1] == State.RUNNING_HEALTHY


async def test_invalid_application_with_an_unrecorded_driver_is_not_ended(stage: Stage) -> None:
    await install_newer_definitions(stage)
    await stage.submit(build_application())
    async with run_controller(stage.client, stage.namespace):
        await stage.wait_for_state(State.DRIVER_REQUESTED)
    # The same state as after a kill before the write of the status, and a later edit.
    await stage.patch({"status": None}, subresource="status")
    await stage.patch(UNKNOWN_MODE)
    metrics = Metrics()
    async with run_controller(stage.client, stage.namespace, metrics=metrics):
        await wait_for_reconcile(stage, metrics)
        application = await stage.wait_until(lambda seen: seen is not None)
        assert application is not None
        assert state_of(application) is None
        await stage.patch({"spec": {"deploymentMode": "ClusterMode"}})
        again = await stage.wait_for_state(State.DRIVER_REQUESTED)
    assert history_of(again) == ["Submitted", "DriverRequested"]


async def test_rejected_status_of_an_invalid_application_is_not_retried(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    await install_newer_definitions(stage)
    refusing = FaultyClient(stage.client, ("patch",), 1, build_error(Invalid, 422), after=False, for_good=True)
    metrics = Metrics()
    await stage.submit(build_application(**UNKNOWN_MODE["spec"]))
    async with run_controller(refusing, stage.namespace, metrics=metrics):  # type: ignore[arg-type]
        await wait_for_reconcile(stage, metrics)
    assert "could not write the status of the invalid" in caplog.text
    assert get_value(metrics, "reconciles_total", result="failed") is None
