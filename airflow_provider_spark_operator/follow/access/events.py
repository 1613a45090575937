"""Read the Kubernetes Events of an application and its driver."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.times import read_time
from ...core.log.driver_log import clean_sentence
from ...core.verdict.driver_facts import read_event_time
from ...kube.client import KubeClient
from ...kube.errors import KubeError
from ...kube.resources import EVENTS
from .pods import read_driver_pod
from .reference import ApplicationReference

__all__ = ["KubernetesEvent"]

logger = logging.getLogger(__name__)

MAX_EVENTS: Final = 20_000
"""The maximum number of Events that are read to find the Events of an application's pods."""
POD_EVENTS: Final = "involvedObject.kind=Pod"
"""The field selector of the Events about pods."""


@dataclass(frozen=True)
class KubernetesEvent:
    """An Event of Kubernetes.

    Attributes:
        time: Time at which the event happened last. None if the Event does not contain a time.
        type: Type of the Event: "Normal" or "Warning".
        reason: Reason of the Event, for example "FailedScheduling".
        message: Message of the Event in one line.
        subject: Object of the Event, for example "Pod pi-0-driver".
        count: Number of times that the event happened.
    """

    time: datetime | None
    type: str
    reason: str
    message: str
    subject: str
    count: int = 1


async def list_events(client: KubeClient, reference: ApplicationReference, most: int) -> list[KubernetesEvent]:
    """List the Events of an application and of its driver pod, oldest first.

    Args:
        client: The client of the cluster.
        reference: The application.
        most: The maximum number of Events of each of the two objects.

    Raises:
        KubeError: The API rejected a request or could not be reached.
    """
    pod = await read_driver_pod(client, reference)
    uids = [reference.uid, *([pod["metadata"]["uid"]] if pod is not None else [])]
    answers = await asyncio.gather(
        *(
            client.list(EVENTS, reference.namespace, field_selector=f"involvedObject.uid={uid}", most=most)
            for uid in uids
        )
    )
    documents = sorted((event for answer in answers for event in answer.items), key=read_event_time)
    return [_parse(event) for event in documents]


def _parse(event: Mapping[str, Any]) -> KubernetesEvent:
    subject = event.get("involvedObject") or {}
    return KubernetesEvent(
        time=read_time(read_event_time(event)),
        type=str(event.get("type") or ""),
        reason=str(event.get("reason") or ""),
        message=clean_sentence(str(event.get("message") or "")),
        subject=f"{subject.get('kind', '')} {subject.get('name', '')}".strip(),
        count=int(event.get("count") or 1),
    )


async def list_stops(client: KubeClient, namespace: str | None, pod: str | None = None) -> list[JsonObject]:
    """List the Events with which kubelets report that they stopped pods. Empty if the Events cannot be read.

    Args:
        client: The client of the cluster.
        namespace: The namespace. If None, all namespaces.
        pod: The name of the pod. If None, all pods.
    """
    return await _list_of_pods(client, namespace, "reason=Killing", pod)


async def list_warnings(client: KubeClient, namespace: str | None, pod: str | None = None) -> list[JsonObject]:
    """List the warnings about pods. Empty if the Events cannot be read. The arguments are those of `list_stops`."""
    return await _list_of_pods(client, namespace, f"{POD_EVENTS},type=Warning", pod)


async def list_pod_events(client: KubeClient, namespace: str, pod: str, most: int) -> list[JsonObject]:
    """List up to `most` Events about a pod, which need not exist any more.

    Raises:
        KubeError: The API rejected the request or could not be reached.
    """
    selector = f"involvedObject.name={pod},{POD_EVENTS}"
    return (await client.list(EVENTS, namespace, field_selector=selector, most=most)).items


async def _list_of_pods(client: KubeClient, namespace: str | None, selector: str, pod: str | None) -> list[JsonObject]:
    if pod is not None:
        selector = f"involvedObject.name={pod},{selector}"
    try:
        return (await client.list(EVENTS, namespace, field_selector=selector, most=MAX_EVENTS)).items
    except KubeError as error:  # this permission is often missing, and Events are optional
        logger.debug("no events: %s", error)
        return []
