"""Changes of the system clock while applications run."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from airflow_provider_spark_operator.reconcile.controller import Controller
from airflow_provider_spark_operator.reconcile.objects.scope import NamedNamespaces
from tests.reconcile.harness import QUICK, run_in_background, state_of
from tests.reliability.harness import DEADLINE, Harness
from tests.reliability.scripts import TrackedApplication, find_script
from tests.reliability.test_streams import build_names


class Clock:
    """A clock with an adjustable error."""

    def __init__(self) -> None:
        self.error = timedelta(0)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.error


@pytest.mark.timeout(900)
@pytest.mark.parametrize("step", [timedelta(hours=-1), timedelta(hours=1)], ids=["back", "forward"])
async def test_clock_change_causes_no_delay_and_no_second_driver(harness: Harness, step: timedelta) -> None:
    """The controller runs in the process of the test, which replaces its clock."""
    clock = Clock()
    controller = Controller(harness.client, NamedNamespaces((harness.namespace,)), QUICK, now=clock)
    async with run_in_background(controller):
        applications = await harness.submit(["deletion-90", "deletion-91"])
        waiting = await submit_with_backoff(harness, "restart-90", timedelta(seconds=30))
        async with asyncio.timeout(DEADLINE):
            for each in applications:
                await harness.node.wait_until(each.key, lambda seen: is_in(seen, ApplicationState.RUNNING_HEALTHY))
            await harness.node.wait_until(waiting.key, lambda seen: is_in(seen, ApplicationState.SCHEDULED_TO_RESTART))
        clock.error = step
        applications += await harness.submit(build_names(2))
        await harness.wait_until_completed([*applications, waiting])


def is_in(document: dict[str, object] | None, state: ApplicationState) -> bool:
    return document is not None and state_of(document) == state


async def submit_with_backoff(harness: Harness, name: str, backoff: timedelta) -> TrackedApplication:
    """Submit an application that waits before its next attempt."""
    document = find_script(name).document(name)
    restarts = document["spec"]["applicationTolerations"]["restartConfig"]
    restarts["restartBackoffMillis"] = int(backoff.total_seconds() * 1000)
    await harness.client.create(SPARK_APPLICATIONS, document, harness.namespace)
    return harness.track(name)
