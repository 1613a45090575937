"""The owners that objects name, and the dependents of each owner."""

from ..kinds.documents import JsonObject
from ..kinds.kinds import Kind

Place = tuple[Kind, str, str]
"""The place of an object: its kind, its namespace (empty if it has none), its name."""


class OwnerIndex:
    """The existing objects, and the owners that each names, by UID."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}
        self._owners: dict[str, frozenset[str]] = {}
        self._dependents: dict[str, set[str]] = {}

    def record(self, place: Place, document: JsonObject) -> None:
        """Record the current version of an object."""
        uid = document["metadata"]["uid"]
        owners = frozenset(str(owner["uid"]) for owner in list_owners(document))
        for gone in self._owners.get(uid, frozenset()) - owners:
            self._drop(gone, uid)
        for owner in owners:
            self._dependents.setdefault(owner, set()).add(uid)
        self._places[uid] = place
        self._owners[uid] = owners

    def forget(self, document: JsonObject) -> None:
        """Record that an object was deleted."""
        uid = document["metadata"]["uid"]
        for owner in self._owners.pop(uid, frozenset()):
            self._drop(owner, uid)
        self._places.pop(uid, None)

    def find_place(self, uid: str) -> Place | None:
        """Return the place of the object with this UID; None if it does not exist."""
        return self._places.get(uid)

    def list_dependents(self, uid: str) -> list[Place]:
        """Return the places of the objects that name this UID as an owner; the owner may not exist."""
        places = (self._places[dependent] for dependent in self._dependents.get(uid, ()))
        return sorted(places, key=lambda place: (place[0].key, place[1], place[2]))

    def _drop(self, owner: str, dependent: str) -> None:
        dependents = self._dependents.get(owner, set())
        dependents.discard(dependent)
        if not dependents:
            self._dependents.pop(owner, None)


def list_owners(document: JsonObject) -> list[JsonObject]:
    """Return the owner references of an object."""
    return document["metadata"].get("ownerReferences") or []
