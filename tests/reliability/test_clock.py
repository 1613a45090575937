"""Changes of the system clock while applications run."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from airflow_provider_spark_operator.reconcile.controller import Controller
from airflow_provider_spark_operator.reconcile.objects.scope import NamedNamespaces
from tests.reconcile.harness import QUICK, run_in_background, state_of
from tests.reliability.lives import TrackedApplication, find_life
from tests.reliability.scene import DEADLINE, Scene
from tests.reliability.test_streams import build_names


class Clock:
    """A clock with an adjustable error."""

    def __init__(self) -> None:
        self.error = timedelta(0)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.error


@pytest.mark.timeout(900)
@pytest.mark.parametrize("step", [timedelta(hours=-1), timedelta(hours=1)], ids=["back", "forward"])
async def test_clock_change_causes_no_delay_and_no_second_driver(scene: Scene, step: timedelta) -> None:
    """The controller runs in the process of the test, which replaces its clock."""
    clock = Clock()
    controller = Controller(scene.client, NamedNamespaces((scene.namespace,)), QUICK, now=clock)
    async with run_in_background(controller):
        lives = await scene.submit(["deletion-90", "deletion-91"])
        waiting = await submit_with_backoff(scene, "restart-90", timedelta(seconds=30))
        async with asyncio.timeout(DEADLINE):
            for each in lives:
                await scene.node.wait_until(each.key, lambda seen: is_in(seen, ApplicationState.RUNNING_HEALTHY))
            await scene.node.wait_until(waiting.key, lambda seen: is_in(seen, ApplicationState.SCHEDULED_TO_RESTART))
        clock.error = step
        lives += await scene.submit(build_names(2))
        await scene.wait_until_completed([*lives, waiting])


def is_in(document: dict[str, object] | None, state: ApplicationState) -> bool:
    return document is not None and state_of(document) == state


async def submit_with_backoff(scene: Scene, name: str, backoff: timedelta) -> TrackedApplication:
    """Submit an application that waits before its next attempt."""
    document = find_life(name).document(name)
    restarts = document["spec"]["applicationTolerations"]["restartConfig"]
    restarts["restartBackoffMillis"] = int(backoff.total_seconds() * 1000)
    await scene.client.create(SPARK_APPLICATIONS, document, scene.namespace)
    return scene.track(name)
