"""The manifest of a stored application: what a user has to submit to get the same application again."""

from collections.abc import Mapping
from typing import Any, Final

from .json_object import JsonObject
from .names import ANNOTATION_CLAIM, ANNOTATION_LAST_APPLIED, ANNOTATION_STOPPED_POLICY, LABEL_TASK

_KEPT: Final = ("name", "namespace", "labels", "annotations")
# The annotations and the label of the task that submitted an application.
_TASK_PREFIX: Final = LABEL_TASK.rpartition("/")[0] + "/"


def is_stored(document: Mapping[str, Any]) -> bool:
    """Return whether a document was read from an API server, which sets the uid."""
    metadata = document.get("metadata")
    return isinstance(metadata, Mapping) and "uid" in metadata


def build_manifest(stored: Mapping[str, Any]) -> JsonObject:
    """Return an application without its status and its history. It belongs to no task and to no controller.

    Args:
        stored: The application as the API returned it.
    """
    metadata = {key: stored["metadata"][key] for key in _KEPT if key in stored["metadata"]}
    for part in ("labels", "annotations"):
        if isinstance(metadata.get(part), Mapping):
            metadata[part] = {key: value for key, value in metadata[part].items() if not _is_foreign(str(key))}
    return {
        "apiVersion": stored.get("apiVersion"),
        "kind": stored.get("kind"),
        "metadata": metadata,
        "spec": stored.get("spec"),
    }


def _is_foreign(key: str) -> bool:
    return key.startswith(_TASK_PREFIX) or key in (ANNOTATION_LAST_APPLIED, ANNOTATION_CLAIM, ANNOTATION_STOPPED_POLICY)
