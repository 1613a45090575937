"""Damaged journals: no object is lost silently, and no file is overwritten without a request."""

import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from local_kubernetes.api.kinds.kinds import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from local_kubernetes.api.requests.requests import WriteOptions
from local_kubernetes.api.server.resources import create
from local_kubernetes.api.store.journal import Journal, JournalEntry, JournalError
from local_kubernetes.api.store.registry import KindRegistry
from local_kubernetes.api.store.store import Store

from api.builders import build_config_map, build_definition, build_thing
from api.store.test_journal import build_entry, read, reopen, store_on, write

# 12 pages: rows that fill a page or two, so that a damaged page costs only a part of them.
ENTRIES = [build_entry(f"c{number}", number, str(number) * 900) for number in range(1, 10)]
ENTRIES += [build_entry(f"c{number}", number, str(number) * 3000) for number in range(10, 20)]
PAGE = 4096


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def overwrite(path: Path, position: int, piece: bytes) -> bytes:
    """Write a piece into a file; return the new content."""
    content = bytearray(path.read_bytes())
    content[position : position + len(piece)] = piece
    path.write_bytes(content)
    return bytes(content)


def test_changed_object_is_refused_then_dropped_by_a_repair(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(path, *ENTRIES)
    damaged = overwrite(path, path.read_bytes().index(b"3" * 50), b"4")
    with pytest.raises(JournalError) as error:
        Journal(path)
    assert str(error.value) == (
        f"could not read the journal {path}: the record of 'configmaps default/c3' does not match its checksum. "
        "18 records are intact. Restore the file from a copy, or start with --repair, which keeps a copy of the file "
        "and drops the damaged records"
    )
    assert path.read_bytes() == damaged

    path.with_name("journal.damaged-1").write_bytes(b"of an earlier repair")
    assert read(path, repair=True) == [*ENTRIES[:2], *ENTRIES[3:]]
    copy = path.with_name("journal.damaged-2")
    assert copy.read_bytes() == damaged
    assert copy.stat().st_mode & 0o777 == 0o600
    assert path.with_name("journal.damaged-1").read_bytes() == b"of an earlier repair"
    assert f"the damaged file is kept as {copy}" in caplog.text
    assert "dropped: the record of 'configmaps default/c3' does not match its checksum" in caplog.text
    caplog.clear()
    assert read(path) == [*ENTRIES[:2], *ENTRIES[3:]]
    assert caplog.text == ""


def test_repair_restores_all_objects_outside_of_damaged_pages(path: Path) -> None:
    write(path, *ENTRIES)
    content = path.read_bytes()
    size = len(content) // PAGE
    assert size >= 10
    for number in range(size):
        path.write_bytes(content)
        overwrite(path, number * PAGE + (100 if number == 0 else 0), b"\xa5" * (PAGE - 100))
        with pytest.raises(JournalError):
            Journal(path)
        if number < 2:  # the schema, and the root of the only table
            with pytest.raises(JournalError, match="contains no intact record"):
                Journal(path, repair=True)
        else:
            assert len(read(path, repair=True)) >= len(ENTRIES) - 5, number
            assert [entry for entry in read(path) if entry not in ENTRIES] == []


def test_repair_continues_after_each_of_several_damaged_pages(path: Path) -> None:
    entries = [build_entry(f"c{number}", number, "x" * 500) for number in range(200)]
    write(path, *entries)
    for number in (5, 15, 16):
        overwrite(path, number * PAGE, b"\xa5" * PAGE)
    assert len(entries) - 30 < len(read(path, repair=True)) < len(entries) - 15


def test_repair_keeps_the_rows_between_two_damaged_pages(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    entries = [build_entry(f"c{number}", number, "x" * 500) for number in range(1, 2001)]
    write(path, *entries)
    content = path.read_bytes()
    for name in (b"default/c8\0", b"default/c1032"):
        position = content.index(name.rstrip(b"\0")) // PAGE * PAGE
        overwrite(path, position, b"\xa5" * PAGE)
    kept = {entry.place for entry in read(path, repair=True)}
    lost = [entry for entry in entries if entry.place not in kept]
    assert 2 <= len(lost) <= 2 * PAGE // 500
    assert caplog.text.count("cannot be read") == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *((b"document BLOB", b"documenu BLOB"), (b"name TEXT", b"namf TEXT"), (b"PRIMARY", b"QRIMARY")),
        *((b"name TEXT,", b"name TEXT "), (b"id INTEGER", b"id INTEGES"), (b"TABLE objects", b"TABLE \xffbjects")),
    ],
)
@pytest.mark.parametrize("repair", [False, True])
def test_damaged_definition_of_the_table_is_refused(path: Path, old: bytes, new: bytes, repair: bool) -> None:
    write(path, *ENTRIES)
    damaged = overwrite(path, path.read_bytes().index(old), new)
    for _ in range(2):  # the first refusal locks nothing
        with pytest.raises(JournalError, match="it contains no intact record"):
            Journal(path, repair=repair)
    assert path.read_bytes() == damaged


def test_missing_end_is_refused(path: Path) -> None:
    write(path, *ENTRIES)
    content = path.read_bytes()[: -2 * PAGE]
    path.write_bytes(content)
    with pytest.raises(JournalError, match=r"start with --repair"):
        Journal(path)
    assert path.read_bytes() == content
    found = read(path, repair=True)
    assert found
    assert [entry for entry in found if entry not in ENTRIES] == []


