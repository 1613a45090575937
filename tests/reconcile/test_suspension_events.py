"""The Events of an application that is held, suspended and resumed."""

from airflow_provider_spark_operator.core.states.states import ApplicationState
from tests.reconcile.harness import Api, build_application, run_controller

State = ApplicationState


async def test_held_application_gets_an_event_and_no_status(api: Api) -> None:
    async with run_controller(api), api.play_drivers("run"):
        await api.submit(build_application(suspend=True))
        assert [event["type"] for event in await api.wait_for_events("SuspendHeld")] == ["Normal"]
        assert await api.list_event_reasons() == ["SuspendHeld"]
        await api.patch({"spec": {"suspend": False}})
        started = await api.wait_for_state(State.RUNNING_HEALTHY)
        assert [event["type"] for event in await api.wait_for_events("RunningHealthy")] == ["Normal"]
    assert "Submitted" in [
        record["currentStateSummary"] for record in started["status"]["stateTransitionHistory"].values()
    ]
    assert "Submitted" not in await api.list_event_reasons()


async def test_suspended_and_resumed_application_gets_events_of_both_states(api: Api) -> None:
    async with run_controller(api), api.play_drivers("run", "run"):
        await api.submit(build_application())
        await api.wait_for_state(State.RUNNING_HEALTHY)
        await api.patch({"spec": {"suspend": True}})
        assert [event["type"] for event in await api.wait_for_events("Suspended")] == ["Normal"]
        await api.patch({"spec": {"suspend": False}})
        assert [event["type"] for event in await api.wait_for_events("Submitted")] == ["Normal"]


async def test_edit_of_a_running_application_gets_an_event(api: Api) -> None:
    async with run_controller(api), api.play_drivers("run"):
        await api.submit(build_application())
        await api.wait_for_state(State.RUNNING_HEALTHY)
        await api.patch({"spec": {"jars": "local:///other.jar"}})
        assert [event["type"] for event in await api.wait_for_events("SpecChangeIgnored")] == ["Warning"]
