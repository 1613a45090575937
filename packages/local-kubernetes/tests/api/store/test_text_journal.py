"""A journal that an earlier version wrote as text is imported once, or refused."""

import signal
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from local_kubernetes.api.store.journal import Journal, JournalError

from api.store.test_journal import build_entry, read, write

# As the last version with this format wrote it. It created a, b and c, deleted a, changed b, and was closed.
RECORDED = rb"""9272f9c7 0 "local-kubernetes journal, format 2"
86b16ba7 1 [["","configmaps"],["default","a"],1,{"metadata":{"name":"a"},"data":{"k":"x"}}]
e5a50609 2 [["","configmaps"],["default","b"],2,{"metadata":{"name":"b"},"data":{"k":"\u00fc\n"}}]
2de750c8 3 [["","configmaps"],["default","a"],3,null]
7779112c 4 [["","configmaps"],["default","c"],4,{"metadata":{"name":"c"},"data":{"k":"x"}}]
71b2c3a5 5 [["","configmaps"],["default","b"],5,{"metadata":{"name":"b"},"data":{"k":"other"}}]
82a8edba 6 "closed"
"""
LINES = RECORDED.splitlines(keepends=True)
OBJECTS = [build_entry("c", 4), build_entry("b", 5, "other")]
IMPORT = """
import os, signal, sys
from pathlib import Path
from local_kubernetes.api.store.journal import Journal

replace = Path.replace
def replace_and_die(self, target):
    if sys.argv[2] == "after":
        replace(self, target)
    os.kill(os.getpid(), signal.SIGKILL)
Path.replace = replace_and_die
Journal(Path(sys.argv[1]))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def write_line(text: bytes) -> bytes:
    return b"%08x %s\n" % (zlib.crc32(text), text)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(RECORDED, id="closed"),
        pytest.param(b"".join(LINES[:6]), id="killed"),
        pytest.param(b"".join(LINES[:6]) + LINES[1][:30], id="killed during a write"),
        pytest.param(b"".join(write_line(line[11:-1]) for line in LINES[1:6]), id="format 1"),
        pytest.param(write_line(b'0 "another emulator journal, format 2"') + b"".join(LINES[1:]), id="another product"),
    ],
)
def test_journal_of_an_earlier_version_is_imported_once(path: Path, content: bytes, tmp_path: Path) -> None:
    path.write_bytes(content)
    path.chmod(0o600)
    assert read(path) == OBJECTS
    assert path.read_bytes().startswith(b"SQLite format 3\0")
    assert path.stat().st_mode & 0o777 == 0o600
    write(path, build_entry("d", 6))
    assert read(path) == [*OBJECTS, build_entry("d", 6)]
    assert [file.name for file in tmp_path.iterdir()] == ["journal"]


def test_journal_without_objects_is_imported(path: Path) -> None:
    path.write_bytes(LINES[0])
    assert read(path) == []


@pytest.mark.parametrize("moment", ["before", "after"])
def test_import_that_is_killed_leaves_the_journal_or_the_database(path: Path, moment: str) -> None:
    path.write_bytes(RECORDED)
    process = subprocess.run([sys.executable, "-c", IMPORT, path, moment], check=False)
    assert process.returncode == -signal.SIGKILL
    assert (path.read_bytes() == RECORDED) == (moment == "before")
    assert read(path) == OBJECTS
    assert [file.name for file in path.parent.iterdir()] == ["journal"]


@pytest.mark.parametrize("size", [0, 20, 5000])
def test_unfinished_database_of_a_killed_import_is_replaced(path: Path, size: int) -> None:
    path.write_bytes(RECORDED)
    path.with_name("journal.new").write_bytes(b"SQLite format 3\0".ljust(5000, b"x")[:size])
    assert read(path) == OBJECTS
    assert [file.name for file in path.parent.iterdir()] == ["journal"]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        pytest.param([*LINES[:5], LINES[5].replace(b"other", b"0ther"), LINES[6]], "line 6", id="changed"),
        pytest.param([*LINES[:5], LINES[6]], "line 6", id="missing"),
        pytest.param([*LINES[:3], *LINES[2:]], "line 4", id="repeated"),
        pytest.param(LINES[1:], "line 1", id="no header"),
        pytest.param([*LINES[:5], b"\0" * 500], "line 6", id="zeros at the end"),
    ],
)
def test_damaged_journal_of_an_earlier_version_is_imported_by_a_repair(
    path: Path, lines: list[bytes], problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    content = b"".join(lines)
    path.write_bytes(content)
    with pytest.raises(JournalError, match=f"{problem} is damaged, missing or repeated.* start with --repair"):
        Journal(path)
    assert path.read_bytes() == content
    found = read(path, repair=True)
    assert OBJECTS[0] in found
    assert path.with_name("journal.damaged-1").read_bytes() == content
    assert f"dropped: {problem} is damaged" in caplog.text
    assert read(path) == found


def test_journal_of_a_later_format_is_refused(path: Path) -> None:
    path.write_bytes(write_line(b'0 "local-kubernetes journal, format 4"'))
    with pytest.raises(JournalError, match="unknown format local-kubernetes journal, format 4"):
        Journal(path, repair=True)
