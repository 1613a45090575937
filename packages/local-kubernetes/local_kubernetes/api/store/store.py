"""Changes of objects, with preconditions on their versions and namespaces.

All methods are synchronous and belong to the event loop's thread, so each is atomic. A new object is copied. The store
owns the documents that a change returns, and those that it returns itself. Nothing may change them, because the
versions of an object share their equal parts. `Objects` reads the objects, `Deletion` deletes them, and `Storage`
stores them. `admission` and `schema` validate the documents of a kind.
"""

import time
from collections.abc import Callable
from datetime import datetime

from ...clock import utc_now
from ..kinds.documents import JsonObject, copy_json
from ..kinds.kinds import NAMESPACES, Kind
from ..kinds.status import Cause, build_already_exists, build_forbidden
from ..rules.metadata import complete_new, complete_update, get_deletion_grace, should_bump_generation
from . import garbage
from .deletion import Deletion
from .journal import Journal
from .objects import Objects
from .preconditions import Room, check_deletion, check_update, merge_subresource
from .storage import Storage


class Store:
    """The objects of a cluster, and the changes that clients make to them.

    Attributes:
        objects: The objects, for reading.
        changes: The changes of the objects, for watches.
        journal: File to which the changes are written; None if they are not written.

    Args:
        clock: Returns the current time.
        first_version: Resource version to start from. The default is higher than any version of an earlier store, so
            that clients of that store must list again.
        history: Number of changes of each kind that a watch can replay.
        queue: Number of changes that can wait for one subscriber before it is cut.
        journal: File to which changes are written, and from which earlier ones are read. If None, changes are not
            written.
        room: Limit of the size of all objects; by default that of Kubernetes.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], datetime] = utc_now,
        first_version: int | None = None,
        history: int = 2000,
        queue: int = 4000,
        journal: Journal | None = None,
        room: Room | None = None,
    ) -> None:
        self._clock = clock
        version = time.time_ns() // 1_000_000 if first_version is None else first_version
        self._storage = Storage(version, history, queue, journal, room or Room())
        self.objects = Objects(self._storage)
        self.changes = self._storage.changes
        self.journal = journal
        self._deletion = Deletion(self, self._storage, clock)

    def create(self, kind: Kind, namespace: str | None, document: JsonObject, *, dry_run: bool = False) -> JsonObject:
        """Store a new object and return it; the namespace is None for cluster-scoped kinds.

        Raises:
            ApiStatusError: 404 or 403 (the namespace does not exist, or is being deleted), 409; 400 or 422 (metadata).
        """
        document = copy_json(document)
        self._require_namespace(kind, namespace, document)
        name = complete_new(kind, namespace, document, self._clock())
        if self.objects.exists(kind, namespace, name):
            raise build_already_exists(kind, name)
        if kind.custom and kind.status:
            document.pop("status", None)
        if not dry_run:
            self._storage.put(kind, document, None)
            garbage.collect_created(self, kind, document)
        return document

    def update(
        self,
        kind: Kind,
        namespace: str | None,
        name: str,
        change: Callable[[JsonObject], JsonObject],
        *,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> JsonObject:
        """Replace an object by the result of `change`, which receives a copy; return the new object.

        If nothing changes, nothing is written and the resource version stays. With the subresource `status`, only the
        status (and labels, annotations and finalizers of built-in kinds) is taken. Without it, everything but the
        status is taken, for kinds that have the subresource.

        Raises:
            ApiStatusError: 404; 409 if the result has another resourceVersion or UID than the object; 400 and 422 for
                invalid metadata. Exceptions of `change` are propagated.
        """
        current = self.objects.get_shared(kind, namespace, name)
        new = change(copy_json(current))
        check_update(kind, current, new)
        new = merge_subresource(kind, current, new, subresource)
        complete_update(kind, current, new)
        new["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"]
        if should_bump_generation(kind, current, new):
            new["metadata"]["generation"] = current["metadata"].get("generation", 0) + 1
        if new == current or dry_run:
            return new
        if self._deletion.is_complete(kind, new, current):
            self._deletion.remove(kind, copy_json(current))
        else:
            self._storage.put(kind, new, current)
        return new

    def delete(
        self,
        kind: Kind,
        namespace: str | None,
        name: str,
        *,
        grace_seconds: int | None = None,
        propagation: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        dry_run: bool = False,
    ) -> JsonObject:
        """Delete an object or begin its deletion; return its present or last version.

        Finalizers delay the deletion. So does the grace period of a pod on a node, which the kubelet ends by a deletion
        with `grace_seconds=0`.

        Args:
            kind: The object's kind.
            namespace: The object's namespace; None for cluster-scoped kinds.
            name: The object's name.
            grace_seconds: Grace period in seconds, instead of the pod's own.
            propagation: Treatment of dependents: `Background` (the default), `Foreground` or `Orphan`.
            uid: Precondition: the UID of the object.
            resource_version: Precondition: the version of the object.
            dry_run: Whether to validate without a change.

        Raises:
            ApiStatusError: 404, 409 for a precondition, 403 for the default namespace.
        """
        current = self.objects.get_shared(kind, namespace, name)
        check_deletion(kind, current, uid, resource_version)
        grace = get_deletion_grace(kind, current, grace_seconds)
        if dry_run:
            return self._deletion.preview(kind, current, grace)
        return self._deletion.delete(kind, current, grace, propagation)

    def _require_namespace(self, kind: Kind, namespace: str | None, document: JsonObject) -> None:
        if not kind.namespaced:
            return
        home = self.objects.get_shared(NAMESPACES, None, namespace or "")
        if "deletionTimestamp" in home["metadata"]:
            name = str((document.get("metadata") or {}).get("name") or "")
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            detail = f"namespace {namespace} is being terminated"
            raise build_forbidden(kind, name, why, [Cause("metadata.namespace", detail, "NamespaceTerminating")])
