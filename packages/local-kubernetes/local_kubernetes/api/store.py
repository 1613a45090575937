"""Reads and changes of objects: preconditions, namespaces, finalizers and deletion.

All methods are synchronous and belong to the event loop's thread, so each is atomic. Documents are copied when they
enter and leave. `Objects` stores the objects; `admission` and `schema` validate the documents of a kind.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from local_kubernetes.api import garbage
from local_kubernetes.api.documents import JsonObject, add_seconds, copy_json, format_timestamp
from local_kubernetes.api.journal import Journal
from local_kubernetes.api.kinds import (
    NAMESPACES,
    PODS,
    Kind,
)
from local_kubernetes.api.metadata import (
    complete_new,
    complete_update,
    get_deletion_grace,
    should_bump_generation,
)
from local_kubernetes.api.objects import Objects
from local_kubernetes.api.preconditions import Room, check_deletion, check_update, merge_subresource
from local_kubernetes.api.selectors import Selector
from local_kubernetes.api.status import (
    Cause,
    build_already_exists,
    build_forbidden,
)
from local_kubernetes.api.watch import (
    Event,
    Subscription,
)
from local_kubernetes.clock import utc_now


class Store:
    """All objects of a cluster.

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
        self._objects = Objects(version, history, queue, journal, room or Room())
        self.owners = self._objects.owners
        self.journal = journal

    @property
    def resource_version(self) -> int:
        """The version of the last change."""
        return self._objects.version

    def create(self, kind: Kind, namespace: str | None, document: JsonObject, *, dry_run: bool = False) -> JsonObject:
        """Store a new object and return it; the namespace is None for cluster-scoped kinds.

        Raises:
            ApiStatusError: 404 or 403 (the namespace does not exist, or is being deleted), 409; 400 or 422 (metadata).
        """
        new = copy_json(document)
        self._require_namespace(kind, namespace, new)
        name = complete_new(kind, namespace, new, self._clock())
        if self.exists(kind, namespace, name):
            raise build_already_exists(kind, name)
        if kind.custom and kind.status:
            new.pop("status", None)
        if dry_run:
            return new
        self._write(kind, new, None)
        created = copy_json(new)
        garbage.collect_created(self, kind, new)
        return created

    def get(self, kind: Kind, namespace: str | None, name: str) -> JsonObject:
        """Read an object; raises ApiStatusError 404."""
        return copy_json(self._get_existing(kind, namespace, name))

    def get_shared(self, kind: Kind, namespace: str | None, name: str) -> JsonObject:
        """Return an object without a copy, for callers that neither change nor keep it."""
        return self._get_existing(kind, namespace, name)

    def get_event(self, kind: Kind, namespace: str | None, name: str) -> Event:
        """Return the last change of an object; raises ApiStatusError 404."""
        return self._objects.get_event(kind, namespace, name)

    def list(
        self,
        kind: Kind,
        namespace: str | None,
        *,
        labels: Selector | None = None,
        fields: Selector | None = None,
    ) -> tuple[list[JsonObject], int]:
        """Return the objects in a namespace (None: all namespaces), sorted, and the version of the list."""
        return [copy_json(item) for item in self.list_shared(kind, namespace, labels, fields)], self.resource_version

    def list_shared(
        self,
        kind: Kind,
        namespace: str | None,
        labels: Selector | None = None,
        fields: Selector | None = None,
    ) -> Iterator[JsonObject]:
        """Return the objects of `list` without copies, for callers that neither change nor keep them."""
        return (event.current for event in self.list_events(kind, namespace, labels, fields))

    def list_events(
        self, kind: Kind, namespace: str | None, labels: Selector | None = None, fields: Selector | None = None
    ) -> Iterator[Event]:
        """Return the last change of each object of `list`."""
        return self._objects.list_events(kind, namespace, labels, fields)

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
        current = self._get_existing(kind, namespace, name)
        new = copy_json(change(copy_json(current)))
        check_update(kind, current, new)
        new = merge_subresource(kind, current, new, subresource)
        complete_update(kind, current, new)
        new["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"]
        if should_bump_generation(kind, current, new):
            new["metadata"]["generation"] = current["metadata"].get("generation", 0) + 1
        if new == current or dry_run:
            return new
        self._write(kind, new, current)
        return copy_json(new)

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
        current = self._get_existing(kind, namespace, name)
        check_deletion(kind, current, uid, resource_version)
        new = copy_json(current)
        grace = get_deletion_grace(kind, current, grace_seconds)
        if dry_run:
            if grace or kind.key == PODS.key or self._is_held(kind, new):
                self._mark_deleted(kind, new, grace)
            return new
        garbage.prepare(self, new, propagation)
        return copy_json(self._remove_or_mark(kind, new, current, grace))

    def subscribe(self, kind: Kind, namespace: str | None, since: int | None) -> Subscription:
        """Subscribe to the changes of a kind in a namespace (None: all), after the version `since` (None: now).

        Raises ApiStatusError 410 if the history does not reach back to `since`.
        """
        return self._objects.subscribe(kind, namespace, since)

    def count_subscribers(self, kind: Kind) -> int:
        """Return the number of open subscriptions of a kind."""
        return self._objects.count_subscribers(kind)

    def close(self) -> None:
        """Close all subscriptions."""
        self._objects.close()

    def exists(self, kind: Kind, namespace: str | None, name: str) -> bool:
        """Return whether an object exists."""
        return self._objects.exists(kind, namespace, name)

    def count_homeless(self) -> Counter[str]:
        """Count the objects in each namespace that does not exist."""
        return self._objects.count_homeless()

    def list_in_namespace(self, namespace: str) -> Sequence[garbage.Place]:
        """Return the places of the objects in a namespace."""
        return self._objects.list_in_namespace(namespace)

    def list_of_kind(self, key: tuple[str, str]) -> Sequence[garbage.Place]:
        """Return the places of the objects of a kind, named by group and plural."""
        return self._objects.list_of_kind(key)

    def _get_existing(self, kind: Kind, namespace: str | None, name: str) -> JsonObject:
        return self.get_event(kind, namespace, name).current

    def _require_namespace(self, kind: Kind, namespace: str | None, document: JsonObject) -> None:
        if not kind.namespaced:
            return
        home = self._get_existing(NAMESPACES, None, namespace or "")
        if "deletionTimestamp" in home["metadata"]:
            name = str((document.get("metadata") or {}).get("name") or "")
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            detail = f"namespace {namespace} is being terminated"
            raise build_forbidden(kind, name, why, [Cause("metadata.namespace", detail, "NamespaceTerminating")])

    def _write(self, kind: Kind, new: JsonObject, current: JsonObject | None) -> None:
        """Store a changed object, or remove it if it only waited for its last finalizer."""
        metadata = new["metadata"]
        marked = current is not None and "deletionTimestamp" in current["metadata"]
        if marked and not metadata.get("deletionGracePeriodSeconds") and not self._is_held(kind, new):
            self._remove(kind, copy_json(current or new))
            return
        self._objects.put(kind, new, current)

    def _remove(self, kind: Kind, document: JsonObject) -> JsonObject:
        self._objects.remove(kind, document)
        garbage.collect_removed(self, kind, document)
        return document

    def _remove_or_mark(self, kind: Kind, new: JsonObject, current: JsonObject, grace: int) -> JsonObject:
        """Remove an object that nothing delays; mark any other as deleted."""
        lingers = kind.key in garbage.CONTAINERS and "deletionTimestamp" not in current["metadata"]
        if grace == 0 and not lingers and not self._is_held(kind, new):
            if kind.key == PODS.key:
                self._mark_deleted(kind, new, grace)
                if current["metadata"].get(
                    "deletionGracePeriodSeconds"
                ):  # the end of a pod's grace period is a separate change
                    self._objects.put(kind, copy_json(new), current)
            return self._remove(kind, new)
        self._mark_deleted(kind, new, grace)
        if new != current:
            self._write(kind, new, current)
            garbage.collect_marked(self, kind, new)
        return new

    def _is_held(self, kind: Kind, document: JsonObject) -> bool:
        return bool(document["metadata"].get("finalizers") or garbage.list_contents(self, kind, document))

    def _mark_deleted(self, kind: Kind, document: JsonObject, grace: int) -> None:
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
