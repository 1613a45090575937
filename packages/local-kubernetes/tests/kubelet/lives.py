"""The statuses of the scenarios' pods on a cluster, without values that differ from run to run."""

import asyncio
import re
from contextlib import aclosing
from typing import Any

import aiohttp

from local_kubernetes.api.kinds.kinds import CONFIG_MAPS, PODS, SECRETS

from client import ApiError, Client, WatchEvent
from kubelet.scenarios import IMAGE, Json, Scenario

CONFLICT, GONE = 409, 410
_KINDS = {"ConfigMap": CONFIG_MAPS, "Secret": SECRETS}
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


async def run_scenario(client: Client, namespace: str, scenario: Scenario, image: str, seconds: float) -> Json:
    """Run the pod of a scenario and return its statuses."""
    for document in scenario.needs:
        try:
            await client.create(_KINDS[document["kind"]], document, namespace)
        except ApiError as error:
            if error.code != CONFLICT:
                raise
    metadata = {"name": scenario.name, "labels": {"color": "blue"}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": _set_image(scenario.spec, image)}
    created = await client.create(PODS, pod, namespace)
    async with asyncio.timeout(seconds):
        final = await _follow(client, namespace, scenario, created)
    if scenario.until is not None:
        await client.delete(PODS, scenario.name, namespace, grace_seconds=0)
    return _extract_essence(final, namespace)


async def _follow(client: Client, namespace: str, scenario: Scenario, pod: Json) -> Json:
    """Watch the pod until it satisfies the condition; return that version."""
    deleted = False
    while True:
        if scenario.until is not None and scenario.until(pod):
            return pod
        if scenario.delete_when is not None and not deleted and scenario.delete_when(pod):
            deleted = True
            await client.logs(namespace, scenario.name, follow="true", limitBytes="1")  # waits until its trap is set
            await client.delete(PODS, scenario.name, namespace)
        event = await _read_next_change(client, namespace, pod)
        if event.type == "DELETED":
            return event.object
        pod = event.object


async def _read_next_change(client: Client, namespace: str, pod: Json) -> WatchEvent:
    name, version = pod["metadata"]["name"], pod["metadata"]["resourceVersion"]
    while True:
        changes = client.watch(PODS, namespace, resourceVersion=version, fieldSelector=f"metadata.name={name}")
        try:
            async with aclosing(changes):
                async for event in changes:
                    if event.type in ("MODIFIED", "DELETED"):
                        return event
        except (ApiError, aiohttp.ClientError) as error:
            if isinstance(error, ApiError) and error.code != GONE:
                raise


def _set_image(part: Any, image: str) -> Any:
    if isinstance(part, dict):
        return {key: _set_image(value, image) for key, value in part.items()}
    if isinstance(part, list):
        return [_set_image(item, image) for item in part]
    return image if part == IMAGE else part


def _extract_essence(pod: Json, namespace: str) -> Json:
    status = pod["status"]
    essence: Json = {
        key: _normalize_text(status[key], namespace)
        for key in ("phase", "reason", "message", "qosClass")
        if key in status
    }
    essence["conditions"] = {
        item["type"]: _normalize_text(" ".join(filter(None, (item["status"], item.get("reason")))), namespace)
        for item in sorted(status.get("conditions") or (), key=lambda item: str(item["type"]))
    }
    for field in ("initContainerStatuses", "containerStatuses"):
        if status.get(field):
            essence[field] = {item["name"]: _extract_container(item, namespace) for item in status[field]}
    return essence


def _extract_container(status: Json, namespace: str) -> Json:
    essence: Json = {
        "state": _extract_state(status["state"], namespace),
        **{key: status[key] for key in ("ready", "started", "restartCount") if key in status},
    }
    if "terminated" not in status["state"]:  # a kubelet soon forgets runs before the last one
        essence["lastState"] = _extract_state(status.get("lastState") or {}, namespace)
    return essence


def _extract_state(state: Json, namespace: str) -> Json:
    essence: Json = {}
    for kind, details in state.items():
        essence[kind] = {
            key: _normalize_text(details[key], namespace)
            for key in ("reason", "exitCode", "signal", "message")
            if key in details and not (key == "message" and details.get("reason") in _RUNTIME_WORDED)
        }
    return essence


# Errors of image pulls and container starts have different messages in each container runtime.
_RUNTIME_WORDED = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "StartError")


def _normalize_text(value: Any, namespace: str) -> Any:
    return _UID.sub("UID", value).replace(namespace, "NAMESPACE") if isinstance(value, str) else value
