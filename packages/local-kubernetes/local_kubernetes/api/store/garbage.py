"""Cascading deletion: dependents of an owner, contents of a namespace, instances of a definition.

In Kubernetes, controllers do this later; here it happens within the request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ..kinds.kinds import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Kind
from .owners import list_owners

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..kinds.documents import JsonObject
    from .objects import Objects
    from .owners import Place

FOREGROUND_FINALIZER = "foregroundDeletion"
CONTAINERS = frozenset({NAMESPACES.key, CUSTOM_RESOURCE_DEFINITIONS.key})
"""The kinds whose objects are marked as deleted first, and removed when their contents are deleted."""


class OwnedObjects(Protocol):
    """The objects of a store, as the garbage collector reads and changes them.

    Attributes:
        objects: The objects, for reading.
    """

    objects: Objects

    def update(
        self, kind: Kind, namespace: str | None, name: str, change: Callable[[JsonObject], JsonObject]
    ) -> JsonObject:
        """Replace an object by the result of `change`."""

    def delete(self, kind: Kind, namespace: str | None, name: str, *, propagation: str | None = None) -> JsonObject:
        """Delete an object, or mark it as deleted, and return it."""


def list_contents(objects: Objects, kind: Kind, document: JsonObject) -> Sequence[Place]:
    """Return the objects that must be deleted first: those in a namespace, or the instances of a definition."""
    if kind.key == NAMESPACES.key:
        return objects.list_in_namespace(document["metadata"]["name"])
    if kind.key == CUSTOM_RESOURCE_DEFINITIONS.key:
        spec = document["spec"]
        return objects.list_of_kind((spec["group"], spec["names"]["plural"]))
    return []


def prepare(store: OwnedObjects, document: JsonObject, propagation: str | None) -> None:
    """Before an object is deleted: release its dependents (Orphan), or make it wait for them (Foreground)."""
    metadata = document["metadata"]
    dependents = store.objects.owners.list_dependents(metadata["uid"])
    if propagation == "Orphan":
        for place in dependents:
            _release(store, place, metadata["uid"])
    elif propagation == "Foreground" and dependents:
        finalizers = metadata.setdefault("finalizers", [])
        if FOREGROUND_FINALIZER not in finalizers:
            finalizers.append(FOREGROUND_FINALIZER)


def collect_marked(store: OwnedObjects, kind: Kind, document: JsonObject) -> None:
    """While an object waits for its deletion: delete its contents or its dependents."""
    metadata = document["metadata"]
    for place in list_contents(store.objects, kind, document):
        _delete(store, place)
    if FOREGROUND_FINALIZER in (metadata.get("finalizers") or []):
        for place in store.objects.owners.list_dependents(metadata["uid"]):
            _delete(store, place, "Foreground")
        _finish_foreground(store, metadata["uid"])
    if kind.key in CONTAINERS:
        _finish(store, kind, metadata["name"])


def collect_created(store: OwnedObjects, kind: Kind, document: JsonObject) -> None:
    """After an object was created: delete it if all of its owners were deleted."""
    owners = list_owners(document)
    if owners and not any(store.objects.owners.find_place(owner["uid"]) for owner in owners):
        metadata = document["metadata"]
        _delete(store, (kind, metadata.get("namespace", ""), metadata["name"]))


def collect_removed(store: OwnedObjects, kind: Kind, document: JsonObject) -> None:
    """After an object was deleted: delete its dependents, and the objects that waited for it."""
    uid = document["metadata"]["uid"]
    for place in store.objects.owners.list_dependents(uid):
        dependent = store.objects.get_shared(place[0], place[1] or None, place[2])
        if any(store.objects.owners.find_place(owner["uid"]) for owner in list_owners(dependent)):
            _release(store, place, uid)
        else:
            _delete(store, place)
    for owner in list_owners(document):
        _finish_foreground(store, owner["uid"])
    _finish_container(store, kind, document)


def _delete(store: OwnedObjects, place: Place, propagation: str | None = None) -> None:
    kind, namespace, name = place
    if store.objects.exists(kind, namespace or None, name):
        store.delete(kind, namespace or None, name, propagation=propagation)


def _release(store: OwnedObjects, place: Place, owner: str) -> None:
    def remove_owner(document: JsonObject) -> JsonObject:
        document["metadata"]["ownerReferences"] = [
            reference for reference in list_owners(document) if reference["uid"] != owner
        ]
        return document

    store.update(place[0], place[1] or None, place[2], remove_owner)


def _finish_foreground(store: OwnedObjects, uid: str) -> None:
    """Delete an owner that waited for its dependents, once none is left that blocks it."""
    place = store.objects.owners.find_place(uid)
    if place is None:
        return
    kind, namespace, name = place
    metadata = store.objects.get_shared(kind, namespace or None, name)["metadata"]
    waits = "deletionTimestamp" in metadata and FOREGROUND_FINALIZER in (metadata.get("finalizers") or [])
    if not waits or any(_is_blocking(store, dependent, uid) for dependent in store.objects.owners.list_dependents(uid)):
        return

    def remove_finalizer(document: JsonObject) -> JsonObject:
        document["metadata"]["finalizers"].remove(FOREGROUND_FINALIZER)
        return document

    store.update(kind, namespace or None, name, remove_finalizer)


def _is_blocking(store: OwnedObjects, place: Place, owner: str) -> bool:
    dependent = store.objects.get_shared(place[0], place[1] or None, place[2])
    return any(
        reference["uid"] == owner and reference.get("blockOwnerDeletion") for reference in list_owners(dependent)
    )


def _finish_container(store: OwnedObjects, kind: Kind, document: JsonObject) -> None:
    """Delete a namespace or a definition that waited for its last object."""
    waiting = [(NAMESPACES, document["metadata"].get("namespace"))]
    if kind.custom:
        waiting.append((CUSTOM_RESOURCE_DEFINITIONS, kind.qualified_name))
    for container, name in waiting:
        if name:
            _finish(store, container, name)


def _finish(store: OwnedObjects, container: Kind, name: str) -> None:
    if store.objects.exists(container, None, name):
        held = store.objects.get_shared(container, None, name)
        if "deletionTimestamp" in held["metadata"] and not list_contents(store.objects, container, held):
            store.delete(container, None, name)
