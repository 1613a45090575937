"""Find applications in every API group that the cluster serves."""

import asyncio
from contextlib import suppress
from difflib import get_close_matches
from typing import Final

from ...core.dialects.dialect import DIALECTS
from ...core.kubernetes.json_object import JsonObject
from ...kube.client import KubeClient
from ...kube.errors import Forbidden, KubeError, NotFound
from ...kube.resources import SPARK_CLUSTERS, ResourceType
from .reference import resource_of
from .versions import KindNotServed, choose_served_version

_MAX_COMPARED: Final = 500


async def list_served_kinds(client: KubeClient, group: str = "") -> list[ResourceType]:
    """Return the kind SparkApplication in each API group that the cluster serves; the default group comes first.

    Args:
        client: The client of the cluster.
        group: Only the kind in this API group. Empty for all groups.

    Raises:
        KindNotServed: The cluster serves no SparkApplications of `group`.
        KubeError: The API rejected a request or could not be reached.
    """
    wanted = [
        resource_of(f"{dialect.group}/{dialect.versions[0]}") for dialect in DIALECTS if group in ("", dialect.group)
    ]
    answers = await asyncio.gather(*(choose_served_version(client, kind) for kind in wanted), return_exceptions=True)
    served = [answer for answer in answers if isinstance(answer, ResourceType)]
    failures = [answer for answer in answers if isinstance(answer, BaseException)]
    others = [failure for failure in failures if not isinstance(failure, KindNotServed)]
    if others or not served:
        raise (others or failures)[0]
    return served


async def find_cluster(client: KubeClient, name: str) -> tuple[JsonObject, ResourceType]:
    """Read the SparkCluster with a name in the namespace of the client, and return it with its kind.

    Raises:
        NotFound: There is no SparkCluster with this name.
        KindNotServed: The cluster serves no SparkClusters.
        KubeError: The API rejected the request or could not be reached.
    """
    kind = await choose_served_version(client, SPARK_CLUSTERS)
    return await client.get(kind, name, client.default_namespace), kind


async def find_application(
    client: KubeClient, name: str, namespace: str | None = None
) -> tuple[JsonObject, ResourceType]:
    """Read the application with a name, and return it with its kind.

    If both API groups have an application with this name, the one of the default group is returned.

    Args:
        client: The client of the cluster.
        name: The name of the application, or `sparkapplication.GROUP/NAME` for an application of one API group.
        namespace: Its namespace. The default is that of the client.

    Raises:
        NotFound: No API group has an application with this name.
        KindNotServed: The cluster serves no SparkApplications.
        KubeError: The API rejected a request or could not be reached.
    """
    place = namespace or client.default_namespace
    resource_type, _, name = name.rpartition("/")
    kinds = await list_served_kinds(client, resource_type.partition(".")[2])
    answers = await asyncio.gather(*(_read(client, kind, name, place) for kind in kinds))
    for answer, kind in zip(answers, kinds, strict=True):
        if not isinstance(answer, KubeError):
            return answer, kind
    errors = [answer for answer in answers if isinstance(answer, KubeError)]
    error = next((error for error in errors if isinstance(error, Forbidden)), errors[0])
    if isinstance(error, NotFound):
        error.similar_name = await _find_similar_name(client, kinds, name, place)
    raise error


async def _find_similar_name(client: KubeClient, kinds: list[ResourceType], name: str, namespace: str) -> str:
    """Return the most similar name of an existing application; empty if there is none."""
    names: set[str] = set()
    for kind in kinds:
        with suppress(KubeError):  # for example, the user may not list applications
            found = await client.list(kind, namespace, trim=lambda item: item.pop("spec", None), most=_MAX_COMPARED)
            names |= {str(item["metadata"]["name"]) for item in found.items}
    return next(iter(get_close_matches(name, sorted(names), n=1)), "")


async def _read(client: KubeClient, kind: ResourceType, name: str, namespace: str) -> JsonObject | NotFound | Forbidden:
    """Return the application, or the reason why this API group has none for the user."""
    try:
        return await client.get(kind, name, namespace)
    except (NotFound, Forbidden) as error:
        return error
