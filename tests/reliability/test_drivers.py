"""Drivers that end, are deleted, relabelled or orphaned while the controller is paused: none is doubled or lost."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import LABEL_OPERATOR_NAME, LABEL_ROLE
from airflow_provider_spark_operator.kube.errors import NotFound
from airflow_provider_spark_operator.kube.resources import PODS, SPARK_APPLICATIONS
from tests import builders
from tests.reconcile.harness import build_application, history_of, state_of
from tests.reliability.harness import DEADLINE, Harness

pytestmark = pytest.mark.timeout(900)

# A second attempt shows that the controller has taken a driver for lost.
_RESTARTS = {"restartPolicy": "OnFailure", "maxRestartAttempts": 1}


@asynccontextmanager
async def pause_controller(harness: Harness) -> AsyncIterator[None]:
    """Stop the process of the controller during the body, as a busy machine does."""
    os.kill(harness.controller.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(harness.controller.pid, signal.SIGCONT)


class Driver:
    """An application whose name no script has, so that the node does not play its driver."""

    def __init__(self, harness: Harness, name: str, *, backoff_millis: int = 1) -> None:
        self.tracked = harness.track(name)
        self.attempt = 0
        self._harness = harness
        self._restart = {**_RESTARTS, "restartBackoffMillis": backoff_millis}

    @property
    def _pod(self) -> str:
        return f"{self.tracked.key.name}-{self.attempt}-driver"

    async def submit(self) -> None:
        document = build_application(self.tracked.key.name, restart=self._restart)
        await self._harness.client.create(SPARK_APPLICATIONS, document, self._harness.namespace)

    async def wait_for(self, state: str) -> JsonObject:
        async with asyncio.timeout(DEADLINE):
            seen = await self._harness.node.wait_until(
                self.tracked.key, lambda document: document is not None and state_of(document) == state
            )
        assert seen is not None
        return seen

    async def report(self, story: str) -> None:
        patch = {"status": builders.build_driver_pod(story)["status"]}
        await self._harness.client.patch(PODS, self._pod, self._harness.namespace, patch, subresource="status")

    async def change(self, **metadata: object) -> None:
        await self._harness.client.patch(PODS, self._pod, self._harness.namespace, {"metadata": metadata})

    async def remove(self) -> None:
        await self._harness.client.delete(PODS, self._pod, self._harness.namespace, grace_seconds=0)

    async def suspend(self, is_suspended: bool) -> None:
        key, patch = self.tracked.key, {"spec": {"suspend": is_suspended}}
        await self._harness.client.patch(SPARK_APPLICATIONS, key.name, key.namespace, patch)

    async def exists(self) -> bool:
        try:
            await self._harness.client.get(PODS, self._pod, self._harness.namespace)
        except NotFound:
            return False
        return True

    async def wait_for_end(self, *states: str) -> None:
        """Wait until the application is released; check its end, its drivers, and that nothing is left."""
        ended = await self.wait_for("ResourceReleased")
        assert history_of(ended)[-len(states) - 1 :] == [*states, "ResourceReleased"]
        assert [len(uids) for uids in self._harness.node.drivers[self.tracked.key].values()] == [1] * (self.attempt + 1)
        async with asyncio.timeout(DEADLINE):
            while await self.tracked.children() or await self.exists():  # noqa: ASYNC110 - the state of an API
                await asyncio.sleep(0.1)


async def start(harness: Harness, *names: str, backoff_millis: int = 1) -> list[Driver]:
    """Submit applications, and start their drivers."""
    drivers = [Driver(harness, name, backoff_millis=backoff_millis) for name in names]
    for driver in drivers:
        await driver.submit()
    for driver in drivers:
        await driver.wait_for("DriverRequested")
        await driver.report("ready")
    for driver in drivers:
        await driver.wait_for("RunningHealthy")
    return drivers


async def test_end_of_each_driver_is_recorded_although_the_controller_was_paused_at_any_transition(
    harness: Harness,
) -> None:
    """The pauses include the start, the end and the deletion of drivers, in each state of the application."""
    await harness.controller.start()
    requested, started = Driver(harness, "x-requested"), Driver(harness, "x-started")
    for driver in (requested, started):
        await driver.submit()
        await driver.wait_for("DriverRequested")
    await started.report("started")
    await started.wait_for("DriverStarted")
    running, deleted = await start(harness, "x-running", "x-deleted")
    submitted = Driver(harness, "x-submitted")
    async with pause_controller(harness):
        await submitted.submit()
        for driver in (requested, started, running):
            await driver.report("ready")
            await driver.report("succeeded")
            await driver.remove()
        await deleted.report("succeeded")
    await submitted.wait_for("DriverRequested")
    async with pause_controller(harness):
        await submitted.report("succeeded")
        await submitted.remove()
    for driver in (requested, started, running, submitted, deleted):
        await driver.wait_for_end("Succeeded")


async def test_each_attempt_has_one_driver_although_the_controller_was_paused_between_attempts(
    harness: Harness,
) -> None:
    await harness.controller.start()
    (again,) = await start(harness, "x-again")
    (waiting,) = await start(harness, "x-waiting", backoff_millis=3000)
    await waiting.report("failed")
    await waiting.wait_for("ScheduledToRestart")
    async with pause_controller(harness):
        await again.report("failed")
        await again.remove()
    for driver in (again, waiting):
        driver.attempt = 1
        await driver.wait_for("DriverRequested")
    async with pause_controller(harness):
        for driver in (again, waiting):
            await driver.report("succeeded")
            await driver.remove()
    for driver in (again, waiting):
        await driver.wait_for_end("Succeeded")


async def test_suspended_application_has_one_driver_after_pauses_of_the_controller(harness: Harness) -> None:
    await harness.controller.start()
    (driver,) = await start(harness, "x-suspended")
    async with pause_controller(harness):
        await driver.suspend(True)
    await driver.wait_for("Suspended")
    async with pause_controller(harness):
        await driver.suspend(False)
    driver.attempt = 1
    await driver.wait_for("DriverRequested")
    await driver.report("ready")
    await driver.wait_for("RunningHealthy")
    async with pause_controller(harness):
        await driver.suspend(True)
        await driver.report("succeeded")
        await driver.remove()
    await driver.wait_for_end("Succeeded")


async def test_application_completes_if_its_driver_is_relabelled_while_the_controller_is_paused(
    harness: Harness,
) -> None:
    await harness.controller.start()
    drivers = await start(harness, "x-role", "x-operator", "x-running")
    labels = (LABEL_ROLE, LABEL_OPERATOR_NAME, LABEL_OPERATOR_NAME)
    async with pause_controller(harness):
        for driver, label in zip(drivers, labels, strict=True):
            await driver.change(labels={label: "changed"})
        for driver in drivers[:2]:
            await driver.report("succeeded")
    for driver in drivers[:2]:
        await driver.wait_for_end("Succeeded")
    await drivers[2].report("succeeded")
    await drivers[2].wait_for_end("Succeeded")


async def test_orphaned_driver_is_deleted_with_its_application(harness: Harness) -> None:
    await harness.controller.start()
    watched, unwatched = await start(harness, "x-watched", "x-unwatched")
    for driver in (watched, unwatched):
        key = driver.tracked.key
        if driver is unwatched:
            await harness.controller.stop()
        await harness.client.delete(SPARK_APPLICATIONS, key.name, key.namespace, propagation="Orphan")
        if driver is unwatched:
            await harness.controller.start()
        async with asyncio.timeout(DEADLINE):
            await harness.node.wait_until(key, lambda seen: seen is None)
            while await driver.tracked.children() or await driver.exists():  # noqa: ASYNC110 - the state of an API
                await asyncio.sleep(0.1)
