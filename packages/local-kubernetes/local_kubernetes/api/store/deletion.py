"""Deletion of objects: finalizers, grace periods, and the contents and dependents of an object.

`Store` checks the preconditions of a deletion, and `garbage` deletes the objects that depend on another.
"""

from collections.abc import Callable
from datetime import datetime

from ..kinds.documents import JsonObject, add_seconds, copy_json, format_timestamp
from ..kinds.kinds import NAMESPACES, PODS, Kind
from . import garbage
from .storage import Storage


class Deletion:
    """Removes objects that nothing delays, and marks all others as deleted.

    Finalizers delay a removal, and so do the grace period of a pod and the contents of a namespace or a definition.

    Args:
        store: The objects, as the garbage collector reads and changes them.
        storage: Storage of the same objects.
        clock: Returns the current time.
    """

    def __init__(self, store: garbage.OwnedObjects, storage: Storage, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._storage = storage
        self._clock = clock

    def preview(self, kind: Kind, current: JsonObject, grace: int) -> JsonObject:
        """Return the object as its deletion would show it, without a change; arguments as for `delete`."""
        new = copy_json(current)
        if grace or kind.key == PODS.key or self._is_held(kind, new):
            self._mark(kind, new, grace)
        return new

    def delete(self, kind: Kind, current: JsonObject, grace: int, propagation: str | None) -> JsonObject:
        """Remove an object or mark it as deleted; return its last or present version.

        Args:
            kind: The object's kind.
            current: The object, which is not changed.
            grace: Grace period in seconds.
            propagation: Treatment of dependents: `Background`, `Foreground` or `Orphan`. None means `Background`.
        """
        new = copy_json(current)
        garbage.prepare(self._store, new, propagation)
        lingers = kind.key in garbage.CONTAINERS and "deletionTimestamp" not in current["metadata"]
        if grace or lingers or self._is_held(kind, new):
            self._mark(kind, new, grace)
            if new != current:
                self._storage.put(kind, new, current)
                garbage.collect_marked(self._store, kind, new)
            return new
        if kind.key == PODS.key:
            self._mark(kind, new, grace)
            if current["metadata"].get("deletionGracePeriodSeconds"):
                self._storage.put(kind, copy_json(new), current)  # the end of a grace period is a separate change
        self.remove(kind, new)
        return new

    def is_complete(self, kind: Kind, new: JsonObject, current: JsonObject) -> bool:
        """Return whether an update of an object that is marked as deleted ends the last delay of its removal."""
        marked = "deletionTimestamp" in current["metadata"]
        return marked and not new["metadata"].get("deletionGracePeriodSeconds") and not self._is_held(kind, new)

    def remove(self, kind: Kind, document: JsonObject) -> None:
        """Remove an object, then the objects that depend on it; the version of the removal is written into it."""
        self._storage.remove(kind, document)
        garbage.collect_removed(self._store, kind, document)

    def _is_held(self, kind: Kind, document: JsonObject) -> bool:
        objects = self._store.objects
        return bool(document["metadata"].get("finalizers") or garbage.list_contents(objects, kind, document))

    def _mark(self, kind: Kind, document: JsonObject, grace: int) -> None:
        """Mark an object as deleted, or shorten the grace period of one that is marked."""
        metadata = document["metadata"]
        marked = "deletionTimestamp" in metadata
        if marked and grace >= metadata.get("deletionGracePeriodSeconds", 0):
            return
        metadata["deletionTimestamp"] = format_timestamp(add_seconds(self._clock(), grace))
        metadata["deletionGracePeriodSeconds"] = grace
        if kind.generation and not marked:
            metadata["generation"] = metadata.get("generation", 0) + 1
        if kind.key == NAMESPACES.key:
            document["status"] = (document.get("status") or {}) | {"phase": "Terminating"}
