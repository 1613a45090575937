"""In which version a cluster serves a kind; a document, or what was stored of an earlier time, may name another."""

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import replace

from airflow_provider_spark_operator.core.dialects.dialect import find_dialect
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Forbidden, KubeError
from airflow_provider_spark_operator.kube.resources import ResourceType

logger = logging.getLogger(__name__)

# A definition that is installed or replaced meanwhile is known after that time.
FRESH_SECONDS = 60.0


class KindNotServed(KubeError):
    """The cluster does not serve the kind in any version that would do.

    Attributes:
        versions: Those in which it serves the kind; empty where the kind is unknown there.
        group: The group that was asked for.
    """

    def __init__(self, server: str, wanted: ResourceType, versions: Sequence[str]) -> None:
        known = f"serves {wanted.kind} of {wanted.group} as {', '.join(versions)} only, not as {wanted.version}"
        unknown = f"does not know {wanted.kind} of {wanted.group}"
        super().__init__(404, "NotServed", f"{server} {known if versions else unknown}", "get", wanted.qualified_name)
        self.versions = tuple(versions)
        self.group = wanted.group
        dialect = find_dialect(wanted.group)
        self._advice = dialect.installation if dialect else "install its CustomResourceDefinition"

    @property
    def advice(self) -> str:
        """How to have it served."""
        return self._advice

    def __str__(self) -> str:
        return f"{self.message}: {self.advice}"


class ServedVersions:
    """The versions that one cluster serves, asked for once and again when the answer is old.

    Args:
        client: For the cluster.
        fresh_seconds: How long an answer counts.
    """

    def __init__(self, client: KubeClient, *, fresh_seconds: float = FRESH_SECONDS) -> None:
        self._client = client
        self._fresh_seconds = fresh_seconds
        self._answers: dict[ResourceType, tuple[float, ResourceType]] = {}
        self._asking = asyncio.Lock()

    async def choose(self, wanted: ResourceType) -> ResourceType:
        """Choose as `choose_served_version`, and remember the answer."""
        async with self._asking:  # a thousand that begin at once ask once
            until, chosen = self._answers.get(wanted, (0.0, wanted))
            if time.monotonic() >= until:
                chosen = await choose_served_version(self._client, wanted)
                self._answers[wanted] = time.monotonic() + self._fresh_seconds, chosen
            return chosen


async def choose_served_version(client: KubeClient, wanted: ResourceType) -> ResourceType:
    """Choose the wanted version of a kind if the cluster serves it, else the newest version with the same fields.

    Where the API does not tell what it serves (discovery is everybody's right unless it was taken away), the
    version stays as it is.

    Raises:
        KindNotServed: There is no such version.
        KubeError: The API could not be asked.
    """
    try:
        served = await _list_served_versions(client, wanted)
    except Forbidden as error:
        logger.debug("the version stays %s: %s", wanted.version, error)
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
    """Check that the cluster serves the kind in that very version, as far as it tells.

    Raises:
        KindNotServed: It does not.
        KubeError: The API could not be asked.
    """
    try:
        served = await _list_served_versions(client, wanted)
    except Forbidden:
        return
    if wanted.version not in served:
        raise KindNotServed(client.server, wanted, served)


def log_substitution(wanted: ResourceType, chosen: ResourceType, log: logging.Logger) -> None:
    """Say in the log which version is used, if it is not the one that was wanted."""
    if chosen != wanted:
        log.info(
            "apiVersion %s of %s is not served by this cluster: used %s",
            wanted.api_version,
            wanted.kind,
            chosen.api_version,
        )


async def _list_served_versions(client: KubeClient, wanted: ResourceType) -> list[str]:
    """List the versions of the kind that are served; if the wanted one is, only that, to save requests."""
    if await client.is_served(wanted):
        return [wanted.version]
    offered = await client.list_versions(wanted)
    return [version for version in offered if await client.is_served(replace(wanted, version=version))]
