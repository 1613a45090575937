"""Suspension with a controller on the local API server, whose CRD keeps the reasons of states."""

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.core.dialects.apache import read_progress
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.core.verdict import Outcome, judge_progress
from tests.reconcile.stage import Stage, build_application, history_of, play_drivers, run_controller

State = ApplicationState


async def test_suspended_application_has_no_driver_and_resumes_as_another_attempt(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace), play_drivers(stage, "run", "succeeded"):
        await stage.submit(build_application())
        await stage.wait_for_state(State.RUNNING_HEALTHY)
        await stage.patch({"spec": {"suspend": True}})
        held = await stage.wait_for_state(State.SCHEDULED_TO_RESTART)
        await stage.wait_for_deleted_children()
        await stage.patch({"spec": {"suspend": False}})
        ended = await stage.wait_for_state(State.RESOURCE_RELEASED)
    assert held["status"]["currentState"]["reason"] == reasons.SUSPENDED
    assert history_of(ended)[-6:] == [
        "DriverRequested",
        "DriverStarted",
        "DriverReady",
        "RunningHealthy",
        "Succeeded",
        "ResourceReleased",
    ]
    assert stage.drivers.keys() == {"pi-0-driver", "pi-1-driver"}
    assert judge_progress(read_progress(ended)).outcome is Outcome.SUCCEEDED
