"""Invalid applications fail with the cause in their status, and other applications complete."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.resources import EVENTS, SPARK_APPLICATIONS
from airflow_provider_spark_operator.reconcile.objects.cache import ObjectKey
from tests.reconcile.harness import IMAGE, build_application, history_of, state_of
from tests.reliability.harness import DEADLINE, Harness
from tests.reliability.proxy import Fault, ReceivedRequest

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


async def test_invalid_application_does_not_block_others(harness: Harness) -> None:
    names = [*POISONS, "poison-status"]
    requests: Counter[str] = Counter()

    def count(received: ReceivedRequest) -> Fault | None:
        requests.update(name for name in names if received.is_about(name))
        return None

    harness.proxy.plan = count
    for name, (modifiers, _) in POISONS.items():
        await harness.client.create(SPARK_APPLICATIONS, build_application(name, **modifiers), harness.namespace)
    await harness.client.create(SPARK_APPLICATIONS, build_application("poison-status"), harness.namespace)
    patch = {"status": UNREADABLE}
    await harness.client.patch(SPARK_APPLICATIONS, "poison-status", harness.namespace, patch, subresource="status")
    await harness.controller.start()
    await harness.wait_until_completed(await harness.submit(["success-00", "failure-00", "restart-00", "deletion-00"]))
    async with asyncio.timeout(DEADLINE):
        for name, (_, words) in POISONS.items():
            await wait_until_refused(harness, name, words)
        await wait_for_event(harness, "poison-status", "status.currentState")
    assert max(requests.values()) < _MAX_REQUESTS, requests


async def wait_until_refused(harness: Harness, name: str, words: str) -> None:
    """Wait until an application has ended with the cause in its status and its objects are deleted."""
    key = ObjectKey(harness.namespace, name)
    ended = await harness.node.wait_until(
        key, lambda seen: seen is not None and state_of(seen) == ApplicationState.RESOURCE_RELEASED
    )
    assert ended is not None
    assert history_of(ended) == ["Submitted", "SchedulingFailure", "ResourceReleased"]
    assert words in ended["status"]["stateTransitionHistory"]["1"]["message"]
    while await harness.track(name).children():  # noqa: ASYNC110 - the state of an API is no Event
        await asyncio.sleep(0.1)


async def wait_for_event(harness: Harness, name: str, words: str) -> None:
    """Wait for an Event with the cause, for an application whose status the controller does not overwrite."""
    selector = f"involvedObject.name={name}"
    while True:
        events = (await harness.client.list(EVENTS, harness.namespace, field_selector=selector)).items
        if any(words in event["message"] for event in events):
            return
        await asyncio.sleep(0.1)
