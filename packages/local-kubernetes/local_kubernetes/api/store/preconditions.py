"""Preconditions of changes, and the part of an object that a request can change."""

from ..kinds.documents import JsonObject
from ..kinds.kinds import NAMESPACES, Kind
from ..kinds.status import ApiStatusError, build_conflict, build_forbidden, build_precondition_failed
from ..rules.metadata import ensure_metadata

MAX_OBJECT_BYTES = 1536 * 1024
MAX_TOTAL_BYTES = 512 * 1024 * 1024
PROTECTED_NAMESPACES = frozenset({"default", "kube-public", "kube-system"})


class Room:
    """The size of all objects together as JSON, limited as etcd limits its database.

    Args:
        limit: Limit in bytes.
    """

    def __init__(self, limit: int = MAX_TOTAL_BYTES) -> None:
        self._limit = limit
        self.used = 0

    def check(self, document: JsonObject, size: int, grown: int) -> None:
        """Reject an object that exceeds the size limit, or lets the total exceed it; deletions are always possible.

        Raises:
            ApiStatusError: 500.
        """
        if size > MAX_OBJECT_BYTES:
            raise ApiStatusError(500, "", "etcdserver: request is too large")
        if grown > 0 and self.used + grown > self._limit and "deletionTimestamp" not in document["metadata"]:
            why = f"all objects together are limited to {self._limit} bytes: delete some"
            raise ApiStatusError(500, "", f"etcdserver: mvcc: database space exceeded ({why})")


def check_deletion(kind: Kind, current: JsonObject, uid: str | None, resource_version: str | None) -> None:
    """Reject the deletion of a protected object, or of another object or version than the request names.

    Raises:
        ApiStatusError: 403, 409.
    """
    metadata = current["metadata"]
    if kind.key == NAMESPACES.key and metadata["name"] in PROTECTED_NAMESPACES:
        raise build_forbidden(kind, metadata["name"], "this namespace may not be deleted")
    _check_precondition(kind, metadata, "uid", uid)
    _check_precondition(kind, metadata, "resourceVersion", resource_version)


def _check_precondition(kind: Kind, metadata: JsonObject, key: str, wanted: str | None) -> None:
    if wanted is not None and wanted != metadata[key]:
        word = "UID" if key == "uid" else "ResourceVersion"
        raise build_precondition_failed(kind, metadata["name"], word, wanted, metadata[key])


def check_update(kind: Kind, current: JsonObject, new: JsonObject) -> None:
    """Reject an update that names another object or version than the current one.

    Raises:
        ApiStatusError: 409; 500, as in Kubernetes, for a version that is not a number.
    """
    metadata = ensure_metadata(new)
    found = current["metadata"]["uid"]
    if metadata.get("uid") not in (None, "", found):
        why = f"Precondition failed: UID in precondition: {metadata['uid']}, UID in object meta: {found}"
        raise build_conflict(kind, current["metadata"]["name"], why)
    version = metadata.get("resourceVersion")
    if version and not str(version).isdecimal():
        raise ApiStatusError(500, "", f'the resourceVersion "{version}" is not a number')
    if version not in (None, "", current["metadata"]["resourceVersion"]):
        raise build_conflict(kind, current["metadata"]["name"])


def merge_subresource(kind: Kind, current: JsonObject, new: JsonObject, subresource: str | None) -> JsonObject:
    """Return the current object with the part of an update that its subresource can write."""
    if subresource == "status":
        result = current | {"metadata": dict(current["metadata"]), "status": new.get("status")}
        writable = ("managedFields",) if kind.custom else ("annotations", "finalizers", "labels", "managedFields")
        for key in writable:
            if key in new["metadata"]:
                result["metadata"][key] = new["metadata"][key]
            else:
                result["metadata"].pop(key, None)
    else:
        result = new
        if kind.status:
            result["status"] = current.get("status")
    if result.get("status", ...) is None:
        del result["status"]
    return result
