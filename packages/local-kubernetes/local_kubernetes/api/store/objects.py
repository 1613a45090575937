"""Reads of a cluster's objects."""

from collections import Counter
from collections.abc import Iterator, Sequence

from ..kinds.documents import JsonObject, copy_json
from ..kinds.kinds import NAMESPACES, Kind
from ..kinds.selectors import Selector
from ..kinds.status import build_not_found
from .owners import OwnerIndex, Place
from .storage import Storage
from .watch import Event


class Objects:
    """The objects of a cluster, for readers. No method changes them.

    Args:
        storage: Storage of the objects.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    @property
    def version(self) -> int:
        """The resource version of the last change of any object."""
        return self._storage.version

    @property
    def owners(self) -> OwnerIndex:
        """The owners that the objects name."""
        return self._storage.owners

    def exists(self, kind: Kind, namespace: str | None, name: str) -> bool:
        """Return whether an object exists."""
        return (namespace or "", name) in self._storage.events.get(kind.key, {})

    def get(self, kind: Kind, namespace: str | None, name: str) -> JsonObject:
        """Return a copy of an object; raises ApiStatusError 404."""
        return copy_json(self.get_event(kind, namespace, name).current)

    def get_shared(self, kind: Kind, namespace: str | None, name: str) -> JsonObject:
        """Return an object without a copy, for callers that neither change nor keep it; raises ApiStatusError 404."""
        return self.get_event(kind, namespace, name).current

    def get_event(self, kind: Kind, namespace: str | None, name: str) -> Event:
        """Return the last change of an object; raises ApiStatusError 404."""
        found = self._storage.events.get(kind.key, {}).get((namespace or "", name))
        if found is None:
            raise build_not_found(kind, name)
        return found

    def list(self, kind: Kind, namespace: str | None) -> tuple[list[JsonObject], int]:
        """Return copies of the objects in a namespace (None: all namespaces), sorted, and the version of the list."""
        return [copy_json(item) for item in self.list_shared(kind, namespace)], self.version

    def list_shared(self, kind: Kind, namespace: str | None) -> Iterator[JsonObject]:
        """Return the objects of `list` without copies, for callers that neither change nor keep them."""
        return (event.current for event in self.list_events(kind, namespace))

    def list_events(
        self, kind: Kind, namespace: str | None, labels: Selector | None = None, fields: Selector | None = None
    ) -> Iterator[Event]:
        """Return the last change of each object of `list`, or of those that match the selectors."""
        # Few of many objects are sorted, for example the pods of one application.
        found = {
            place: event
            for place, event in self._storage.events.get(kind.key, {}).items()
            if (namespace is None or place[0] == namespace)
            and (labels is None or labels.matches(event.current))
            and (fields is None or fields.matches(event.current))
        }
        return (found[place] for place in sorted(found))

    def list_in_namespace(self, namespace: str) -> Sequence[Place]:
        """Return the places of the objects in a namespace."""
        return [
            (self._storage.kinds[key], place[0], place[1])
            for key, events in self._storage.events.items()
            for place in sorted(events)
            if place[0] == namespace
        ]

    def list_of_kind(self, key: tuple[str, str]) -> Sequence[Place]:
        """Return the places of the objects of a kind, named by group and plural."""
        return [(self._storage.kinds[key], place[0], place[1]) for place in sorted(self._storage.events.get(key, {}))]

    def count_homeless(self) -> Counter[str]:
        """Count the objects in each namespace that does not exist."""
        events = self._storage.events.values()
        namespaces = Counter(namespace for places in events for namespace, _ in places if namespace)
        return Counter({name: number for name, number in namespaces.items() if not self.exists(NAMESPACES, None, name)})
