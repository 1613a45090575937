"""Takeover from the Apache operator, and back to it, in each state in which an application can be for long."""

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.ownership import APACHE
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.resources import PODS
from tests.reconcile.harness import Api, build_application
from tests.reconcile.ownership.test_claims import OURS, TAKE_OVER, list_messages, run_rival
from tests.reliability.harness import Harness

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
async def test_application_completes_with_one_driver_after_takeover(
    harness: Harness, state: str, is_return: bool
) -> None:
    api = Api(harness.client, harness.namespace)
    server = build_kubeconfig(harness.plane.server)
    ours = run_rival(server, api, OURS, TAKE_OVER)
    theirs = run_rival(server, api, None, manager=APACHE)
    parts, stories, change, drivers = CASES[state]
    async with ours if is_return else theirs:
        await api.submit(build_application(**parts))
        await reach(api, state, stories)
    async with theirs if is_return else ours:
        if change:
            await api.patch(change)
        last = f"pi-{drivers - 1}-driver"
        if not (drivers == 1 and "ready" in stories[:-1]):
            await api.wait_until_true(lambda: has_pod(api, last))
            await api.set_pod(last, "ready")
            await api.wait_for_state(State.RUNNING_HEALTHY)
            await api.set_pod(last, "succeeded")
        elif state == State.FAILED:
            await api.client.patch(PODS, last, api.namespace, {"metadata": {"finalizers": None}})
        released = await api.wait_for_state(State.RESOURCE_RELEASED)
    assert released["status"]["currentAttemptSummary"]["attemptInfo"]["id"] == drivers - 1
    assert await list_messages(api, "UnexpectedDriver") == []
    assert await list_messages(api, "DrivenByAnother") == []


async def has_pod(api: Api, name: str) -> bool:
    """Return whether a pod exists."""
    return name in await api.list_names(PODS)


async def reach(api: Api, state: str, stories: list[str]) -> None:
    """Play the driver until the application is in the state."""
    if state == "finalizer":
        await api.wait_until(lambda seen: seen is not None and bool(seen["metadata"].get("finalizers")))
        return
    await api.wait_for_state(State.DRIVER_REQUESTED)
    for story in stories:
        if (story == "ready" and len(stories) > 1) or state == State.SUSPENDED:
            await api.set_pod("pi-0-driver", "ready")
            await api.wait_for_state(State.RUNNING_HEALTHY)
            continue
        if state == State.FAILED:
            held = {"metadata": {"finalizers": ["test/held"]}}
            await api.client.patch(PODS, "pi-0-driver", api.namespace, held)
        await api.set_pod("pi-0-driver", story)
    if state == State.SUSPENDED:
        await api.patch({"spec": {"suspend": True}})
    await api.wait_for_state(ApplicationState(state))
