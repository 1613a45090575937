"""The latest known state of every watched object, by name."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from pydantic_core import from_json, to_json

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.ownership import trim_managed_fields
from ...core.lifecycle.decisive_fields import select_decisive_fields, shorten_resource, shorten_workload

_PACKED: Final = "packed"


class ObjectKey(NamedTuple):
    """The namespace and name of an object."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def key_of(document: Mapping[str, Any]) -> ObjectKey:
    """The key of a namespaced object."""
    metadata = document["metadata"]
    return ObjectKey(metadata.get("namespace", ""), metadata["name"])


def drop_managed_fields(document: JsonObject) -> None:
    """Remove the managed fields, the largest part of many objects."""
    document["metadata"].pop("managedFields", None)


def copy_frame(document: JsonObject) -> JsonObject:
    """Return a copy of an answer that is also used after it is stored: to trim the copy does not change the answer."""
    return {**document, "metadata": {**document["metadata"]}}


def trim_resource(document: JsonObject) -> None:
    """Remove the managed fields of an application or a cluster, and shorten a large one."""
    trim_managed_fields(document)
    shorten_resource(document)


def trim_workload(document: JsonObject) -> None:
    """Remove the managed fields of a Workload, and shorten a large one."""
    drop_managed_fields(document)
    shorten_workload(document)


def trim_pod(document: JsonObject) -> None:
    """Remove what no decision reads from a pod."""
    reduced = select_decisive_fields(document)
    document.clear()
    document.update(reduced)


def pack_pod(document: JsonObject) -> None:
    """Replace a pod with its trimmed JSON, which needs less than half of the memory. Only its version can be read."""
    trim_pod(document)
    text, version = to_json(document), document["metadata"].get("resourceVersion")
    document.clear()
    document.update({"metadata": {"resourceVersion": version}, _PACKED: text})


def unpack(document: JsonObject) -> JsonObject:
    """Return the pod that `pack_pod` has packed; any other object itself."""
    text = document.get(_PACKED)
    return _parse(text) if isinstance(text, bytes) else document


