"""The Events of an application that is held, suspended and resumed."""

from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.resources import EVENTS
from tests.reconcile.stage import Stage, build_application, play_drivers, run_controller

State = ApplicationState


async def wait_for_event(stage: Stage, reason: str) -> str:
    """Wait for an Event; return its type."""

    async def is_recorded() -> bool:
        return reason in await stage.list_event_reasons()

    await stage.wait_until_true(is_recorded)
    (found,) = [event for event in await stage.list_objects(EVENTS) if event["reason"] == reason]
    return str(found["type"])


async def test_held_application_gets_an_event_and_no_status(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace), play_drivers(stage, "run"):
        await stage.submit(build_application(suspend=True))
        assert await wait_for_event(stage, "SuspendHeld") == "Normal"
        assert await stage.list_event_reasons() == ["SuspendHeld"]
        await stage.patch({"spec": {"suspend": False}})
        started = await stage.wait_for_state(State.RUNNING_HEALTHY)
        assert await wait_for_event(stage, "DriverRequested") == "Normal"
    assert "Submitted" in [
        record["currentStateSummary"] for record in started["status"]["stateTransitionHistory"].values()
    ]
    assert "Submitted" not in await stage.list_event_reasons()


async def test_suspended_and_resumed_application_gets_events_of_both_states(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace), play_drivers(stage, "run", "run"):
        await stage.submit(build_application())
        await stage.wait_for_state(State.RUNNING_HEALTHY)
        await stage.patch({"spec": {"suspend": True}})
        assert await wait_for_event(stage, "Suspended") == "Normal"
        await stage.patch({"spec": {"suspend": False}})
        assert await wait_for_event(stage, "Submitted") == "Normal"


async def test_edit_of_a_running_application_gets_an_event(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace), play_drivers(stage, "run"):
        await stage.submit(build_application())
        await stage.wait_for_state(State.RUNNING_HEALTHY)
        await stage.patch({"spec": {"jars": "local:///other.jar"}})
        assert await wait_for_event(stage, "SpecChangeIgnored") == "Warning"
