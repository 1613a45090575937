"""The journal keeps the objects of a cluster, however the cluster ends."""

import asyncio
import json
import os
import resource
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from local_kubernetes.api.kinds.kinds import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from local_kubernetes.api.kinds.status import ApiStatusError
from local_kubernetes.api.requests.requests import WriteOptions
from local_kubernetes.api.server.resources import create
from local_kubernetes.api.store.journal import Journal, JournalEntry
from local_kubernetes.api.store.preconditions import MAX_OBJECT_BYTES
from local_kubernetes.api.store.registry import KindRegistry
from local_kubernetes.api.store.store import Store

from api.builders import build_config_map, build_definition, build_thing

KEY = ("", "configmaps")


def build_entry(name: str, version: int = 1, text: str = "x") -> JournalEntry:
    document = {"metadata": {"name": name}, "data": {"k": text}}
    return JournalEntry(KEY, ("default", name), version, json.dumps(document, separators=(",", ":")).encode())


def write(path: Path, *entries: JournalEntry) -> None:
    with closing(Journal(path)) as journal:
        for item in entries:
            journal.write(*item)


def read(path: Path, *, repair: bool = False) -> list[JournalEntry]:
    with closing(Journal(path, repair=repair)) as journal:
        return journal.read()


def copy_as_after_a_kill(path: Path, folder: Path) -> Path:
    """Copy the files of an open journal, as a killed process leaves them; return the copy of the journal."""
    folder.mkdir()
    for file in path.parent.glob("journal*"):
        shutil.copy(file, folder)
    return folder / path.name


def store_on(path: Path) -> Store:
    """A store with the namespace `default` and a journal."""
    store = Store(journal=Journal(path))
    if not store.objects.exists(NAMESPACES, None, "default"):
        served = KindRegistry(store).find("", "v1", NAMESPACES.plural)
        create(store, served, None, {"metadata": {"name": "default"}}, WriteOptions())
    return store