class ObjectCache:
    """The objects of one kind in all watched namespaces.

    The answers to writes of this process are stored as well (`put_answer`). So a reconcile never sees an object in a
    state older than its last write. Resource versions are compared as integers. The API guarantees that since
    Kubernetes 1.35, and etcd always did. A version that is not an integer counts as newer.

    Args:
        get_owner: Returns the key of the object's owner, for `list_owned`; None if it has none.
        remember: Called with the last known state of each object that a watch has shown as deleted.
        trim: Removes from an answer what the readers of the cache do not need. A watch trims its objects itself.
        most_parsed: The number of objects that are kept as documents: those that changed last. Others are kept as JSON,
            which needs less than half of the memory, and are parsed when they are read. None for no limit.

    Attributes:
        on_replace: Called with the known and the new state when an object changes.
    """

    def __init__(
        self,
        get_owner: Callable[[JsonObject], ObjectKey | None] = lambda _: None,
        remember: Callable[[JsonObject], object] = lambda _: None,
        trim: Callable[[JsonObject], None] = drop_managed_fields,
        most_parsed: int | None = None,
    ) -> None:
        self.trim = trim
        self.on_replace: Callable[[JsonObject, JsonObject], None] = _ignore
        self._objects: dict[ObjectKey, JsonObject | bytes] = {}
        self._most_parsed = most_parsed
        self._parsed: dict[ObjectKey, None] = {}  # with a limit: the keys of the documents, in the order of the changes
        self._get_owner = get_owner
        self._remember = remember
        self._owned: dict[ObjectKey, set[ObjectKey]] = {}
        # The latest version of each namespace that the watch has shown. If an answer is older and its object is not
        # in the cache, the object was deleted after the answer.
        self._seen: dict[str, int] = {}
        # Namespaces that are not watched any more: answers to requests in progress must not be stored.
        self._unwatched: set[str] = set()

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[ObjectKey]:
        return iter(self._objects)

    def get(self, key: ObjectKey) -> JsonObject | None:
        """Return the latest known state of an object, which the caller must not change."""
        known = self._objects.get(key)
        return None if known is None else _parse(known)

    def list_documents(self) -> Iterable[JsonObject]:
        """Return the latest known state of every object, which the caller must not change."""
        return map(_parse, self._objects.values())

    def list_owned(self, key: ObjectKey) -> list[JsonObject]:
        """Return the objects whose owner is `key`."""
        return [_parse(self._objects[owned]) for owned in sorted(self._owned.get(key, ()))]

    def put(self, document: JsonObject) -> bool:
        """Store an object that the watch shows; return whether anything has changed."""
        self._advance(document)
        return self._store(document)

    def put_answer(self, document: JsonObject) -> bool:
        """Store the answer of the API to a read or a write; return whether anything has changed."""
        key, version = key_of(document), _read_version(document)
        if key.namespace in self._unwatched:
            return False
        if key not in self._objects and version is not None and version <= self._seen.get(key.namespace, 0):
            return False
        self.trim(document)
        return self._store(document)

    def replace(self, namespace: str | None, documents: Iterable[JsonObject]) -> Iterator[JsonObject]:
        """Store a complete list; yield each object that is new or changed, and the last known state of deleted ones.

        Args:
            namespace: The namespace of the list. If None, all namespaces are included.
            documents: All objects of the namespace.
        """
        self._unwatched = self._unwatched - {namespace} if namespace is not None else set()
        listed: set[ObjectKey] = set()
        for document in documents:
            listed.add(key_of(document))
            if self.put(document):
                yield document
        here = {key for key in self._objects if namespace is None or key.namespace == namespace}
        for key in here - listed:
            deleted = _parse(self._objects[key])
            self._remember(deleted)
            self._drop(key, deleted)
            yield deleted

    def remove(self, document: JsonObject) -> bool:
        """Process a deletion that the watch shows; return False if a newer object has the name already."""
        self._advance(document)
        key = key_of(document)
        known = self.get(key)
        if known is not None and _is_older(document, known) and not _is_same(document, known):
            return False
        self._remember(document)
        if known is None:
            return False
        self._drop(key, known)
        return True

    def forget(self, key: ObjectKey) -> None:
        """Drop an object that does not exist any more, by a live read."""
        if (known := self.get(key)) is not None:
            self._drop(key, known)

    def forget_namespace(self, namespace: str) -> None:
        """Drop all objects of a namespace that is not watched any more, and store none until it is listed again."""
        self._unwatched.add(namespace)
        for key in [key for key in self._objects if key.namespace == namespace]:
            self.forget(key)
        self._seen.pop(namespace, None)

    def _store(self, document: JsonObject) -> bool:
        key = key_of(document)
        stored = self._objects.get(key)
        # A list of thousands of unchanged objects should not parse them.
        if isinstance(stored, bytes) and stored == to_json(document):
            return False
        known = self.get(key)
        if known is not None and (_has_same_version(document, known) or _is_older(document, known)):
            return False
        if known is not None:
            self._drop(key, known)
        self._objects[key] = document
        if self._most_parsed is not None:
            self._parsed[key] = None
            self._pack_oldest(self._most_parsed)
        if known is not None and _is_same(known, document):
            self.on_replace(known, document)
        if owner := self._get_owner(document):
            self._owned.setdefault(owner, set()).add(key)
        return True

    def _pack_oldest(self, most_parsed: int) -> None:
        if len(self._parsed) > most_parsed:
            oldest = next(iter(self._parsed))
            del self._parsed[oldest]
            self._objects[oldest] = to_json(self._objects[oldest])

    def _drop(self, key: ObjectKey, known: JsonObject) -> None:
        del self._objects[key]
        self._parsed.pop(key, None)
        owner = self._get_owner(known)
        if owner in self._owned:
            self._owned[owner].discard(key)
            if not self._owned[owner]:
                del self._owned[owner]

    def _advance(self, document: JsonObject) -> None:
        namespace, version = key_of(document).namespace, _read_version(document)
        if version is not None:
            self._seen[namespace] = max(version, self._seen.get(namespace, 0))


def _ignore(*_: object) -> None:
    return


def _parse(stored: JsonObject | bytes) -> JsonObject:
    document: JsonObject = from_json(stored) if isinstance(stored, bytes) else stored
    return document


def _read_version(document: JsonObject) -> int | None:
    text = document["metadata"].get("resourceVersion", "")
    return int(text) if text.isdecimal() else None


def _has_same_version(one: JsonObject, other: JsonObject) -> bool:
    version = one["metadata"].get("resourceVersion")
    return version is not None and version == other["metadata"].get("resourceVersion") and _is_same(one, other)


def _is_older(one: JsonObject, other: JsonObject) -> bool:
    mine, others = _read_version(one), _read_version(other)
    return mine is not None and others is not None and mine < others


def _is_same(one: JsonObject, other: JsonObject) -> bool:
    return bool(one["metadata"].get("uid") == other["metadata"].get("uid"))
