"""Storage of a cluster's objects: in memory, in the history for watches, and in the journal.

`Store` validates changes; this module does not.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from local_kubernetes.api.definitions import build_kind
from local_kubernetes.api.documents import JsonObject
from local_kubernetes.api.garbage import OwnerIndex, Place
from local_kubernetes.api.journal import Journal, find_latest, log_unserved
from local_kubernetes.api.journal_format import JournalEntry
from local_kubernetes.api.kinds import (
    BUILT_IN_KINDS,
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    Kind,
)
from local_kubernetes.api.preconditions import Room
from local_kubernetes.api.selectors import Selector
from local_kubernetes.api.status import ApiStatusError, build_not_found
from local_kubernetes.api.watch import (
    ADDED,
    DELETED,
    MODIFIED,
    Event,
    Feed,
    Subscription,
)

_BUILT_IN_KINDS = {kind.key: kind for kind in BUILT_IN_KINDS}


class Objects:
    """All objects of a cluster, their versions and their recent changes.

    Documents are not copied, neither from nor to the caller.

    Args:
        first_version: Resource version to start from.
        history: Number of changes of each kind that a watch can replay.
        queue: Number of changes that can wait for one subscriber before its stream is cut.
        journal: File to which changes are written, and from which earlier ones are read. If None, changes are not
            written.
        room: Limit of the size of all objects.
    """

    def __init__(self, first_version: int, history: int, queue: int, journal: Journal | None, room: Room) -> None:
        self.version = first_version
        self.owners = OwnerIndex()
        self._start = first_version
        self._history = history
        self._queue = queue
        self._journal = journal
        self._room = room
        self._kinds: dict[tuple[str, str], Kind] = {}
        # An object is stored as its last change, which has it encoded for watches.
        self._objects: dict[tuple[str, str], dict[tuple[str, str], Event]] = {}
        self._feeds: dict[tuple[str, str], Feed] = {}
        self._unserved: dict[tuple[tuple[str, str], tuple[str, str]], JournalEntry] = {}
        if journal is not None:
            self._restore(journal)

    def exists(self, kind: Kind, namespace: str | None, name: str) -> bool:
        """Return whether an object exists."""
        return (namespace or "", name) in self._ensure_events(kind)

    def get_event(self, kind: Kind, namespace: str | None, name: str) -> Event:
        """Return the last change of an object; raises ApiStatusError 404."""
        found = self._ensure_events(kind).get((namespace or "", name))
        if found is None:
            raise build_not_found(kind, name)
        return found

    def list_events(
        self, kind: Kind, namespace: str | None, labels: Selector | None, fields: Selector | None
    ) -> Iterator[Event]:
        """Return the last change of each object of a kind in a namespace (None: all namespaces), sorted."""
        objects = self._ensure_events(kind)
        for place in sorted(objects):
            item = objects[place].current
            if (
                (namespace is None or place[0] == namespace)
                and (labels is None or labels.matches(item))
                and (fields is None or fields.matches(item))
            ):
                yield objects[place]

    def count_homeless(self) -> Counter[str]:
        """Count the objects in each namespace that does not exist."""
        namespaces = Counter(namespace for objects in self._objects.values() for namespace, _ in objects if namespace)
        return Counter({name: number for name, number in namespaces.items() if not self.exists(NAMESPACES, None, name)})

    def list_in_namespace(self, namespace: str) -> Sequence[Place]:
        """Return the places of the objects in a namespace."""
        return [
            (self._kinds[key], place[0], place[1])
            for key, objects in self._objects.items()
            for place in sorted(objects)
            if place[0] == namespace
        ]

    def list_of_kind(self, key: tuple[str, str]) -> Sequence[Place]:
        """Return the places of the objects of a kind, named by group and plural."""
        return [(self._kinds[key], place[0], place[1]) for place in sorted(self._objects.get(key, {}))]

    def put(self, kind: Kind, new: JsonObject, current: JsonObject | None) -> None:
        """Store a new or changed object with the next version, which is written into the object.

        Raises:
            ApiStatusError: The size limit or the journal does not allow it.
        """
        metadata = new["metadata"]
        metadata["resourceVersion"] = str(self.version + 1)
        place = (metadata.get("namespace", ""), metadata["name"])
        event = Event(MODIFIED if current else ADDED, new, current, self.version + 1)
        before = self._ensure_events(kind).get(place)
        grown = event.size - (before.size if before else 0)
        self._room.check(new, event.size, grown)
        self._record(kind, place, new)
        self._room.used += grown
        self.version += 1
        self._ensure_events(kind)[place] = event
        self.owners.record((kind, *place), new)
        self._ensure_feed(kind).publish(place[0], event)

    def remove(self, kind: Kind, document: JsonObject) -> None:
        """Remove an object; the version of the removal is written into `document`, which watches receive.

        Raises:
            ApiStatusError: The journal could not be written.
        """
        metadata = document["metadata"]
        place = (metadata.get("namespace", ""), metadata["name"])
        self._record(kind, place, None)
        last = self._ensure_events(kind).pop(place)
        self._room.used -= last.size
        self.owners.forget(last.current)
        self.version += 1
        metadata["resourceVersion"] = str(self.version)
        self._ensure_feed(kind).publish(place[0], Event(DELETED, document, last.current, self.version))

    def subscribe(self, kind: Kind, namespace: str | None, since: int | None) -> Subscription:
        """Subscribe to the changes of a kind; raises ApiStatusError 410 if `since` is older than the history."""
        return self._ensure_feed(kind).subscribe(namespace, since)

    def count_subscribers(self, kind: Kind) -> int:
        """Return how many subscriptions of a kind are open."""
        return self._ensure_feed(kind).subscribers

    def close(self) -> None:
        """End all subscriptions."""
        for feed in self._feeds.values():
            feed.close()

    def _ensure_events(self, kind: Kind) -> dict[tuple[str, str], Event]:
        self._kinds[kind.key] = kind
        return self._objects.setdefault(kind.key, {})

    def _ensure_feed(self, kind: Kind) -> Feed:
        if kind.key not in self._feeds:
            self._feeds[kind.key] = Feed(self._start, self._history, self._queue)
        return self._feeds[kind.key]

    def _record(self, kind: Kind, place: tuple[str, str], document: JsonObject | None) -> None:
        """Write a change to the journal before it is made; raises 500 if the journal cannot be written."""
        if self._journal is None:
            return
        try:
            if self._journal.overgrown:
                self._journal.compact(self._list_entries())
            self._journal.append(JournalEntry(kind.key, place, self.version + 1, document))
            self._unserved.pop((kind.key, place), None)
        except OSError as error:
            why = f"the change could not be written to the journal: {error.strerror or error}"
            raise ApiStatusError(500, "InternalError", why) from error

    def _list_entries(self) -> Iterator[JournalEntry]:
        """Return all objects, definitions before their instances; objects of unknown kinds stay in the journal."""
        yield from self._unserved.values()
        keys = sorted(self._objects, key=lambda key: key != CUSTOM_RESOURCE_DEFINITIONS.key)
        for key in keys:
            for place, event in self._objects[key].items():
                yield JournalEntry(key, place, event.resource_version, event.current)

    def _restore(self, journal: Journal) -> None:
        """Read the objects of the journal; their versions are older than any that a client can request."""
        entries = journal.read()
        self.version = self._start = max([self.version, *(entry.version for entry in entries)])
        found = sorted(find_latest(entries), key=lambda entry: entry.kind != CUSTOM_RESOURCE_DEFINITIONS.key)
        for entry in found:
            kind = self._find_kind(entry.kind)
            if kind is None or entry.document is None:
                self._unserved[entry.kind, entry.place] = entry
                continue
            self._ensure_events(kind)[entry.place] = event = Event(ADDED, entry.document, None, entry.version)
            self._room.used += event.size
            self.owners.record((kind, *entry.place), entry.document)
        log_unserved(self._unserved.values())
        journal.compact(self._list_entries())

    def _find_kind(self, key: tuple[str, str]) -> Kind | None:
        if key in _BUILT_IN_KINDS:
            return _BUILT_IN_KINDS[key]
        definition = self._ensure_events(CUSTOM_RESOURCE_DEFINITIONS).get(("", f"{key[1]}.{key[0]}"))
        return None if definition is None else build_kind(definition.current)
