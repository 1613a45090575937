"""Storage of a cluster's objects: in memory, in the history for watches, and in the journal.

`Store` and `Deletion` validate changes; this module does not. `Objects` reads the objects.
"""

import json
import logging
from collections import Counter

from ..kinds.documents import JsonObject
from ..kinds.kinds import BUILT_IN_KINDS, CUSTOM_RESOURCE_DEFINITIONS, Kind
from ..kinds.status import ApiStatusError
from ..rules.definitions import build_kind
from .journal import Journal, JournalError
from .owners import OwnerIndex
from .preconditions import Room
from .watch import ADDED, DELETED, MODIFIED, Changes, Event

logger = logging.getLogger(__name__)

_BUILT_IN_KINDS = {kind.key: kind for kind in BUILT_IN_KINDS}


class Storage:
    """All objects of a cluster, their versions and their recent changes.

    Documents are not copied, neither from nor to the caller.

    Attributes:
        version: The version of the last change.
        owners: Index of the objects and their owners.
        kinds: The kinds of the stored objects, by group and plural.
        events: The last change of each object, by kind and by namespace and name.
        changes: The recent changes, for watches.

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
        self.kinds: dict[tuple[str, str], Kind] = {}
        # An object is stored as its last change, which has it encoded for watches.
        self.events: dict[tuple[str, str], dict[tuple[str, str], Event]] = {}
        self._journal = journal
        self._room = room
        if journal is not None:
            self._restore(journal)
        self.changes = Changes(self.version, history, queue)

    def put(self, kind: Kind, new: JsonObject, current: JsonObject | None) -> None:
        """Store a new or changed object with the next version, which is written into the object.

        Raises:
            ApiStatusError: The size limit or the journal does not allow it.
        """
        metadata = new["metadata"]
        metadata["resourceVersion"] = str(self.version + 1)
        place = (metadata.get("namespace", ""), metadata["name"])
        event = Event(MODIFIED if current else ADDED, new, current, self.version + 1)
        before = self.events.get(kind.key, {}).get(place)
        grown = event.size - (before.size if before else 0)
        self._room.check(new, event.size, grown)
        self._record(kind, place, event.encode(new["apiVersion"]))
        self._room.used += grown
        self.version += 1
        self._insert(kind, place, event)
        self.changes.publish(kind, place[0], event)

    def remove(self, kind: Kind, document: JsonObject) -> None:
        """Remove an object; the version of the removal is written into `document`, which watches receive.

        Raises:
            ApiStatusError: The journal could not be written.
        """
        metadata = document["metadata"]
        place = (metadata.get("namespace", ""), metadata["name"])
        self._record(kind, place, None)
        last = self.events[kind.key].pop(place)
        self._room.used -= last.size
        self.owners.forget(last.current)
        self.version += 1
        metadata["resourceVersion"] = str(self.version)
        self.changes.publish(kind, place[0], Event(DELETED, document, last.current, self.version))

    def _insert(self, kind: Kind, place: tuple[str, str], event: Event) -> None:
        self.kinds[kind.key] = kind
        self.events.setdefault(kind.key, {})[place] = event
        self.owners.record((kind, *place), event.current)

    def _record(self, kind: Kind, place: tuple[str, str], document: bytes | None) -> None:
        """Write a change to the journal before it is made; raises 500 if the journal cannot be written."""
        if self._journal is None:
            return
        try:
            self._journal.write(kind.key, place, self.version + 1, document)
        except JournalError as error:
            why = f"the change could not be written to the journal: {error}"
            raise ApiStatusError(500, "InternalError", why) from error

    def _restore(self, journal: Journal) -> None:
        """Read the objects of the journal; their versions are older than any that a client can request."""
        self.version = max(self.version, journal.version)
        unserved: Counter[str] = Counter()
        for entry in sorted(journal.read(), key=lambda entry: entry.kind != CUSTOM_RESOURCE_DEFINITIONS.key):
            kind = self._find_kind(entry.kind)
            if kind is None:
                unserved[".".join(filter(None, reversed(entry.kind)))] += 1
                continue
            event = Event(ADDED, json.loads(entry.document), None, entry.version)
            self._room.used += event.size
            self._insert(kind, entry.place, event)
        for name, number in sorted(unserved.items()):
            logger.warning(
                "%s (%d) cannot be served until a definition of this kind exists; the journal keeps the objects",
                name,
                number,
            )

    def _find_kind(self, key: tuple[str, str]) -> Kind | None:
        if key in _BUILT_IN_KINDS:
            return _BUILT_IN_KINDS[key]
        definition = self.events.get(CUSTOM_RESOURCE_DEFINITIONS.key, {}).get(("", f"{key[1]}.{key[0]}"))
        return None if definition is None else build_kind(definition.current)
