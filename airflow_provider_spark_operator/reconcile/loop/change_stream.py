"""The stream of the changes of one kind of object, which continues after failures of the API."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from ...core.kubernetes.json_object import JsonObject
from ...kube.backoff import Backoff
from ...kube.client import KubeClient
from ...kube.errors import Gone, KubeError
from ...kube.listwatch import Change, list_and_watch
from ...kube.resources import ResourceType

logger = logging.getLogger(__name__)


async def stream_changes(
    client: KubeClient,
    resource: ResourceType,
    namespace: str | None,
    trim: Callable[[JsonObject], object],
    label_selector: str | None = None,
) -> AsyncGenerator[Change, None]:
    """Run `list_and_watch`; if the first list expires between two pages, run it again."""
    report, backoff = _build_reporter(resource, namespace), Backoff()
    while True:
        changes = list_and_watch(client, resource, namespace, label_selector=label_selector, on_error=report, trim=trim)
        try:
            async with aclosing(changes) as stream:
                async for change in stream:
                    yield change
        except Gone as error:  # only from the first list: later lists are repeated by `list_and_watch`
            report(error)
        await asyncio.sleep(backoff.next())


def _build_reporter(resource: ResourceType, namespace: str | None) -> Callable[[KubeError], None]:
    def report(error: KubeError) -> None:
        place = namespace or "all namespaces"
        what = resource.qualified_name
        logger.warning("watch of %s in %s interrupted: %s", what, place, error, extra={"namespace": namespace})

    return report
