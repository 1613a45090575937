"""The changes of one kind of object: a stream, which continues after failures of the API, and what follows it."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from ...core.kubernetes.json_object import JsonObject
from ...kube.backoff import Backoff
from ...kube.client import KubeClient
from ...kube.errors import Forbidden, Gone, KubeError, NotFound
from ...kube.listwatch import Change, list_and_watch
from ...kube.resources import ResourceType

logger = logging.getLogger(__name__)

PAUSE_AFTER_REFUSAL = 30.0


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


async def follow_optional(
    follow: Callable[[], Awaitable[None]],
    message: str,
    namespace: str | None,
    known: asyncio.Event,
    tolerated: tuple[type[KubeError], ...] = (NotFound, Forbidden),
) -> None:
    """Follow a kind that a cluster need not have, until cancelled. While the API rejects it, try again.

    Args:
        follow: Follows the kind. Sets `known` after the first list.
        message: The log message about a failure, with `%s` for the error.
        namespace: The namespace, for the log. None for all namespaces.
        known: Set after the first list, even if the API rejects it: other kinds do not wait for this one.
        tolerated: The errors of the first list that are rejections.

    Raises:
        KubeError: The first list failed with another error.
    """
    while True:
        try:
            await follow()
        except KubeError as error:
            if not (isinstance(error, tolerated) or known.is_set()):
                raise
            # A refusal is logged once. Any other error of a later list may be temporary.
            is_repeated = isinstance(error, NotFound | Forbidden) and known.is_set()
            level = logging.DEBUG if is_repeated else logging.WARNING
            logger.log(level, message, error, extra={"namespace": namespace})
        known.set()
        await asyncio.sleep(PAUSE_AFTER_REFUSAL)


def _build_reporter(resource: ResourceType, namespace: str | None) -> Callable[[KubeError], None]:
    def report(error: KubeError) -> None:
        place = namespace or "all namespaces"
        what = resource.qualified_name
        logger.warning("watch of %s in %s interrupted: %s", what, place, error, extra={"namespace": namespace})

    return report
