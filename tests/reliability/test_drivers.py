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
from tests.reliability.scene import DEADLINE, Scene

pytestmark = pytest.mark.timeout(900)

# A second attempt shows that the controller has taken a driver for lost.
_RESTARTS = {"restartPolicy": "OnFailure", "maxRestartAttempts": 1}


@asynccontextmanager
async def pause_controller(scene: Scene) -> AsyncIterator[None]:
    """Stop the process of the controller during the body, as a busy machine does."""
    os.kill(scene.controller.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(scene.controller.pid, signal.SIGCONT)


class Driver:
    """An application whose name no life has, so that the node does not play its driver."""

    def __init__(self, scene: Scene, name: str, *, backoff_millis: int = 1) -> None:
        self.tracked = scene.track(name)
        self.attempt = 0
        self._scene = scene
        self._restart = {**_RESTARTS, "restartBackoffMillis": backoff_millis}

    @property
    def _pod(self) -> str:
        return f"{self.tracked.key.name}-{self.attempt}-driver"

    async def submit(self) -> None:
        document = build_application(self.tracked.key.name, restart=self._restart)
        await self._scene.client.create(SPARK_APPLICATIONS, document, self._scene.namespace)

    async def wait_for(self, state: str) -> JsonObject:
        async with asyncio.timeout(DEADLINE):
            seen = await self._scene.node.wait_until(
                self.tracked.key, lambda document: document is not None and state_of(document) == state
            )
        assert seen is not None
        return seen

    async def report(self, story: str) -> None:
        patch = {"status": builders.build_driver_pod(story)["status"]}
        await self._scene.client.patch(PODS, self._pod, self._scene.namespace, patch, subresource="status")

    async def change(self, **metadata: object) -> None:
        await self._scene.client.patch(PODS, self._pod, self._scene.namespace, {"metadata": metadata})

    async def remove(self) -> None:
        await self._scene.client.delete(PODS, self._pod, self._scene.namespace, grace_seconds=0)

    async def suspend(self, is_suspended: bool) -> None:
        key, patch = self.tracked.key, {"spec": {"suspend": is_suspended}}
        await self._scene.client.patch(SPARK_APPLICATIONS, key.name, key.namespace, patch)

    async def exists(self) -> bool:
        try:
            await self._scene.client.get(PODS, self._pod, self._scene.namespace)
        except NotFound:
            return False
        return True

    async def wait_for_end(self, *states: str) -> None:
        """Wait until the application is released; check its end, its drivers, and that nothing is left."""
        ended = await self.wait_for("ResourceReleased")
        assert history_of(ended)[-len(states) - 1 :] == [*states, "ResourceReleased"]
        assert [len(uids) for uids in self._scene.node.drivers[self.tracked.key].values()] == [1] * (self.attempt + 1)
        async with asyncio.timeout(DEADLINE):
            while await self.tracked.children() or await self.exists():  # noqa: ASYNC110 - the state of an API
                await asyncio.sleep(0.1)


async def start(scene: Scene, *names: str, backoff_millis: int = 1) -> list[Driver]:
    """Submit applications, and start their drivers."""
    drivers = [Driver(scene, name, backoff_millis=backoff_millis) for name in names]
    for driver in drivers:
        await driver.submit()
    for driver in drivers:
        await driver.wait_for("DriverRequested")
        await driver.report("ready")
    for driver in drivers:
        await driver.wait_for("RunningHealthy")
    return drivers


async def test_end_of_each_driver_is_recorded_although_the_controller_was_paused_at_any_transition(
    scene: Scene,
) -> None:
    """The pauses include the start, the end and the deletion of drivers, in each state of the application."""
    await scene.controller.start()
    requested, started = Driver(scene, "x-requested"), Driver(scene, "x-started")
    for driver in (requested, started):
        await driver.submit()
        await driver.wait_for("DriverRequested")
    await started.report("started")
    await started.wait_for("DriverStarted")
    running, deleted = await start(scene, "x-running", "x-deleted")
    submitted = Driver(scene, "x-submitted")
    async with pause_controller(scene):
        await submitted.submit()
        for driver in (requested, started, running):
            await driver.report("ready")
            await driver.report("succeeded")
            await driver.remove()
        await deleted.report("succeeded")
    await submitted.wait_for("DriverRequested")
    async with pause_controller(scene):
        await submitted.report("succeeded")
        await submitted.remove()
    for driver in (requested, started, running, submitted, deleted):
        await driver.wait_for_end("Succeeded")


async def test_each_attempt_has_one_driver_although_the_controller_was_paused_between_attempts(scene: Scene) -> None:
    await scene.controller.start()
    (again,) = await start(scene, "x-again")
    (waiting,) = await start(scene, "x-waiting", backoff_millis=3000)
    await waiting.report("failed")
    await waiting.wait_for("ScheduledToRestart")
    async with pause_controller(scene):
        await again.report("failed")
        await again.remove()
    for driver in (again, waiting):
        driver.attempt = 1
        await driver.wait_for("DriverRequested")
    async with pause_controller(scene):
        for driver in (again, waiting):
            await driver.report("succeeded")
            await driver.remove()
    for driver in (again, waiting):
        await driver.wait_for_end("Succeeded")


async def test_suspended_application_has_one_driver_after_pauses_of_the_controller(scene: Scene) -> None:
    await scene.controller.start()
    (driver,) = await start(scene, "x-suspended")
    async with pause_controller(scene):
        await driver.suspend(True)
    await driver.wait_for("Suspended")
    async with pause_controller(scene):
        await driver.suspend(False)
    driver.attempt = 1
    await driver.wait_for("DriverRequested")
    await driver.report("ready")
    await driver.wait_for("RunningHealthy")
    async with pause_controller(scene):
        await driver.suspend(True)
        await driver.report("succeeded")
        await driver.remove()
    await driver.wait_for_end("Succeeded")


async def test_application_completes_if_its_driver_is_relabelled_while_the_controller_is_paused(scene: Scene) -> None:
    await scene.controller.start()
    drivers = await start(scene, "x-role", "x-operator", "x-running")
    labels = (LABEL_ROLE, LABEL_OPERATOR_NAME, LABEL_OPERATOR_NAME)
    async with pause_controller(scene):
        for driver, label in zip(drivers, labels, strict=True):
            await driver.change(labels={label: "changed"})
        for driver in drivers[:2]:
            await driver.report("succeeded")
    for driver in drivers[:2]:
        await driver.wait_for_end("Succeeded")
    await drivers[2].report("succeeded")
    await drivers[2].wait_for_end("Succeeded")


async def test_orphaned_driver_is_deleted_with_its_application(scene: Scene) -> None:
    await scene.controller.start()
    watched, unwatched = await start(scene, "x-watched", "x-unwatched")
    for driver in (watched, unwatched):
        key = driver.tracked.key
        if driver is unwatched:
            await scene.controller.stop()
        await scene.client.delete(SPARK_APPLICATIONS, key.name, key.namespace, propagation="Orphan")
        if driver is unwatched:
            await scene.controller.start()
        async with asyncio.timeout(DEADLINE):
            await scene.node.wait_until(key, lambda seen: seen is None)
            while await driver.tracked.children() or await driver.exists():  # noqa: ASYNC110 - the state of an API
                await asyncio.sleep(0.1)
