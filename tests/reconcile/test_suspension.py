"""Suspension with a controller on the local API server, whose definition of the resource keeps reasons."""

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.core.dialects.apache import progress
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.core.verdict import Outcome, verdict
from tests.reconcile.stage import Stage, application, controlling, history_of, playing

State = ApplicationState


async def test_a_suspended_application_is_held_without_a_driver_and_goes_on_as_another_attempt(stage: Stage) -> None:
    async with controlling(stage.client, stage.namespace), playing(stage, "run", "succeeded"):
        await stage.submit(application())
        await stage.until_state(State.RUNNING_HEALTHY)
        await stage.patch({"spec": {"suspend": True}})
        held = await stage.until_state(State.SCHEDULED_TO_RESTART)
        await stage.until_no_child_is_left()
        await stage.patch({"spec": {"suspend": False}})
        ended = await stage.until_state(State.RESOURCE_RELEASED)
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
    assert verdict(progress(ended)).outcome is Outcome.SUCCEEDED
