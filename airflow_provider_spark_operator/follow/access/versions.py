"""Find the version in which a cluster serves a kind. A document, or stored state, may name another version."""

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import replace

from ...core.dialects.dialect import find_dialect
from ...kube.client import KubeClient
from ...kube.errors import Forbidden, KubeError
from ...kube.resources import ResourceType

logger = logging.getLogger(__name__)

# A definition that is installed or replaced is noticed after this time.
FRESH_SECONDS = 60.0


class KindNotServed(KubeError):
    """The cluster does not serve the kind in a suitable version.

    Attributes:
        versions: The versions in which the cluster serves the kind. Empty if it does not serve the kind at all.
        group: The requested API group.
    """

    def __init__(self, server: str, wanted: ResourceType, versions: Sequence[str]) -> None:
        known = f"serves {wanted.kind} of {wanted.group} only as {', '.join(versions)}, not as {wanted.version}"
        unknown = f"does not serve {wanted.kind} of {wanted.group}"
        super().__init__(404, "NotServed", f"{server} {known if versions else unknown}", "get", wanted.qualified_name)
        self.versions = tuple(versions)
        self.group = wanted.group
        dialect = find_dialect(wanted.group)
        self._advice = dialect.installation if dialect else "install its CustomResourceDefinition"

    @property
    def advice(self) -> str:
        """How to install the kind."""
        return self._advice

    def __str__(self) -> str:
        return f"{self.message}. {self.advice[:1].upper()}{self.advice[1:]}"


class ServedVersions:
    """The versions that one cluster serves. Answers of the API are cached.

    Args:
        client: The client of the cluster.
        fresh_seconds: For how many seconds an answer is used.
    """

    def __init__(self, client: KubeClient, *, fresh_seconds: float = FRESH_SECONDS) -> None:
        self._client = client
        self._fresh_seconds = fresh_seconds
        self._answers: dict[ResourceType, tuple[float, ResourceType]] = {}
        self._asking = asyncio.Lock()

    async def choose(self, wanted: ResourceType) -> ResourceType:
        """Choose a version like `choose_served_version`, and cache the answer."""
        async with self._asking:  # tasks that start at the same time send one request
            until, chosen = self._answers.get(wanted, (0.0, wanted))
            if time.monotonic() >= until:
                chosen = await choose_served_version(self._client, wanted)
                self._answers[wanted] = time.monotonic() + self._fresh_seconds, chosen
            return chosen


async def choose_served_version(client: KubeClient, wanted: ResourceType) -> ResourceType:
    """Choose the requested version of a kind if the cluster serves it, else the newest version with the same fields.

    If the API does not permit discovery, the version is not changed.

    Raises:
        KindNotServed: The cluster serves no suitable version.
        KubeError: The API rejected the request or could not be reached.
    """
    try:
        served = await _list_served_versions(client, wanted)
    except Forbidden as error:
        logger.debug("could not list the served API versions: %s; using version %s", error, wanted.version)
        return wanted
    if wanted.version in served:
        return wanted
    dialect = find_dialect(wanted.group)
    alike = dialect.versions if dialect else ()
    for version in alike if wanted.version in alike else ():
        if version in served:
            return replace(wanted, version=version)
    raise KindNotServed(client.server, wanted, served)


async def require_version(client: KubeClient, wanted: ResourceType) -> None:
    """Check that the cluster serves the kind in exactly this version, if the API permits discovery.

    Raises:
        KindNotServed: The cluster does not serve this version.
        KubeError: The API rejected the request or could not be reached.
    """
    try:
        served = await _list_served_versions(client, wanted)
    except Forbidden:
        return
    if wanted.version not in served:
        raise KindNotServed(client.server, wanted, served)


def log_substitution(wanted: ResourceType, chosen: ResourceType, log: logging.Logger) -> None:
    """Log which version is used, if it differs from the requested one."""
    if chosen != wanted:
        log.info(
            "this cluster does not serve %s in version %s; using version %s",
            wanted.kind,
            wanted.api_version,
            chosen.api_version,
        )


async def _list_served_versions(client: KubeClient, wanted: ResourceType) -> list[str]:
    """List the served versions of the kind. If the requested version is served, return only that, to save requests."""
    if await client.is_served(wanted):
        return [wanted.version]
    offered = await client.list_versions(wanted)
    return [version for version in offered if await client.is_served(replace(wanted, version=version))]
