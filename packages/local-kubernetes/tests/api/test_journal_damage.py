"""Damaged journals: no record is lost silently, and no file is overwritten without a request."""

import json
import logging
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from local_kubernetes.api.journal import Journal, JournalError, find_latest
from local_kubernetes.api.journal_format import JournalEntry
from local_kubernetes.api.kinds import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from local_kubernetes.api.registry import KindRegistry
from local_kubernetes.api.requests import WriteOptions
from local_kubernetes.api.resources import create
from local_kubernetes.api.store import Store

from api.builders import build_config_map, build_definition, build_thing
from api.test_journal import build_entry, build_removal, read, store_on, write

ENTRIES = [
    build_entry("a"),
    build_entry("b", 2, "ü\n"),
    build_removal("a", 3),
    build_entry("c", 4),
    build_entry("b", 5, "other"),
]


def write_killed_journal(path: Path, *entries: JournalEntry) -> None:
    """Leave a journal as a killed process leaves it: without its closing record."""
    journal = Journal(path)
    for item in entries:
        journal.append(item)
    content = path.read_bytes()
    journal.close()
    path.write_bytes(content)


def convert_to_earlier_version(*entries: JournalEntry) -> bytes:
    """Return the file of an earlier version, without header, numbers and closing record."""
    lines = []
    for item in entries:
        text = json.dumps([item.kind, item.place, item.version, item.document], separators=(",", ":")).encode()
        lines.append(b"%08x %s\n" % (zlib.crc32(text), text))
    return b"".join(lines)


def find_offsets(content: bytes) -> list[int]:
    """Return where each line starts."""
    starts = [0]
    for line in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts[:-1]


def repair(path: Path) -> list[JournalEntry]:
    journal = Journal(path, repair=True)
    journal.close()
    return journal.read()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal"


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda content: content[:-1], id="the newline is missing"),
        pytest.param(lambda content: content[:-20], id="half a line is missing"),
        pytest.param(lambda content: content[:-45], id="the object is missing"),
    ],
)
def test_incomplete_record_after_a_crash_is_cut_off_with_a_warning(
    path: Path, damage: object, caplog: pytest.LogCaptureFixture
) -> None:
    write_killed_journal(path, build_entry("a"), build_entry("b"))
    start = find_offsets(path.read_bytes())[-1]
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    write(path, build_entry("c"))
    assert f"the last write was interrupted: record 2 at byte {start} (configmaps default/b) was not" in caplog.text
    caplog.clear()
    assert read(path) == [build_entry("a"), build_entry("c")]
    assert caplog.text == ""


def zero_from_record_2(content: bytes) -> bytes:
    start = find_offsets(content)[2] + 20
    return content[:start] + b"\0" * (len(content) - start)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda content: content[:-5] + b"\0\0\0\0\0", id="zeros instead of the end"),
        pytest.param(lambda content: content[:-10] + b"X" + content[-9:], id="another character"),
        pytest.param(lambda content: content[:-1] + b"X", id="another character than the newline"),
        pytest.param(zero_from_record_2, id="zeros instead of several records"),
        pytest.param(lambda content: content[: find_offsets(content)[2]] + b"}" * 30, id="no record"),
        pytest.param(lambda content: content[:-1].replace(b" 3 [[", b" 4 [["), id="another number"),
        pytest.param(
            lambda content: content[: find_offsets(content)[3] - 1] + content[find_offsets(content)[3] : -20],
            id="two records in one line",
        ),
    ],
)
def test_damage_at_the_end_that_no_crash_explains_is_rejected(path: Path, damage: object) -> None:
    write_killed_journal(path, build_entry("a"), build_entry("b"), build_entry("c"))
    content = damage(path.read_bytes())  # type: ignore[operator]
    path.write_bytes(content)
    with pytest.raises(JournalError, match=r"record [23] at byte \d+ .*bytes of the file can be restored"):
        Journal(path)
    assert path.read_bytes() == content
    assert repair(path)[0] == build_entry("a")
    assert path.with_name("journal.damaged-1").read_bytes() == content


def test_bytes_after_the_closing_record_are_refused(path: Path) -> None:
    write(path, build_entry("a"))
    path.write_bytes(path.read_bytes() + b"0")
    with pytest.raises(JournalError, match="no record in the last 1 bytes of the file can be restored"):
        Journal(path)


