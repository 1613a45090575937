"""What the watches have shown, kept by name: the newest state of every object, never an older one."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

JsonObject: TypeAlias = dict[str, Any]


class ObjectKey(NamedTuple):
    """Where an object lives; what the work queue hands out."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def key_of(document: Mapping[str, Any]) -> ObjectKey:
    """The key of a namespaced object."""
    metadata = document["metadata"]
    return ObjectKey(metadata.get("namespace", ""), metadata["name"])


# As many as may go at once; who asks for an earlier one has to ask the API.
_MOST_DEPARTED = 500


class ObjectCache:
    """The objects of one kind in all watched namespaces.

    The answers to our own writes are put in as well (`put_answer`), so that the next look at an object never
    sees it older than we have written it. Resource versions are compared as integers, which the API promises
    since Kubernetes 1.35 and etcd always kept; one that is none is believed to be newer.

    Args:
        owner: from an object to the key of what it belongs to, for `belonging_to`; None belongs to nothing.
        memorable: which objects `departed_from` tells of.
    """

    def __init__(
        self,
        owner: Callable[[JsonObject], ObjectKey | None] = lambda _: None,
        memorable: Callable[[JsonObject], bool] = lambda _: False,
    ) -> None:
        self._objects: dict[ObjectKey, JsonObject] = {}
        self._owner = owner
        self._memorable = memorable
        self._owned: dict[ObjectKey, set[ObjectKey]] = {}
        self._departed: dict[ObjectKey, JsonObject] = {}
        # How far the watch has come in each namespace: an answer older than this whose object is not here
        # was overtaken by the object's deletion.
        self._seen: dict[str, int] = {}
        # Those that are not watched any more: what is in the middle of being done there must not come back to stay.
        self._left: set[str] = set()

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[ObjectKey]:
        return iter(self._objects)

    def get(self, key: ObjectKey) -> JsonObject | None:
        """The newest known state of an object; not to be changed by the caller."""
        return self._objects.get(key)

    def documents(self) -> Iterable[JsonObject]:
        """The newest known state of every object; not to be changed by the caller."""
        return self._objects.values()

    def belonging_to(self, key: ObjectKey) -> list[JsonObject]:
        """The objects whose owner is `key`."""
        return [self._objects[owned] for owned in sorted(self._owned.get(key, ()))]

    def departed_from(self, key: ObjectKey) -> list[JsonObject]:
        """The last memorable object, with its metadata only, whose owner is `key` and whose end the watch has shown.

        Of those whose end is long ago nothing is known.
        """
        departed = self._departed.get(key)
        return [] if departed is None else [departed]

    def put(self, document: JsonObject) -> bool:
        """Take what the watch shows; whether it was news."""
        self._advance(document)
        return self._store(document)

    def put_answer(self, document: JsonObject) -> bool:
        """Take the API's answer to a read or write of ours; whether it was news."""
        key, version = key_of(document), _version(document)
        if key.namespace in self._left:
            return False
        if key not in self._objects and version is not None and version <= self._seen.get(key.namespace, 0):
            return False
        return self._store(document)

    def replace(self, namespace: str | None, documents: Iterable[JsonObject]) -> set[ObjectKey]:
        """Take a complete list of a namespace (None: of all); return what was new, changed or has gone."""
        self._left = self._left - {namespace} if namespace is not None else set()
        changed: set[ObjectKey] = set()
        listed: set[ObjectKey] = set()
        for document in documents:
            listed.add(key_of(document))
            if self.put(document):
                changed.add(key_of(document))
        here = {key for key in self._objects if namespace is None or key.namespace == namespace}
        for key in here - listed:
            self._drop(key)
            changed.add(key)
        return changed

    def remove(self, document: JsonObject) -> bool:
        """Take a deletion that the watch shows; False if a newer object has the name already."""
        self._advance(document)
        key = key_of(document)
        known = self._objects.get(key)
        if known is None or (_is_older(document, known) and not _is_same(document, known)):
            return False
        self._drop(key)
        self._remember(document)
        return True

    def forget(self, key: ObjectKey) -> None:
        """Drop what a live read has shown to be gone."""
        if key in self._objects:
            self._drop(key)

    def forget_namespace(self, namespace: str) -> None:
        """Drop everything of a namespace that is no longer watched, and keep nothing of it until it is listed again."""
        self._left.add(namespace)
        for key in [key for key in self._objects if key.namespace == namespace]:
            self._drop(key)
        self._seen.pop(namespace, None)

    def _store(self, document: JsonObject) -> bool:
        key = key_of(document)
        known = self._objects.get(key)
        if known is not None and (_same_version(document, known) or _is_older(document, known)):
            return False
        if known is not None:
            self._drop(key)
        document["metadata"].pop("managedFields", None)
        self._objects[key] = document
        if owner := self._owner(document):
            self._owned.setdefault(owner, set()).add(key)
        return True

    def _remember(self, document: JsonObject) -> None:
        owner = self._owner(document)
        if owner is None or not self._memorable(document):
            return
        self._departed.pop(owner, None)
        self._departed[owner] = {"kind": document.get("kind", ""), "metadata": document["metadata"]}
        if len(self._departed) > _MOST_DEPARTED:
            del self._departed[next(iter(self._departed))]

    def _drop(self, key: ObjectKey) -> None:
        document = self._objects.pop(key)
        owner = self._owner(document)
        if owner in self._owned:
            self._owned[owner].discard(key)
            if not self._owned[owner]:
                del self._owned[owner]

    def _advance(self, document: JsonObject) -> None:
        namespace, version = key_of(document).namespace, _version(document)
        if version is not None:
            self._seen[namespace] = max(version, self._seen.get(namespace, 0))


def _version(document: JsonObject) -> int | None:
    text = document["metadata"].get("resourceVersion", "")
    return int(text) if text.isdecimal() else None


def _same_version(one: JsonObject, other: JsonObject) -> bool:
    version = one["metadata"].get("resourceVersion")
    return version is not None and version == other["metadata"].get("resourceVersion") and _is_same(one, other)


def _is_older(one: JsonObject, other: JsonObject) -> bool:
    mine, others = _version(one), _version(other)
    return mine is not None and others is not None and mine < others


def _is_same(one: JsonObject, other: JsonObject) -> bool:
    return bool(one["metadata"].get("uid") == other["metadata"].get("uid"))
