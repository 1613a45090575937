"""Every resource that the API server accepts gets a status, causes no endless requests, and can be deleted."""

import asyncio
import json
import os
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import islice

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import BadRequest, Conflict, Invalid, NotFound
from airflow_provider_spark_operator.kube.resources import (
    SPARK_APPLICATIONS,
    SPARK_CLUSTERS,
    ResourceType,
)
from airflow_provider_spark_operator.reconcile.reconcilers.resources import build_finalizers_patch
from tests.reconcile.harness import state_of
from tests.reliability.harness import Harness
from tests.reliability.odd import ANOTHER_FINALIZER, generate_odd_resources
from tests.reliability.proxy import Fault, ReceivedRequest

pytestmark = pytest.mark.timeout(900)

RESOURCES = 150
_SEED = int(os.environ.get("RELIABILITY_SEED", "1"))
_DEADLINE = 120
# Restarts and reconciliations after Events are included. A request that is repeated indefinitely exceeds the limit.
_MAX_REQUESTS = 100


def find_kind(document: JsonObject) -> ResourceType:
    return SPARK_CLUSTERS if document["kind"] == SPARK_CLUSTERS.kind else SPARK_APPLICATIONS


async def test_odd_resources_get_a_status_and_can_be_deleted(harness: Harness) -> None:
    print(f"RELIABILITY_SEED={_SEED}")
    requests: Counter[str] = Counter()
    stored = await create_odd_resources(harness, RESOURCES)

    def count(received: ReceivedRequest) -> Fault | None:
        requests.update(name for name in stored if received.is_about(name) and not received.is_event)
        return None

    harness.proxy.plan = count
    await harness.controller.start()
    await wait_until_no_match(harness, stored, lacks_status, "without a status")
    async with asyncio.TaskGroup() as group:
        for name, document in stored.items():
            group.create_task(delete(harness.client, document, name, harness.namespace))
    await wait_until_no_match(harness, stored, lambda _: True, "not gone after deletion")
    assert max(requests.values()) < _MAX_REQUESTS, requests.most_common(5)


async def create_odd_resources(harness: Harness, number: int) -> dict[str, JsonObject]:
    """Create the first `number` odd resources that the API server accepts; return them by name."""
    stored: dict[str, JsonObject] = {}
    for document in islice(generate_odd_resources(_SEED), 2 * number):
        try:
            await harness.client.create(find_kind(document), document, harness.namespace)
        except (BadRequest, Invalid):
            continue
        stored[document["metadata"]["name"]] = document
        if len(stored) == number:
            return stored
    raise AssertionError(f"the API server takes {len(stored)} of {2 * number} odd resources: make them less odd")


async def delete(client: KubeClient, document: JsonObject, name: str, namespace: str) -> None:
    with suppress(NotFound):  # a time to live may have expired
        await client.delete(find_kind(document), name, namespace)


async def wait_until_no_match(
    harness: Harness, stored: dict[str, JsonObject], is_left: Callable[[JsonObject], bool], what: str
) -> None:
    """Wait until no resource matches. Remove the finalizer of another controller when it is the last finalizer."""
    remaining: list[JsonObject] = []
    try:
        async with asyncio.timeout(_DEADLINE):
            while remaining := [each for each in await list_resources(harness) if is_left(each)]:
                for each in remaining:
                    await drop_another_finalizer(harness, each)
                await asyncio.sleep(0.5)
    except TimeoutError:
        names = [each["metadata"]["name"] for each in remaining]
        details = "\n".join(f"{name}: {json.dumps(stored[name])[:600]}" for name in names)
        log = "\n".join(line for name in names[:5] for line in harness.controller.log.splitlines() if name in line)
        raise AssertionError(f"{what}: {details}\n{log[-6000:]}") from None


async def list_resources(harness: Harness) -> list[JsonObject]:
    lists = [await harness.client.list(kind, harness.namespace) for kind in (SPARK_APPLICATIONS, SPARK_CLUSTERS)]
    return [item for listed in lists for item in listed.items]


def lacks_status(document: JsonObject) -> bool:
    return state_of(document) is None


async def drop_another_finalizer(harness: Harness, resource: JsonObject) -> None:
    metadata = resource["metadata"]
    if "deletionTimestamp" in metadata and metadata["finalizers"] == [ANOTHER_FINALIZER]:
        patch = build_finalizers_patch(resource, [])
        with suppress(NotFound, Conflict):
            await harness.client.patch(find_kind(resource), metadata["name"], harness.namespace, patch)