def test_killed_cluster_is_mentioned_at_the_next_start(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_killed_journal(path, build_entry("a"), build_entry("b"))
    assert read(path) == [build_entry("a"), build_entry("b")]
    assert "the cluster that wrote it was killed; restored all records; the last is record 2" in caplog.text


def test_damage_before_intact_records_is_refused_and_names_the_record(path: Path) -> None:
    write(path, *ENTRIES)
    content = bytearray(path.read_bytes())
    start = find_offsets(bytes(content))[2]
    content[content.index(b'"k"', start) + 1] ^= 1
    path.write_bytes(content)
    with pytest.raises(JournalError) as error:
        Journal(path)
    assert str(error.value) == (
        f"could not read the journal {path}: record 2 at byte {start} (configmaps default/b) does not match its "
        "checksum. 4 changes are intact. Restore the file from a copy, or start with --repair, which keeps a copy of "
        "the file and drops the damaged records"
    )
    assert path.read_bytes() == content


def test_damaged_object_that_is_not_legible_is_named_by_number_and_offset(path: Path) -> None:
    write(path, *ENTRIES)
    content = path.read_bytes()
    start, end = find_offsets(content)[2:4]
    path.write_bytes(content[:start] + b"\xff" * (end - start - 1) + content[end - 1 :])
    with pytest.raises(JournalError, match=rf"record 2 at byte {start} does not match its checksum\. 4 changes"):
        Journal(path)


@pytest.mark.parametrize(
    ("order", "problem"),
    [
        pytest.param([0, 1, 3, 4, 5, 6], r"record 2 at byte \d+ is missing", id="missing"),
        pytest.param([0, 1, 5, 6], r"record 2 at byte \d+ and the following up to record 4 are missing", id="several"),
        pytest.param([1, 2, 3, 4, 5, 6], r"record 0 at byte 0 is missing", id="header missing"),
        pytest.param([0, 1, 2, 1, 3, 4, 5, 6], r"record 3 at byte \d+ \(.*/a\) is record 1 again", id="repeated"),
    ],
)
def test_whole_lines_that_are_missing_or_repeated_are_refused(path: Path, order: list[int], problem: str) -> None:
    write(path, *ENTRIES)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[number] for number in order))
    with pytest.raises(JournalError, match=problem):
        Journal(path)


