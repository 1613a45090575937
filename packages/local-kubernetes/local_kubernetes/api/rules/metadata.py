"""The parts of `metadata` that the API server sets or protects."""

import re
import secrets
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from uuid import uuid4

from ..kinds.documents import JsonObject, format_timestamp
from ..kinds.kinds import NAMESPACES, PODS, SERVICES, Kind
from ..kinds.status import ApiStatusError, Cause, build_bad_request, build_invalid
from .rules import build_invalid_cause as invalid_value
from .rules import find_label_problems, find_labels_causes, find_qualified_name_problems, find_subdomain_problems

_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_PATH_SEGMENT_KINDS = frozenset({"roles", "rolebindings", "clusterroles", "clusterrolebindings"})
_NAMED_BY_LABELS = (NAMESPACES.key, SERVICES.key)
_MAX_GENERATED_PREFIX = 58
_MAX_ANNOTATION_BYTES = 256 * 1024
_STANDARD_FINALIZERS = frozenset({"foregroundDeletion", "kubernetes", "orphan"})
_KEPT_ON_UPDATE = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
)
_SEGMENT = re.compile(r"(?!\.\.?$)[^/%]+")


def ensure_metadata(document: JsonObject) -> JsonObject:
    """Return the document's metadata; add it if it is missing.

    Raises:
        ApiStatusError: 400 if `metadata` is not an object.
    """
    metadata = document.setdefault("metadata", {})
    if metadata is None:
        metadata = document["metadata"] = {}
    if not isinstance(metadata, dict):
        raise build_bad_request("metadata: an object is expected")
    return metadata


def complete_new(kind: Kind, namespace: str | None, document: JsonObject, now: datetime) -> str:
    """Set the metadata of a document that is to be created, in place; return its name.

    Raises:
        ApiStatusError: 400 if the document is for another namespace or has a resource version. 422 if its name,
            labels, finalizers or owner references are not valid.
    """
    metadata = ensure_metadata(document)
    if metadata.get("resourceVersion"):
        raise ApiStatusError(500, "", "resourceVersion should not be set on objects to be created")
    _place(metadata, namespace)
    if not metadata.get("name") and metadata.get("generateName"):
        prefix = str(metadata["generateName"])[:_MAX_GENERATED_PREFIX]
        metadata["name"] = prefix + "".join(secrets.choice(_SUFFIX_ALPHABET) for _ in range(5))
    name = metadata.get("name") or ""
    validate(kind, document)
    for key in _KEPT_ON_UPDATE:
        if key != "generation" or kind.generation:
            metadata.pop(key, None)
    drop_empty(metadata)
    metadata["uid"] = str(uuid4())
    metadata["creationTimestamp"] = format_timestamp(now)
    if kind.generation:
        metadata["generation"] = 1
    document["apiVersion"] = kind.api_version
    document["kind"] = kind.kind
    return str(name)


def complete_update(kind: Kind, current: JsonObject, document: JsonObject) -> None:
    """Set the metadata that an update cannot change, in place.

    Raises:
        ApiStatusError: 400 or 422 if it contradicts the object, for example by another name, namespace or UID.
            It is also raised for a finalizer that is added during a deletion, and for invalid labels.
    """
    was = current["metadata"]
    metadata = ensure_metadata(document)
    _check_place(was, metadata)
    drop_empty(metadata)
    for key in _KEPT_ON_UPDATE:
        metadata.pop(key, None)
        if key in was:
            metadata[key] = was[key]
    if "generateName" in was:
        metadata.setdefault("generateName", was["generateName"])
    document["apiVersion"] = kind.api_version
    document["kind"] = kind.kind
    validate(kind, document)
    _refuse_new_finalizers(kind, was, metadata)


def require_name(metadata: Mapping[str, Any], name: str) -> None:
    """Reject a document whose name is not that of the URL.

    Raises:
        ApiStatusError: 400.
    """
    found = metadata.get("name")
    if not found:
        raise build_bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )
    if found != name:
        raise build_bad_request(f"the name of the object ({found}) does not match the name on the URL ({name})")


def _check_place(was: Mapping[str, Any], metadata: JsonObject) -> None:
    require_name(metadata, was["name"])
    if metadata.get("namespace") not in (None, was.get("namespace")):
        raise build_bad_request("the namespace of the provided object does not match the namespace sent on the request")
    if was.get("namespace"):
        metadata["namespace"] = was["namespace"]
    else:
        metadata.pop("namespace", None)


def drop_empty(metadata: JsonObject) -> None:
    """Remove empty collections, in place; the API server never shows them."""
    for key in ("annotations", "finalizers", "labels", "ownerReferences"):
        if not metadata.get(key, True):
            del metadata[key]


