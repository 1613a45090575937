"""Prepare the document of an application for its submission, and compare it with the stored object."""

import copy
import logging
from collections.abc import Iterator, Mapping
from typing import Any

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.problems import InvalidResource, Problem, filter_errors, filter_warnings
from ...core.validation.validate import validate_without_status
from ...kube.client import KubeClient
from ...kube.resources import SPARK_APPLICATIONS, SPARK_CLUSTERS, ResourceType
from ..access.reference import resource_of
from ..access.versions import choose_served_version, log_substitution
from .stamp import TaskStamp

logger = logging.getLogger(__name__)


def prepare_document(
    client: KubeClient, document: Mapping[str, Any], namespace: str | None, stamp: TaskStamp | None
) -> JsonObject:
    """Return the complete document to send.

    Raises:
        InvalidResource: The document is not valid.
    """
    body = copy.deepcopy(dict(document))
    metadata = body.setdefault("metadata", {})
    if stamp is not None and isinstance(metadata, dict):
        if not metadata.get("name"):
            metadata["name"] = stamp.build_default_name()
        for field, added in (("labels", stamp.build_labels()), ("annotations", stamp.build_annotations())):
            given = metadata.get(field) or {}
            # The validation rejects a value that is not an object.
            metadata[field] = {**given, **added} if isinstance(given, Mapping) else given
    findings = validate_without_status(body)
    problems = filter_errors(findings)
    if not problems and namespace and metadata.get("namespace", namespace) != namespace:
        problems.append(
            Problem(
                "metadata.namespace",
                f"is {metadata['namespace']!r}, but the application is submitted to {namespace!r}: "
                "leave one of them out",
            )
        )
    if problems:
        raise InvalidResource(problems)
    for finding in filter_warnings(findings):
        logger.warning("%s %s: %s", body["kind"], metadata["name"], finding)
    metadata["namespace"] = namespace or metadata.get("namespace") or client.default_namespace
    body.pop("status", None)
    return body


async def set_served_version(client: KubeClient, body: JsonObject) -> ResourceType:
    """Change the document to a version that the cluster serves, and return the kind in that version.

    Raises:
        KindNotServed: The cluster serves no suitable version.
        KubeError: The API rejected the request or could not be reached.
    """
    kind = SPARK_CLUSTERS if body["kind"] == SPARK_CLUSTERS.kind else SPARK_APPLICATIONS
    wanted = resource_of(body["apiVersion"], kind)
    chosen = await choose_served_version(client, wanted)
    log_substitution(wanted, chosen, logger)
    body["apiVersion"] = chosen.api_version
    return chosen


def find_dropped_fields(sent: Mapping[str, Any], stored: Mapping[str, Any]) -> list[str]:
    """Return the paths of the fields of `sent` that `stored` lacks, because the cluster does not define them.

    Of a missing object, only its own path is returned. A field with another value is not missing, because admission
    can change values.
    """
    return list(_find_absent(sent.get("spec"), stored.get("spec"), "spec"))


def _find_absent(sent: object, stored: object, path: str) -> Iterator[str]:
    if isinstance(sent, Mapping) and isinstance(stored, Mapping):
        for key, value in sent.items():
            if key in stored:
                yield from _find_absent(value, stored[key], f"{path}.{key}")
            elif value is not None:
                yield f"{path}.{key}"
    elif isinstance(sent, list) and isinstance(stored, list):
        for number, (ours, theirs) in enumerate(zip(sent, stored, strict=False)):
            yield from _find_absent(ours, theirs, f"{path}[{number}]")