def reopen(store: Store, path: Path) -> Store:
    assert store.journal is not None
    store.journal.close()
    return store_on(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def test_last_state_of_each_object_is_read_in_the_order_of_changes(path: Path) -> None:
    with closing(Journal(path)) as journal:
        for entry in (build_entry("a"), build_entry("b", 2), build_entry("c", 3), build_entry("a", 4, "ü\n")):
            journal.write(*entry)
        journal.write(KEY, ("default", "b"), 5, None)
        journal.write(("example.com", "things"), ("", "d"), 6, b"{}")
    expected = [build_entry("c", 3), build_entry("a", 4, "ü\n"), (("example.com", "things"), ("", "d"), 6, b"{}")]
    assert read(path) == expected
    write(path, build_entry("e", 7))
    assert read(path) == [*expected, build_entry("e", 7)]


def test_changes_of_a_killed_cluster_are_restored(path: Path, tmp_path: Path) -> None:
    with closing(Journal(path)) as journal:
        journal.write(*build_entry("a"))
        copy = copy_as_after_a_kill(path, tmp_path / "copy")
    assert read(copy) == [build_entry("a")]


def test_files_are_readable_by_their_owner_only(path: Path) -> None:
    with closing(Journal(path)) as journal:
        journal.write(*build_entry("a"))
        assert {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {
            "journal": 0o600,
            "journal-wal": 0o600,
        }
    assert [file.name for file in path.parent.iterdir()] == ["journal"]


def test_other_program_cannot_change_the_journal_of_a_running_cluster(path: Path) -> None:
    with (
        closing(Journal(path)),
        closing(sqlite3.connect(path, timeout=0)) as other,
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        other.execute("DELETE FROM objects")


def test_space_of_earlier_versions_of_an_object_is_reused(path: Path) -> None:
    store = store_on(path)
    store.create(CONFIG_MAPS, "default", build_config_map("a", {"k": "0"}))
    for number in range(3000):
        store.update(CONFIG_MAPS, "default", "a", partial(set_value, str(number) * 100))
    assert store.journal is not None
    store.journal.close()
    assert path.stat().st_size < 50_000


def test_space_of_deleted_objects_is_reused_also_after_a_restart(path: Path) -> None:
    kept: list[JournalEntry] = []
    for start in range(3):
        with closing(Journal(path)) as journal:
            assert journal.read() == kept
            for number in range(500):
                entry = build_entry(f"c{start}-{number}", number + 1, "x" * 1000)
                journal.write(*entry)
                if number % 100:
                    journal.write(*entry[:2], number + 2, None)
                else:
                    kept.append(entry)
        kept.sort(key=lambda entry: entry.version)
    assert path.stat().st_size < 50_000
    assert read(path) == kept


def set_value(value: str, found: dict[str, Any]) -> dict[str, Any]:
    return found | {"data": {"k": value}}


@contextmanager
def limit_file_size(limit: int) -> Iterator[None]:
    """Let writes beyond this position of a file fail, as on a full disk."""
    earlier = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, earlier[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, earlier)


def test_failed_write_changes_neither_the_store_nor_the_journal(path: Path) -> None:
    store = store_on(path)
    store.create(CONFIG_MAPS, "default", build_config_map("a", {"k": "v"}))
    with limit_file_size(path.with_name("journal-wal").stat().st_size):
        with pytest.raises(ApiStatusError, match=r"could not be written to the journal: .*disk") as error:
            store.update(CONFIG_MAPS, "default", "a", partial(set_value, "w"))
        with pytest.raises(ApiStatusError):
            store.create(CONFIG_MAPS, "default", build_config_map("b"))
        with pytest.raises(ApiStatusError):
            store.delete(CONFIG_MAPS, "default", "a")
    assert error.value.code == 500
    assert store.objects.get(CONFIG_MAPS, "default", "a")["data"] == {"k": "v"}
    assert not store.objects.exists(CONFIG_MAPS, "default", "b")
    store.create(CONFIG_MAPS, "default", build_config_map("c"))
    restored = reopen(store, path).objects
    assert restored.get(CONFIG_MAPS, "default", "a")["data"] == {"k": "v"}
    assert not restored.exists(CONFIG_MAPS, "default", "b")
    assert restored.exists(CONFIG_MAPS, "default", "c")


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

    second = reopen(first, path)
    found = KindRegistry(second).find("example.com", "v1", "things")
    assert second.objects.get(found.kind, "default", "a") == first.objects.get(things.kind, "default", "a")
    assert second.objects.get(CONFIG_MAPS, "default", "a") == first.objects.get(CONFIG_MAPS, "default", "a")
    assert not second.objects.exists(CONFIG_MAPS, "default", "b")
    second.delete(found.kind, "default", "a")
    assert not second.objects.exists(CONFIG_MAPS, "default", "a"), "dependents are known again"


def test_restored_store_continues_versions_and_expires_older_ones(path: Path) -> None:
    first = store_on(path)
    version = first.create(CONFIG_MAPS, "default", build_config_map("a"))["metadata"]["resourceVersion"]
    assert first.journal is not None
    first.journal.close()
    second = Store(journal=Journal(path), first_version=1)
    assert second.objects.version >= int(version)
    with pytest.raises(ApiStatusError, match="too old resource version"):
        second.changes.subscribe(CONFIG_MAPS, None, int(version) - 1)
    later = second.create(CONFIG_MAPS, "default", build_config_map("b"))["metadata"]["resourceVersion"]
    assert int(later) > int(version)
    second.delete(CONFIG_MAPS, "default", "b")
    assert second.journal is not None
    second.journal.close()
    third = Store(journal=Journal(path), first_version=1)
    assert third.objects.version == int(later) + 1, "the version of a removal is not used again"


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
    real = os.fdatasync

    def count(descriptor: int) -> None:
        calls.append(os.fstat(descriptor).st_ino)
        real(descriptor)

    monkeypatch.setattr("local_kubernetes.api.store.journal._sync_descriptor", count)

    async def write_and_sync(name: str) -> None:
        journal.write(*build_entry(name))
        await journal.sync()

    await asyncio.gather(*(write_and_sync(str(number)) for number in range(50)))
    assert 1 <= len(calls) <= 3
    assert set(calls) == {path.with_name("journal-wal").stat().st_ino}
    journal.close()
    assert len(read(path)) == 50