def test_repair_keeps_a_copy_and_logs_what_it_dropped(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(path, *ENTRIES)
    damaged = bytearray(path.read_bytes())
    damaged[find_offsets(bytes(damaged))[4] + 20] ^= 1  # c
    path.write_bytes(damaged)
    path.with_name("journal.damaged-1").write_bytes(b"of an earlier repair")
    assert repair(path) == [*ENTRIES[:3], ENTRIES[4]]
    copy = path.with_name("journal.damaged-2")
    assert copy.read_bytes() == damaged
    assert copy.stat().st_mode & 0o777 == 0o600
    assert path.with_name("journal.damaged-1").read_bytes() == b"of an earlier repair"
    assert f"the damaged file is kept as {copy}" in caplog.text
    assert "dropped: record 4 at byte " in caplog.text
    caplog.clear()
    assert read(path) == list(find_latest([*ENTRIES[:3], ENTRIES[4]]))
    assert caplog.text == ""


def test_repair_of_an_intact_journal_changes_nothing(path: Path, tmp_path: Path) -> None:
    write(path, *ENTRIES)
    content = path.read_bytes()
    assert repair(path) == ENTRIES
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["journal"]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(bytes(range(256)) * 50, id="random bytes"),
        pytest.param(b"\0" * 5000, id="zeros"),
        pytest.param(b"dear diary\n\ntoday I wrote a program\n", id="text"),
        pytest.param(b'{"kind": "ConfigMap"}\n', id="JSON"),
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


def test_journal_of_another_product_with_the_same_format_is_read(path: Path) -> None:
    write_killed_journal(path, build_entry("a"), build_entry("b"))
    lines = path.read_bytes().splitlines(keepends=True)
    text = b'0 "another emulator journal, format 2"'
    path.write_bytes(b"".join([b"%08x %s\n" % (zlib.crc32(text), text), *lines[1:]]))
    assert read(path) == [build_entry("a"), build_entry("b")]


def test_journal_of_a_later_format_is_refused(path: Path) -> None:
    text = b'0 "local-kubernetes journal, format 3"'
    path.write_bytes(b"%08x %s\n" % (zlib.crc32(text), text))
    with pytest.raises(JournalError, match="unknown format 'local-kubernetes journal, format 3'"):
        Journal(path, repair=True)


def test_journal_that_is_no_regular_file_is_refused(path: Path) -> None:
    path.symlink_to("/dev/null")
    with pytest.raises(JournalError, match="is not a regular file"):
        Journal(path)
    assert path.is_symlink()


def test_journal_that_is_a_link_to_nothing_is_refused(path: Path) -> None:
    path.symlink_to(path.with_name("elsewhere"))
    with pytest.raises(JournalError, match=r"is a link to a file that does not exist\. Move this file away"):
        Journal(path)
    assert path.is_symlink()


def test_journal_that_is_a_folder_is_refused(path: Path) -> None:
    path.mkdir()
    with pytest.raises(JournalError, match=r"is not a regular file\. Move this file away"):
        Journal(path, repair=True)


@pytest.mark.parametrize("exists", [False, True], ids=["first start", "later start"])
def test_foreign_file_with_the_name_of_an_unfinished_journal_is_left_as_it_is(path: Path, exists: bool) -> None:
    if exists:
        write(path, build_entry("a"))
    foreign = path.with_name("journal.new")
    foreign.write_text("my notes")
    with pytest.raises(JournalError, match=r"journal\.new exists and belongs to another program\. Move this file away"):
        Journal(path)
    assert foreign.read_text() == "my notes"
    assert path.exists() == exists


@pytest.mark.parametrize("size", [0, 20, 100])
def test_unfinished_journal_of_a_killed_cluster_is_replaced(path: Path, size: int) -> None:
    write(path, *ENTRIES)
    path.with_name("journal.new").write_bytes(path.read_bytes()[:size])
    journal = Journal(path)
    journal.compact(journal.read())
    journal.close()
    assert [file.name for file in path.parent.iterdir()] == ["journal"]


def test_foreign_file_that_appears_later_is_not_overwritten(path: Path) -> None:
    journal = Journal(path)
    path.with_name("journal.new").write_text("my notes")
    with pytest.raises(FileExistsError):
        journal.compact([build_entry("a")])
    journal.append(build_entry("b"))
    journal.close()
    assert path.with_name("journal.new").read_text() == "my notes"
    path.with_name("journal.new").unlink()
    assert read(path) == [build_entry("b")]


def test_journal_of_an_earlier_version_is_read_and_rewritten(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.write_bytes(convert_to_earlier_version(*ENTRIES))
    write(path, build_entry("d", 6))
    assert caplog.text == ""
    assert path.read_bytes().splitlines()[0].endswith(b'0 "local-kubernetes journal, format 2"')
    assert read(path) == [build_entry("c", 4), build_entry("b", 5, "other"), build_entry("d", 6)]


def test_damaged_journal_of_an_earlier_version_is_refused(path: Path) -> None:
    content = bytearray(convert_to_earlier_version(*ENTRIES))
    content[find_offsets(bytes(content))[1] + 30] ^= 1
    path.write_bytes(content)
    with pytest.raises(JournalError, match=r"record 1 at byte \d+ .* does not match its checksum\. 4 changes"):
        Journal(path)
    assert path.read_bytes() == content
    assert repair(path) == [ENTRIES[0], *ENTRIES[2:]]


def test_torn_end_of_an_earlier_versions_journal_is_cut_off(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.write_bytes(convert_to_earlier_version(*ENTRIES)[:-3])
    assert read(path) == ENTRIES[:-1]
    assert "the last write was interrupted" in caplog.text


def test_objects_without_a_definition_stay_in_the_journal(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first = store_on(path)
    served = KindRegistry(first).find("apiextensions.k8s.io", "v1", CUSTOM_RESOURCE_DEFINITIONS.plural)
    create(first, served, None, build_definition(), WriteOptions())
    things = KindRegistry(first).find("example.com", "v1", "things")
    create(first, things, "default", build_thing("a"), WriteOptions())
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for line in lines if b'"things.example.com"],' not in line))

    journal = Journal(path, repair=True)
    second = Store(journal=journal)
    assert "1 object of things.example.com cannot be served until a definition of this kind exists" in caplog.text
    served = KindRegistry(second).find("apiextensions.k8s.io", "v1", CUSTOM_RESOURCE_DEFINITIONS.plural)
    create(second, served, None, build_definition(), WriteOptions())
    journal.close()

    third = store_on(path)
    assert third.objects.exists(KindRegistry(third).find("example.com", "v1", "things").kind, "default", "a")
    assert third.objects.exists(NAMESPACES, None, "default")
    third.create(CONFIG_MAPS, "default", build_config_map("a"))


def mutate(content: bytes, how: str, place: int, piece: bytes) -> bytes:
    place %= len(content) + 1
    match how:
        case "flip":
            place = min(place, len(content) - 1)
            return content[:place] + bytes([content[place] ^ (piece[0] or 1)]) + content[place + 1 :]
        case "truncate":
            return content[:place]
        case "delete":
            return content[:place] + content[place + len(piece) :]
        case "insert":
            return content[:place] + piece + content[place:]
        case _:  # a part of itself
            return content[:place] + content[place // 2 : place] + content[place:]


@example(how="delete", place=855, piece=b"x" * 21, is_closed=False)
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    how=st.sampled_from(["flip", "truncate", "delete", "insert", "repeat"]),
    place=st.integers(0, 2000),
    piece=st.binary(min_size=1, max_size=300),
    is_closed=st.booleans(),
)
def test_no_damage_at_any_place_loses_a_record_silently_or_overwrites_the_file(
    path: Path, caplog: pytest.LogCaptureFixture, how: str, place: int, piece: bytes, is_closed: bool
) -> None:
    for file in path.parent.iterdir():
        file.unlink()
    caplog.clear()
    (write if is_closed else write_killed_journal)(path, *ENTRIES)
    original = path.read_bytes()
    damaged = mutate(original, how, place, piece)
    path.write_bytes(damaged)
    with caplog.at_level(logging.WARNING):
        try:
            found = read(path)
        except JournalError:
            assert path.read_bytes() == damaged
            return
    if found != ENTRIES:
        assert found == ENTRIES[: len(found)], "only the end of a journal is ever cut off"
        assert "the last write was interrupted" in caplog.text or "the cluster that wrote it was killed" in caplog.text
        assert original.startswith(damaged), "only a cut file is what a crash leaves"
        assert len(found) == max(damaged.count(b"\n") - 1, 0)
