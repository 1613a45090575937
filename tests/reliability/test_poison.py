"""Invalid applications fail with the cause in their status, and other applications complete."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.resources import EVENTS, SPARK_APPLICATIONS
from airflow_provider_spark_operator.reconcile.objects.cache import ObjectKey
from tests.reconcile.harness import IMAGE, build_application, history_of, state_of
from tests.reliability.proxy import Fault, ReceivedRequest
from tests.reliability.scene import DEADLINE, Scene

pytestmark = pytest.mark.timeout(900)

# The invalid fields of each application, and the words that its status must contain.
POISONS: dict[str, tuple[dict[str, Any], str]] = {
    "poison-template": (
        {"driverSpec": {"podTemplateSpec": {"spec": {"containers": "none"}}}},
        "spec.driverSpec.podTemplateSpec",
    ),
    # Each character takes two bytes in a properties file, and a config map is limited to 1 MiB.
    "poison-size": ({"conf": {**IMAGE, "spark.text": ":" * 600_000}}, "ConfigMap"),
    "poison-volume": (
        {"conf": {**IMAGE, "spark.kubernetes.executor.volumes.floppy.a.mount.path": "/a"}},
        "spark.kubernetes.executor.volumes.floppy.a",
    ),
    "9.poison": ({}, "metadata.name"),
    "poison-route": (
        {
            "driverServiceIngressList": [
                {"serviceMetadata": {"name": 7}, "serviceSpec": {"ports": "none"}, "ingressMetadata": {"name": "web"}}
            ]
        },
        "spec.driverServiceIngressList[0]",
    ),
}
UNREADABLE = {"currentState": {"currentStateSummary": "Submitted", "lastTransitionTime": "yesterday"}}
_MAX_REQUESTS = 60


async def test_invalid_application_does_not_block_others(scene: Scene) -> None:
    names = [*POISONS, "poison-status"]
    requests: Counter[str] = Counter()

    def count(received: ReceivedRequest) -> Fault | None:
        requests.update(name for name in names if received.is_about(name))
        return None

    scene.proxy.plan = count
    for name, (modifiers, _) in POISONS.items():
        await scene.client.create(SPARK_APPLICATIONS, build_application(name, **modifiers), scene.namespace)
    await scene.client.create(SPARK_APPLICATIONS, build_application("poison-status"), scene.namespace)
    patch = {"status": UNREADABLE}
    await scene.client.patch(SPARK_APPLICATIONS, "poison-status", scene.namespace, patch, subresource="status")
    await scene.controller.start()
    await scene.wait_until_completed(await scene.submit(["success-00", "failure-00", "restart-00", "deletion-00"]))
    async with asyncio.timeout(DEADLINE):
        for name, (_, words) in POISONS.items():
            await wait_until_refused(scene, name, words)
        await wait_for_event(scene, "poison-status", "status.currentState")
    assert max(requests.values()) < _MAX_REQUESTS, requests


async def wait_until_refused(scene: Scene, name: str, words: str) -> None:
    """Wait until an application has ended with the cause in its status and its objects are deleted."""
    key = ObjectKey(scene.namespace, name)
    ended = await scene.node.wait_until(
        key, lambda seen: seen is not None and state_of(seen) == ApplicationState.RESOURCE_RELEASED
    )
    assert ended is not None
    assert history_of(ended) == ["Submitted", "SchedulingFailure", "ResourceReleased"]
    assert words in ended["status"]["stateTransitionHistory"]["1"]["message"]
    while await scene.track(name).children():  # noqa: ASYNC110 - the state of an API is no Event
        await asyncio.sleep(0.1)


async def wait_for_event(scene: Scene, name: str, words: str) -> None:
    """Wait for an Event with the cause, for an application whose status the controller does not overwrite."""
    selector = f"involvedObject.name={name}"
    while True:
        events = (await scene.client.list(EVENTS, scene.namespace, field_selector=selector)).items
        if any(words in event["message"] for event in events):
            return
        await asyncio.sleep(0.1)
