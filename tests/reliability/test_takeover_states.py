"""Takeover from the Apache operator, and back to it, in each state in which an application can be for long."""

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.ownership import APACHE
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.resources import PODS
from tests.reconcile.ownership.test_claims import OURS, TAKE_OVER, list_messages, run_rival
from tests.reconcile.stage import Stage, build_application
from tests.reliability.scene import Scene

from control_plane import build_kubeconfig

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

State = ApplicationState
RESTART = {"restartPolicy": "OnFailure", "maxRestartAttempts": 1, "restartBackoffMillis": 2000}
RETAIN = {"resourceRetainPolicy": "Always", "resourceRetainDurationMillis": 2500}
# For each state: the parts of the application, the life of its driver, what happens then, and the number of drivers.
CASES: dict[str, tuple[JsonObject, list[str], JsonObject, int]] = {
    "finalizer": ({"suspend": True}, [], {"spec": {"suspend": False}}, 1),
    State.DRIVER_REQUESTED: ({}, [], {}, 1),
    State.DRIVER_STARTED: ({}, ["started"], {}, 1),
    State.RUNNING_HEALTHY: ({}, ["ready"], {}, 1),
    State.SCHEDULED_TO_RESTART: ({"restart": RESTART}, ["ready", "failed"], {}, 2),
    State.FAILED: ({}, ["ready", "failed"], {}, 1),
    State.TERMINATED_WITHOUT_RELEASE_RESOURCES: ({"tolerations": RETAIN}, ["ready", "succeeded"], {}, 1),
    State.SUSPENDED: ({}, ["ready"], {"spec": {"suspend": False}}, 2),
}


@pytest.mark.parametrize("is_return", [False, True], ids=["from the Apache operator", "back to it"])
@pytest.mark.parametrize("state", CASES)
async def test_application_completes_with_one_driver_after_takeover(scene: Scene, state: str, is_return: bool) -> None:
    stage = Stage(scene.client, scene.namespace)
    server = build_kubeconfig(scene.plane.server)
    ours = run_rival(server, stage, OURS, TAKE_OVER)
    theirs = run_rival(server, stage, None, manager=APACHE)
    parts, stories, change, drivers = CASES[state]
    async with ours if is_return else theirs:
        await stage.submit(build_application(**parts))
        await reach(stage, state, stories)
    async with theirs if is_return else ours:
        if change:
            await stage.patch(change)
        last = f"pi-{drivers - 1}-driver"
        if not (drivers == 1 and "ready" in stories[:-1]):
            await stage.wait_until_true(lambda: has_pod(stage, last))
            await stage.set_pod(last, "ready")
            await stage.wait_for_state(State.RUNNING_HEALTHY)
            await stage.set_pod(last, "succeeded")
        elif state == State.FAILED:
            await stage.client.patch(PODS, last, stage.namespace, {"metadata": {"finalizers": None}})
        released = await stage.wait_for_state(State.RESOURCE_RELEASED)
    assert released["status"]["currentAttemptSummary"]["attemptInfo"]["id"] == drivers - 1
    assert await list_messages(stage, "UnexpectedDriver") == []
    assert await list_messages(stage, "DrivenByAnother") == []


async def has_pod(stage: Stage, name: str) -> bool:
    """Return whether a pod exists."""
    return name in await stage.list_names(PODS)


async def reach(stage: Stage, state: str, stories: list[str]) -> None:
    """Play the driver until the application is in the state."""
    if state == "finalizer":
        await stage.wait_until(lambda seen: seen is not None and bool(seen["metadata"].get("finalizers")))
        return
    await stage.wait_for_state(State.DRIVER_REQUESTED)
    for story in stories:
        if (story == "ready" and len(stories) > 1) or state == State.SUSPENDED:
            await stage.set_pod("pi-0-driver", "ready")
            await stage.wait_for_state(State.RUNNING_HEALTHY)
            continue
        if state == State.FAILED:
            held = {"metadata": {"finalizers": ["test/held"]}}
            await stage.client.patch(PODS, "pi-0-driver", stage.namespace, held)
        await stage.set_pod("pi-0-driver", story)
    if state == State.SUSPENDED:
        await stage.patch({"spec": {"suspend": True}})
    await stage.wait_for_state(ApplicationState(state))
