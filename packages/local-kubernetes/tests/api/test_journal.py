import asyncio
import errno
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from local_kubernetes.api.journal import Journal, find_latest
from local_kubernetes.api.journal_format import JournalEntry
from local_kubernetes.api.kinds import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from local_kubernetes.api.preconditions import MAX_OBJECT_BYTES
from local_kubernetes.api.registry import KindRegistry
from local_kubernetes.api.requests import WriteOptions
from local_kubernetes.api.resources import create
from local_kubernetes.api.status import ApiStatusError
from local_kubernetes.api.store import Store

from api.builders import build_config_map, build_definition, build_thing

KEY = ("", "configmaps")


def build_entry(name: str, version: int = 1, text: str = "x") -> JournalEntry:
    return JournalEntry(KEY, ("default", name), version, {"metadata": {"name": name}, "data": {"k": text}})


def build_removal(name: str, version: int = 2) -> JournalEntry:
    return JournalEntry(KEY, ("default", name), version, None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def read(path: Path) -> list[JournalEntry]:
    journal = Journal(path)
    try:
        return journal.read()
    finally:
        journal.close()


def write(path: Path, *entries: JournalEntry) -> None:
    journal = Journal(path)
    journal.read()
    for item in entries:
        journal.append(item)
    journal.close()


def store_on(path: Path) -> Store:
    """A store with the namespace `default` and a journal."""
    store = Store(journal=Journal(path))
    if not store.objects.exists(NAMESPACES, None, "default"):
        served = KindRegistry(store).find("", "v1", NAMESPACES.plural)
        create(store, served, None, {"metadata": {"name": "default"}}, WriteOptions())
    return store


def test_appended_changes_are_read(path: Path) -> None:
    write(path, build_entry("a"), build_removal("a"), build_entry("b", 3, "ü\n"))
    assert read(path) == [build_entry("a"), build_removal("a"), build_entry("b", 3, "ü\n")]


def test_journal_is_readable_by_its_owner_only(path: Path) -> None:
    write(path, build_entry("a"))
    assert path.stat().st_mode & 0o777 == 0o600
    journal = Journal(path)
    journal.compact([build_entry("a")])
    journal.close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_reading_returns_the_last_state_of_each_object() -> None:
    entries = [build_entry("a"), build_entry("b"), build_entry("a", 2, "y"), build_removal("b"), build_entry("c", 4)]
    assert list(find_latest(entries)) == [build_entry("a", 2, "y"), build_entry("c", 4)]


def test_compacted_journal_contains_only_present_objects(path: Path) -> None:
    journal = Journal(path)
    for number in range(100):
        journal.append(build_entry("a", number))
    journal.compact([build_entry("a", 99)])
    journal.append(build_entry("b"))
    journal.close()
    assert read(path) == [build_entry("a", 99), build_entry("b")]


def test_journal_over_the_size_limit_is_rewritten(path: Path) -> None:
    store = Store(journal=Journal(path, compact_bytes=1000))
    served = KindRegistry(store).find("", "v1", NAMESPACES.plural)
    create(store, served, None, {"metadata": {"name": "default"}}, WriteOptions())
    store.create(CONFIG_MAPS, "default", build_config_map("a", {"k": "0"}))
    for number in range(200):
        store.update(CONFIG_MAPS, "default", "a", partial(set_value, str(number)))
    assert path.stat().st_size < 5000
    assert store_on(path).objects.get(CONFIG_MAPS, "default", "a")["data"] == {"k": "199"}


def set_value(value: str, found: dict[str, Any]) -> dict[str, Any]:
    return found | {"data": {"k": value}}


def test_failed_write_leaves_the_journal_unchanged(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_on(path)
    store.create(CONFIG_MAPS, "default", build_config_map("a", {"k": "v"}))
    real, size = os.write, path.stat().st_size

    def full(descriptor: int, data: bytes) -> int:
        real(descriptor, bytes(data)[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.write", full)
        with pytest.raises(ApiStatusError, match="No space left on device") as error:
            store.update(CONFIG_MAPS, "default", "a", lambda found: found | {"data": {"k": "w"}})
        with pytest.raises(ApiStatusError):
            store.create(CONFIG_MAPS, "default", build_config_map("b"))
    assert error.value.code == 500
    assert path.stat().st_size == size
    assert store.objects.get(CONFIG_MAPS, "default", "a")["data"] == {"k": "v"}
    assert not store.objects.exists(CONFIG_MAPS, "default", "b")
    store.create(CONFIG_MAPS, "default", build_config_map("b"))
    assert store_on(path).objects.exists(CONFIG_MAPS, "default", "b")


def test_store_restores_objects_of_an_earlier_store(path: Path) -> None:
    first = store_on(path)
    served = KindRegistry(first).find("apiextensions.k8s.io", "v1", CUSTOM_RESOURCE_DEFINITIONS.plural)
    create(first, served, None, build_definition(), WriteOptions())
    things = KindRegistry(first).find("example.com", "v1", "things")
    owner = create(first, things, "default", build_thing("a"), WriteOptions())
    reference = {"apiVersion": "example.com/v1", "kind": "Thing", "name": "a", "uid": owner["metadata"]["uid"]}
    first.create(CONFIG_MAPS, "default", build_config_map("a", {"k": "v"}, ownerReferences=[reference]))
    first.create(CONFIG_MAPS, "default", build_config_map("b"))
    first.delete(CONFIG_MAPS, "default", "b")

    second = store_on(path)
    found = KindRegistry(second).find("example.com", "v1", "things")
    assert second.objects.get(found.kind, "default", "a") == first.objects.get(things.kind, "default", "a")
    assert second.objects.get(CONFIG_MAPS, "default", "a") == first.objects.get(CONFIG_MAPS, "default", "a")
    assert not second.objects.exists(CONFIG_MAPS, "default", "b")
    second.delete(found.kind, "default", "a")
    assert not second.objects.exists(CONFIG_MAPS, "default", "a"), "dependents are known again"


def test_restored_store_continues_versions_and_expires_older_ones(path: Path) -> None:
    first = store_on(path)
    version = first.create(CONFIG_MAPS, "default", build_config_map("a"))["metadata"]["resourceVersion"]
    second = Store(journal=Journal(path), first_version=1)
    assert second.objects.version >= int(version)
    with pytest.raises(ApiStatusError, match="too old resource version"):
        second.changes.subscribe(CONFIG_MAPS, None, int(version) - 1)
    later = second.create(CONFIG_MAPS, "default", build_config_map("b"))["metadata"]["resourceVersion"]
    assert int(later) > int(version)


def test_too_large_object_is_rejected() -> None:
    store = Store()
    served = KindRegistry(store).find("", "v1", NAMESPACES.plural)
    create(store, served, None, {"metadata": {"name": "default"}}, WriteOptions())
    with pytest.raises(ApiStatusError, match="request is too large"):
        store.create(CONFIG_MAPS, "default", build_config_map("a", {"k": "x" * MAX_OBJECT_BYTES}))
    assert not store.objects.exists(CONFIG_MAPS, "default", "a")


async def test_concurrent_syncs_share_one_disk_sync(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(path)
    calls: list[int] = []
    real = os.fsync

    def count(descriptor: int) -> None:
        calls.append(descriptor)
        real(descriptor)

    monkeypatch.setattr("os.fsync", count)

    async def write(name: str) -> None:
        journal.append(build_entry(name))
        await journal.sync()

    await asyncio.gather(*(write(str(number)) for number in range(50)))
    assert len(calls) <= 3
    journal.close()
    assert len(read(path)) == 50
