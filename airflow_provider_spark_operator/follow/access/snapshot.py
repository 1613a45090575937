"""Read an application together with its pods and Events, as far as they are permitted."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from ...core.dialects.dialect import read_progress
from ...core.dialects.progress import Progress
from ...core.kubernetes.json_object import JsonObject
from ...core.report.events import find_pod_names, select_events
from ...kube.client import KubeClient
from ...kube.errors import Forbidden
from ...kube.resources import EVENTS
from .events import MAX_EVENTS, POD_EVENTS
from .find import find_application
from .pod_lists import list_application_pods
from .reference import ApplicationReference

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Snapshot:
    """An application at one moment.

    Attributes:
        reference: The application.
        resource: Its content.
        pods: Its driver and executor pods. None if they may not be listed.
        events: The Events about the application and its pods, oldest first. None if they may not be listed.
        refusals: The requests that the API does not permit.
    """

    reference: ApplicationReference
    resource: JsonObject
    pods: list[JsonObject] | None
    events: list[JsonObject] | None
    refusals: tuple[Forbidden, ...] = ()

    @property
    def progress(self) -> Progress:
        """The progress of the application."""
        return read_progress(self.resource)


async def read_snapshot(client: KubeClient, name: str, *, with_events: bool = True) -> Snapshot:
    """Read an application of any API group in the namespace of the client, its pods and its Events.

    Args:
        client: The client of the cluster.
        name: The name of the application.
        with_events: Whether to read the Events.

    Raises:
        NotFound: There is no application with this name.
        KubeError: The API rejected a request or could not be reached. A missing permission for pods or Events is no
            error.
    """
    resource, kind = await find_application(client, name)
    reference = ApplicationReference.of(resource, kind)
    pods, refused_pods = await _try(list_application_pods(client, reference))
    if not with_events:
        return Snapshot(reference, resource, pods, None, refused_pods)
    events, refused_events = await _try(list_application_events(client, resource, pods or []))
    return Snapshot(reference, resource, pods, events, refused_pods + refused_events)


async def list_application_events(
    client: KubeClient, resource: JsonObject, all_pods: list[JsonObject]
) -> list[JsonObject]:
    """List the Events about an application and its pods, oldest first, also of pods that no longer exist.

    Args:
        client: The client of the cluster.
        resource: The application.
        all_pods: Its pods that exist.

    Raises:
        KubeError: The Events could not be listed.
    """
    metadata = resource["metadata"]
    namespace = metadata["namespace"]
    own, of_pods = await asyncio.gather(
        client.list(EVENTS, namespace, field_selector=f"involvedObject.uid={metadata['uid']}"),
        client.list(EVENTS, namespace, field_selector=POD_EVENTS, most=MAX_EVENTS),
    )
    names = find_pod_names(resource, read_progress(resource), all_pods)
    return [dict(event) for event in select_events(resource, names, [*own.items, *of_pods.items])]


async def _try(request: Coroutine[Any, Any, Answer]) -> tuple[Answer | None, tuple[Forbidden, ...]]:
    try:
        return await request, ()
    except Forbidden as error:
        return None, (error,)