def validate(kind: Kind, document: Mapping[str, Any]) -> None:
    """Check name, labels, annotations, finalizers and owner references.

    Raises:
        ApiStatusError: 422 with all errors.
    """
    metadata = document["metadata"]
    causes = [
        *_find_name_causes(kind, metadata),
        *_find_label_causes(metadata),
        *_find_owner_causes(metadata),
        *_find_finalizer_causes(kind, metadata),
    ]
    if causes:
        raise build_invalid(kind, str(metadata.get("name") or ""), causes)


def _place(metadata: JsonObject, namespace: str | None) -> None:
    given = metadata.get("namespace")
    if namespace is None:
        metadata.pop("namespace", None)
        return
    if given and given != namespace:
        raise build_bad_request("the namespace of the provided object does not match the namespace sent on the request")
    metadata["namespace"] = namespace


def _find_name_causes(kind: Kind, metadata: Mapping[str, Any]) -> list[Cause]:
    name = metadata.get("name")
    if not name:
        return [Cause("metadata.name", "Required value: name or generateName is required", "FieldValueRequired")]
    return [invalid_value("metadata.name", name, why) for why in _find_name_problems(kind)(name)]


def _find_name_problems(kind: Kind) -> Callable[[str], list[str]]:
    """Return why a text cannot be the name of an object of a kind."""
    if kind.key in _NAMED_BY_LABELS:
        return find_label_problems
    return _find_segment_problems if kind.plural in _PATH_SEGMENT_KINDS else find_subdomain_problems


def _find_segment_problems(text: str) -> list[str]:
    return [] if _SEGMENT.fullmatch(text) else ["may not contain '%'"]


def _find_label_causes(metadata: Mapping[str, Any]) -> list[Cause]:
    annotations = metadata.get("annotations") or {}
    causes = list(find_labels_causes((metadata.get("labels") or {}).items(), "metadata.labels"))
    for key in annotations:
        causes += [invalid_value("metadata.annotations", key, why) for why in find_qualified_name_problems(key.lower())]
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > _MAX_ANNOTATION_BYTES:
        detail = f"Too long: may not be more than {_MAX_ANNOTATION_BYTES} bytes"
        causes.append(Cause("metadata.annotations", detail, "FieldValueTooLong"))
    return causes


def _find_finalizer_causes(kind: Kind, metadata: Mapping[str, Any]) -> list[Cause]:
    causes = []
    for index, finalizer in enumerate(metadata.get("finalizers") or []):
        problems = find_qualified_name_problems(finalizer)
        causes += [invalid_value("metadata.finalizers", finalizer, why) for why in problems]
        if not kind.custom and not problems and _is_bare(finalizer):
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            causes.append(invalid_value(f"metadata.finalizers[{index}]", finalizer, detail))
    return causes


def _is_bare(finalizer: str) -> bool:
    """Whether a finalizer lacks a domain that names its owner."""
    return "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS


def _find_owner_causes(metadata: Mapping[str, Any]) -> list[Cause]:
    owners = metadata.get("ownerReferences") or []
    causes = [
        Cause(f"metadata.ownerReferences.{key}", 'Invalid value: "": must not be empty')
        for owner in owners
        for key in ("apiVersion", "kind", "name", "uid")
        if not owner.get(key)
    ]
    if sum(owner.get("controller") is True for owner in owners) > 1:
        causes.append(
            Cause("metadata.ownerReferences", "Invalid value: only one reference can have Controller set to true")
        )
    return causes


def _refuse_new_finalizers(kind: Kind, was: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    if "deletionTimestamp" not in was:
        return
    added = [item for item in metadata.get("finalizers") or [] if item not in (was.get("finalizers") or [])]
    if added:
        cause = Cause(
            "metadata.finalizers",
            "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers "
            f"[]string{{{', '.join(chr(34) + item + chr(34) for item in added)}}}",
            "FieldValueForbidden",
        )
        raise build_invalid(kind, str(metadata.get("name")), [cause])


def should_bump_generation(kind: Kind, current: Mapping[str, Any], document: Mapping[str, Any]) -> bool:
    """Whether an update changes the specification, so that `metadata.generation` increases."""
    if not kind.generation:
        return False
    if kind.custom:
        ignored = {"metadata", "status"} if kind.status else {"metadata"}
        keys = (set(current) | set(document)) - ignored
        return any(current.get(key) != document.get(key) for key in keys)
    return current.get("spec") != document.get("spec")


def get_deletion_grace(kind: Kind, document: Mapping[str, Any], asked: int | None) -> int:
    """Return the grace period of an object in seconds; only pods on a node have one.

    Args:
        kind: The object's kind.
        document: The object.
        asked: The `gracePeriodSeconds` of the request. If None, the grace period of the pod is used.
    """
    if kind.key != PODS.key:
        return 0
    spec = document.get("spec") or {}
    ended = (document.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    if ended or not spec.get("nodeName"):
        return 0
    if asked is None:
        own = spec.get("terminationGracePeriodSeconds")
        return 30 if own is None else max(int(own), 0)
    return 1 if asked < 0 else asked