def test_repair_of_an_intact_journal_changes_nothing(path: Path, tmp_path: Path) -> None:
    write(path, *ENTRIES)
    content = path.read_bytes()
    assert read(path, repair=True) == ENTRIES
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["journal"]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(bytes(range(256)) * 50, id="random bytes"),
        pytest.param(b"\0" * 5000, id="zeros"),
        pytest.param(b"dear diary\n\ntoday I wrote a program\n", id="text"),
        pytest.param(b"dear diary", id="a line"),
        pytest.param(b'{"kind": "ConfigMap"}\n', id="JSON"),
        pytest.param(b"SQLite format 3\0" + b"\0" * 5000, id="header of a database"),
    ],
)
@pytest.mark.parametrize("repair", [False, True])
def test_foreign_file_is_refused_and_left_as_it_is(path: Path, content: bytes, repair: bool) -> None:
    path.write_bytes(content)
    with pytest.raises(
        JournalError, match=r"contains no intact record\. The file was not changed\. Move this file away"
    ):
        Journal(path, repair=repair)
    assert path.read_bytes() == content
    assert [file.name for file in path.parent.iterdir()] == ["journal"]


@pytest.mark.parametrize("found", [0, 4], ids=["another program", "a later version"])
def test_database_with_another_format_is_refused(path: Path, found: int) -> None:
    write(path, *ENTRIES)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {found}")
    content = path.read_bytes()
    with pytest.raises(JournalError, match=f"unknown format {found}. Use the version of this package that wrote it"):
        Journal(path, repair=True)
    assert path.read_bytes() == content


def link_to_null(path: Path) -> None:
    path.symlink_to("/dev/null")


def link_to_nothing(path: Path) -> None:
    path.symlink_to(path.with_name("elsewhere"))


@pytest.mark.parametrize("create", [link_to_null, link_to_nothing, Path.mkdir])
def test_journal_that_is_no_regular_file_is_refused(path: Path, create: Callable[[Path], None]) -> None:
    create(path)
    with pytest.raises(JournalError, match=r"neither a regular file nor a link to one\. Move this file away"):
        Journal(path, repair=True)
    assert [file.name for file in path.parent.iterdir()] == ["journal"]


def test_file_that_another_program_uses_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(path, build_entry("a"))
    connect = sqlite3.connect
    with closing(connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr("sqlite3.connect", lambda path, **options: connect(path, timeout=0, **options))
        with pytest.raises(JournalError, match=r"could not open the journal .*: database is locked\. Check"):
            Journal(path)


def test_log_of_a_deleted_journal_is_not_applied_to_a_new_one(path: Path) -> None:
    with closing(Journal(path)) as journal:
        journal.write(*build_entry("a"))
        left = path.with_name("journal-wal").read_bytes()
    path.unlink()
    path.with_name("journal-wal").write_bytes(left)
    assert read(path) == []


def test_objects_without_a_definition_stay_in_the_journal(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first = store_on(path)
    served = KindRegistry(first).find("apiextensions.k8s.io", "v1", CUSTOM_RESOURCE_DEFINITIONS.plural)
    create(first, served, None, build_definition(), WriteOptions())
    things = KindRegistry(first).find("example.com", "v1", "things")
    create(first, things, "default", build_thing("a"), WriteOptions())
    assert first.journal is not None
    first.journal.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM objects WHERE name LIKE 'customresourcedefinitions%'")

    second = Store(journal=Journal(path))
    assert "things.example.com (1) cannot be served until a definition of this kind exists" in caplog.text
    served = KindRegistry(second).find("apiextensions.k8s.io", "v1", CUSTOM_RESOURCE_DEFINITIONS.plural)
    create(second, served, None, build_definition(), WriteOptions())

    third = reopen(second, path)
    assert third.objects.exists(KindRegistry(third).find("example.com", "v1", "things").kind, "default", "a")
    assert third.objects.exists(NAMESPACES, None, "default")
    third.create(CONFIG_MAPS, "default", build_config_map("a"))


def mutate(content: bytes, how: str, place: int, piece: bytes) -> bytes:
    place %= len(content)
    match how:
        case "flip":
            return content[:place] + bytes([content[place] ^ (piece[0] or 1)]) + content[place + 1 :]
        case "truncate":
            return content[:place]
        case "delete":
            return content[:place] + content[place + len(piece) :]
        case "insert":
            return content[:place] + piece + content[place:]
        case _:  # overwrite
            return content[:place] + piece + content[place + len(piece) :]


@example(how="flip", place=PAGE + 3, piece=b"\xff")
@example(how="flip", place=3992, piece=b"\x80")  # the name of the table in the message of SQLite
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    how=st.sampled_from(["flip", "truncate", "delete", "insert", "overwrite"]),
    place=st.integers(0, 100_000),
    piece=st.binary(min_size=1, max_size=300),
)
def test_no_damage_at_any_place_loses_or_changes_an_object_silently(
    path: Path, caplog: pytest.LogCaptureFixture, how: str, place: int, piece: bytes
) -> None:
    for file in path.parent.iterdir():
        file.unlink()
    caplog.clear()
    write(path, *ENTRIES)
    damaged = mutate(path.read_bytes(), how, place, piece)
    path.write_bytes(damaged)
    with caplog.at_level(logging.WARNING):
        try:
            found: list[JournalEntry] = read(path)
        except JournalError:
            assert path.read_bytes() == damaged
            try:
                found = read(path, repair=True)
            except JournalError:
                assert path.read_bytes() == damaged
                return
            assert path.with_name("journal.damaged-1").read_bytes() == damaged
            assert [entry for entry in found if entry not in ENTRIES] == []
            return
    assert found == ENTRIES
