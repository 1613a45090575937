from contextlib import closing
from pathlib import Path

import pytest

from local_kubernetes.api.kinds.kinds import CONFIG_MAPS, NAMESPACES
from local_kubernetes.api.kinds.status import ApiStatusError
from local_kubernetes.api.store.journal import Journal
from local_kubernetes.api.store.preconditions import Room
from local_kubernetes.api.store.store import Store

from api.builders import Document, build_config_map

LIMIT = 20_000


def store_with(room: Room, journal: Journal | None = None) -> Store:
    store = Store(room=room, journal=journal)
    if not store.objects.exists(NAMESPACES, None, "default"):
        store.create(NAMESPACES, None, {"metadata": {"name": "default"}})
    return store


def fill(store: Store) -> int:
    """Create config maps until one is rejected; return their number."""
    taken = [number for number in range(100) if is_taken(store, build_large(f"c{number}"))]
    assert taken == list(range(len(taken)))
    return len(taken)


def is_taken(store: Store, document: Document) -> bool:
    try:
        store.create(CONFIG_MAPS, "default", document)
    except ApiStatusError:
        return False
    return True


def remove_finalizers(document: Document) -> Document:
    return document | {"metadata": document["metadata"] | {"finalizers": []}}


def build_large(name: str) -> Document:
    return build_config_map(name, {"k": "x" * 1000}, finalizers=["example.com/f"] if name == "c0" else [])


def test_total_size_of_objects_is_limited() -> None:
    room = Room(LIMIT)
    store = store_with(room)
    count = fill(store)
    assert 10 < count < 20
    assert room.used <= LIMIT
    with pytest.raises(ApiStatusError, match=r"space exceeded .*delete some"):
        store.update(CONFIG_MAPS, "default", "c1", lambda found: found | {"data": {"k": "x" * 5000}})
    store.update(CONFIG_MAPS, "default", "c1", lambda found: found | {"data": {}})
    store.create(CONFIG_MAPS, "default", build_config_map("small"))


def test_objects_can_be_deleted_at_the_size_limit() -> None:
    room = Room(LIMIT)
    store = store_with(room)
    empty = room.used
    count = fill(store)
    assert "deletionTimestamp" in store.delete(CONFIG_MAPS, "default", "c0")["metadata"]
    store.update(CONFIG_MAPS, "default", "c0", remove_finalizers)
    for number in range(1, count):
        store.delete(CONFIG_MAPS, "default", f"c{number}")
    assert room.used == empty


def test_restored_objects_count_towards_the_size_limit(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    room = Room(LIMIT)
    fill(store_with(room, journal))
    journal.close()
    again = Room(LIMIT)
    with closing(Journal(tmp_path / "journal")) as journal:
        store_with(again, journal)
    assert again.used == room.used


def test_document_of_a_caller_is_unchanged_and_can_be_used_for_another_store() -> None:
    document = build_config_map("c")
    for _ in range(2):
        store_with(Room(LIMIT)).create(CONFIG_MAPS, "default", document)
    assert document == build_config_map("c")
