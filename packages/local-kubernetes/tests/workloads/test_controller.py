"""StatefulSets on a local cluster."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from local_kubernetes.api.kinds.kinds import EVENTS, PERSISTENT_VOLUME_CLAIMS, PODS, SERVICE_ACCOUNTS, STATEFUL_SETS
from local_kubernetes.cluster import LocalCluster

from client import ApiError, Client, open_client
from kubelet.running_node import build_shell, wait_until_async
from workloads.life import RECORDED, run_life

Json = dict[str, Any]


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with LocalCluster(tmp_path / "home") as cluster, open_client(cluster.kubeconfig) as opened:
        yield opened


def build_stateful_set(replicas: int, script: str = "sleep 600", **spec: Any) -> Json:
    pod_spec = {"containers": [build_shell(script)], "terminationGracePeriodSeconds": 0, **spec.pop("pod", {})}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod_spec}
    fields = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template, **spec}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"}, "spec": fields}


async def read_status(client: Client) -> Json:
    found: Json = (await client.get(STATEFUL_SETS, "web", "default")).get("status") or {}
    return found


async def read_pods(client: Client) -> dict[str, Json]:
    return {pod["metadata"]["name"]: pod for pod in (await client.list(PODS, "default"))}


async def wait_until_ready(client: Client, number: int) -> None:
    async def are_ready() -> bool:
        return (await read_status(client)).get("readyReplicas", 0) == number and len(await read_pods(client)) == number

    await wait_until_async(are_ready)


async def test_stateful_set_creates_and_scales_its_pods(client: Client) -> None:
    await client.create(STATEFUL_SETS, build_stateful_set(2), "default")
    await wait_until_ready(client, 2)
    assert set(await read_pods(client)) == {"web-0", "web-1"}

    await client.patch(STATEFUL_SETS, "web", "default", {"spec": {"replicas": 3}}, subresource="scale")
    await wait_until_ready(client, 3)
    await client.patch(STATEFUL_SETS, "web", "default", {"spec": {"replicas": 1}}, subresource="scale")
    await wait_until_ready(client, 1)

    assert set(await read_pods(client)) == {"web-0"}
    reasons = {event["reason"] for event in (await client.list(EVENTS, "default"))}
    assert {"SuccessfulCreate", "SuccessfulDelete"} <= reasons


async def test_deleted_pod_of_a_set_is_recreated(client: Client) -> None:
    await client.create(STATEFUL_SETS, build_stateful_set(1), "default")
    await wait_until_ready(client, 1)
    before = (await read_pods(client))["web-0"]["metadata"]["uid"]

    await client.delete(PODS, "web-0", "default")

    async def is_another() -> bool:
        found = (await read_pods(client)).get("web-0")
        return found is not None and found["metadata"]["uid"] != before

    await wait_until_async(is_another)
    await wait_until_ready(client, 1)


async def test_pods_are_deleted_with_their_set(client: Client) -> None:
    await client.create(STATEFUL_SETS, build_stateful_set(2, podManagementPolicy="Parallel"), "default")
    await wait_until_ready(client, 2)

    await client.delete(STATEFUL_SETS, "web", "default")

    async def nothing_is_left() -> bool:
        return not await read_pods(client)

    await wait_until_async(nothing_is_left)
    with pytest.raises(ApiError, match="not found"):
        await read_status(client)


async def test_changed_template_replaces_all_pods(client: Client) -> None:
    await client.create(STATEFUL_SETS, build_stateful_set(2), "default")
    await wait_until_ready(client, 2)

    labels = {"spec": {"template": {"metadata": {"labels": {"version": "2"}}}}}
    await client.patch(STATEFUL_SETS, "web", "default", labels)

    async def are_new() -> bool:
        found = await read_status(client)
        return found.get("currentRevision") == found["updateRevision"] and found.get("updatedReplicas") == 2

    await wait_until_async(are_new)
    await wait_until_ready(client, 2)
    assert {pod["metadata"]["labels"].get("version") for pod in (await read_pods(client)).values()} == {"2"}


async def test_replacement_pod_keeps_its_claim(client: Client) -> None:
    storage = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    template = {"metadata": {"name": "data"}, "spec": storage}
    mounts = [{"name": "data", "mountPath": "/data"}]
    document = build_stateful_set(1, volumeClaimTemplates=[template])
    script = "echo started >> /data/starts; cat /data/starts; sleep 600"
    document["spec"]["template"]["spec"]["containers"] = [build_shell(script, volumeMounts=mounts)]
    await client.create(STATEFUL_SETS, document, "default")
    await wait_until_ready(client, 1)
    assert (await client.get(PERSISTENT_VOLUME_CLAIMS, "data-web-0", "default"))["metadata"]["labels"] == {"app": "web"}

    async def has_started_twice() -> bool:
        return await client.logs("default", "web-0") == ["started", "started"]

    await client.delete(PODS, "web-0", "default")
    await wait_until_ready(client, 1)
    await wait_until_async(has_started_twice)


async def test_rejected_pod_is_retried_and_reported_in_an_event(client: Client) -> None:
    await client.create(STATEFUL_SETS, build_stateful_set(1, pod={"serviceAccountName": "later"}), "default")

    async def is_refused() -> bool:
        messages = [event["message"] for event in (await client.list(EVENTS, "default"))]
        return any('serviceaccount "later" not found' in message for message in messages)

    await wait_until_async(is_refused)
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "later"}}
    await client.create(SERVICE_ACCOUNTS, account, "default")

    await wait_until_ready(client, 1)


async def test_stateful_set_behaves_as_recorded_on_a_real_cluster(client: Client) -> None:
    assert await run_life(client, "local/process") == json.loads(RECORDED.read_text())
