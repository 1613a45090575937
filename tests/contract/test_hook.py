"""The hook with a real API server and with the local one, in place of the scripted cluster."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from airflow_provider_spark_operator.exceptions import SparkApplicationConflict, SparkApplicationNotFound
from airflow_provider_spark_operator.hooks.async_spark_application import AsyncSparkApplicationHook
from airflow_provider_spark_operator.kube.connection import ClusterAccess
from tests.contract.test_crds import server_with_definitions

from contract.conversation import MERGE_PATCH, Conversation
from control_plane import Server

__all__ = ["server_with_definitions"]

MANIFEST: dict[str, Any] = {"spec": {"pyFiles": "local:///opt/pi.py", "runtimeVersions": {"sparkVersion": "4.3.0"}}}


@pytest.fixture
async def hook(server: Server, server_with_definitions: Conversation) -> AsyncIterator[AsyncSparkApplicationHook]:
    if server.token is None and server.tls is not None:
        pytest.skip("the server of CONTRACT_KUBECONFIG has no token")
    kubeconfig = {
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": server.url, "insecure-skip-tls-verify": True}}],
        "users": [{"name": "test", "user": {"token": server.token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    }
    access = ClusterAccess(kubeconfig_document=kubeconfig, namespace=server_with_definitions.namespace)
    async with AsyncSparkApplicationHook(access=access) as opened:
        yield opened


async def write_state(conversation: Conversation, name: str, *states: str) -> None:
    """Write the status of an application as its operator does."""
    entries = [
        {"currentStateSummary": state, "message": "", "lastTransitionTime": f"2026-01-01T00:00:{number:02}Z"}
        for number, state in enumerate(states)
    ]
    status = {
        "currentState": entries[-1],
        "stateTransitionHistory": {str(number): entry for number, entry in enumerate(entries)},
        "currentAttemptSummary": {"attemptInfo": {"id": 0}},
    }
    path = f"{conversation.path(f'sparkapplications/{name}', 'spark.apache.org/v1')}/status"
    reply = await conversation.ask("PATCH", path, {"status": status}, content_type=MERGE_PATCH)
    assert reply.status == 200, reply.body


async def test_application_is_managed_to_its_end(
    hook: AsyncSparkApplicationHook, server_with_definitions: Conversation
) -> None:
    manifest = {**MANIFEST, "metadata": {"labels": {"team": "a"}}}
    reference = await hook.submit(manifest, name="pi", image="spark:4.3.0", executor_instances=2)
    with pytest.raises(SparkApplicationConflict, match="already exists"):
        await hook.submit(manifest, name="pi", image="spark:4.3.0")
    await hook.submit(MANIFEST, name="other", image="spark:4.3.0")
    assert [one["metadata"]["name"] for one in await hook.list_applications({"team": "a"})] == ["pi"]
    assert len(await hook.list_applications(most=1)) == 1

    await hook.suspend(reference)
    assert (await hook.get(reference))["spec"]["suspend"] is True
    await hook.resume(reference)
    assert (await hook.get(reference))["spec"]["suspend"] is False

    assert (await hook.get_verdict("pi")).outcome == "Waiting"
    waiting = asyncio.create_task(hook.wait(reference, timeout=60))
    await write_state(server_with_definitions, "pi", "Submitted", "RunningHealthy", "Succeeded", "ResourceReleased")
    verdict = await waiting
    assert (verdict.outcome, verdict.state) == ("Succeeded", "Succeeded")
    assert (await hook.get_verdict(reference)).outcome == "Succeeded"
    with pytest.raises(SparkApplicationConflict, match="it has ended in state ResourceReleased"):
        await hook.suspend(reference)

    await hook.delete(reference, timeout=60)
    with pytest.raises(SparkApplicationNotFound, match="could not read SparkApplication pi"):
        await hook.get("pi")


async def test_events_of_an_application_are_listed(
    hook: AsyncSparkApplicationHook, server_with_definitions: Conversation
) -> None:
    reference = await hook.submit(MANIFEST, name="pi", image="spark:4.3.0")
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "first"},
        "involvedObject": {
            "kind": "SparkApplication",
            "name": "pi",
            "namespace": reference.namespace,
            "uid": reference.uid,
        },
        "type": "Warning",
        "reason": "Late",
        "message": "no node is free",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 3,
    }
    reply = await server_with_definitions.ask("POST", server_with_definitions.path("events"), event)
    assert reply.status == 201, reply.body
    (found,) = await hook.list_events(reference)
    assert (found.reason, found.type, found.message, found.count) == ("Late", "Warning", "no node is free", 3)
