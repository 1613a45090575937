"""The statuses of a StatefulSet that is created, edited and scaled.

To record them on a real cluster, run in the folder of the tests: E2E_KUBECONFIG=… E2E_IMAGE=… python -m workloads.life.
"""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from local_kubernetes.api.kinds.kinds import EVENTS, PODS, STATEFUL_SETS

from client import Client, open_client
from kubelet.record import create_namespace
from kubelet.scenarios import build_container

Json = dict[str, Any]

RECORDED = Path(__file__).parent / "life.json"
DEADLINE_SECONDS = 120
_STEPS: list[tuple[str, Json, Callable[[Json], bool]]] = [
    (
        "edited",
        {"template": {"metadata": {"labels": {"version": "2"}}}},
        lambda status: status.get("currentRevision") == status.get("updateRevision") and status["readyReplicas"] == 2,
    ),
    ("scaled down", {"replicas": 1}, lambda status: status.get("readyReplicas") == 1),
    ("scaled up", {"replicas": 2}, lambda status: status.get("currentReplicas") == status.get("readyReplicas") == 2),
    ("empty", {"replicas": 0}, lambda status: status["replicas"] == 0),
]


def build_stateful_set(image: str) -> Json:
    pod_spec = {"terminationGracePeriodSeconds": 0, "containers": [build_container("sleep 600", image=image)]}
    template = {"metadata": {"labels": {"app": "web"}, "annotations": {"a": "b"}}, "spec": pod_spec}
    spec = {"serviceName": "web-svc", "replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"}, "spec": spec}


async def run_life(client: Client, image: str) -> Json:
    """Create, edit and scale a StatefulSet; return its status after each step."""
    async with create_namespace(client) as namespace, asyncio.timeout(DEADLINE_SECONDS):
        created = await client.create(STATEFUL_SETS, build_stateful_set(image), namespace)
        steps = {
            "created": await _observe(client, namespace, created, lambda status: status.get("currentReplicas") == 2)
        }
        pod = await client.get(PODS, "web-0", namespace)
        for name, change, until in _STEPS:
            edited = await client.patch(STATEFUL_SETS, "web", namespace, {"spec": change})
            steps[name] = await _observe(client, namespace, edited, until)
        return {"pod": _extract_essence(pod), "steps": steps, "events": await _read_events(client, namespace)}


async def _observe(client: Client, namespace: str, document: Json, until: Callable[[Json], bool]) -> Json:
    """Return the status of the set and its pods once the controller has observed the set and `until` is true."""
    while True:
        status = (await client.get(STATEFUL_SETS, "web", namespace)).get("status") or {}
        pods = sorted(pod["metadata"]["name"] for pod in (await client.list(PODS, namespace)))
        is_present = status.get("observedGeneration") == document["metadata"]["generation"]
        if is_present and until(status) and len(pods) == status["replicas"] == status.get("readyReplicas", 0):
            revisions = {key: status.pop(key) for key in ("currentRevision", "updateRevision")}
            return {"status": status, "pods": pods, "revisions": len(set(revisions.values()))}
        await asyncio.sleep(0.1)


async def _read_events(client: Client, namespace: str) -> list[str]:
    found = await client.list(EVENTS, namespace, fieldSelector="involvedObject.kind=StatefulSet")
    return sorted({f"{event['type']} {event['reason']}: {event['message']}" for event in found})


def _extract_essence(pod: Json) -> Json:
    metadata = pod["metadata"]
    owner = {key: value for key, value in metadata["ownerReferences"][0].items() if key != "uid"}
    labels = {key: value for key, value in metadata["labels"].items() if key != "controller-revision-hash"}
    return {
        "generateName": metadata.get("generateName"),
        "labels": labels,
        "annotations": metadata.get("annotations"),
        "owner": owner,
        **{key: pod["spec"].get(key) for key in ("hostname", "subdomain")},
    }


async def _record() -> None:
    async with open_client(Path(os.environ["E2E_KUBECONFIG"])) as client:
        RECORDED.write_text(json.dumps(await run_life(client, os.environ["E2E_IMAGE"]), indent=2) + "\n")


if __name__ == "__main__":
    asyncio.run(_record())
