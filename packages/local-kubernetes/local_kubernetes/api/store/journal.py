"""The journal: the objects of a cluster on disk, in a SQLite database with one row for each object.

Each change is one transaction, which survives the end of this process. `sync` writes the transactions to the disk. A
damaged journal is reported: its objects stay unchanged until the user requests a repair, which keeps a copy.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import sqlite3
import zlib
from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from .text_journal import UnknownFormatError, read_text_journal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

logger = logging.getLogger(__name__)

_Key = tuple[str, str]
_Content = dict[str, tuple[int, bytes]]  # version and document of each object, by name; no document if deleted

_PRIVATE_FILE = 0o600
_sync_descriptor = getattr(os, "fdatasync", os.fsync)
_START = b"SQLite format 3\0"
_FORMAT = 3  # formats 1 and 2 are text
_SMALLEST_ROW = 16  # bytes
_MOVE_AWAY = "Move this file away, or choose another folder"

_CREATE = "CREATE TABLE objects (id INTEGER PRIMARY KEY, name TEXT, version INTEGER, document BLOB, checksum INTEGER)"
_WRITE = "REPLACE INTO objects VALUES (?, ?, ?, ?, ?)"
_READ_IDS = "SELECT name, id FROM objects WHERE document <> x''"
_READ = "SELECT * FROM objects WHERE id > ? ORDER BY id LIMIT 1"


class JournalError(Exception):
    """The journal cannot be used; the message names the file, the cause and the remedy. No object in it is changed."""


class JournalEntry(NamedTuple):
    """An object in the journal.

    Attributes:
        kind: Group and plural of its kind.
        place: Its namespace (empty for cluster-scoped kinds) and name.
        version: The resource version of its last change.
        document: The object, as JSON.
    """

    kind: _Key
    place: tuple[str, str]
    version: int
    document: bytes


class Journal:
    """The database, locked for this process.

    Attributes:
        version: The version of the last change that the file held when it was opened.

    Args:
        path: The file. If it does not exist it is created, readable by its owner only. A journal of an earlier version
            is replaced by a database.
        repair: Whether to drop damaged rows, after saving a copy of the file, instead of refusing to open it.

    Raises:
        JournalError: The file is not a journal, is damaged, or is used by another program.
        OSError: The file could not be read or written.
    """

    def __init__(self, path: Path, *, repair: bool = False) -> None:
        if os.path.lexists(path) and not path.is_file():
            raise JournalError(
                f"could not read the journal {path}: it is neither a regular file nor a link to one. {_MOVE_AWAY}"
            )
        path = path.resolve()  # SQLite writes its other files next to the file itself
        try:
            self._content = _load(path, repair=repair)
            self._connection = sqlite3.connect(path, isolation_level=None)  # each statement is a transaction
            _configure(self._connection)
        except sqlite3.Error as error:
            raise JournalError(
                f"could not open the journal {path}: {error}. Check the permissions and the free space of its folder, "
                "and end other programs that use the file"
            ) from error
        self.version = max((version for version, _ in self._content.values()), default=0)
        # An index in the database would cost more than one in memory. Rows of deleted objects are used again.
        self._ids: dict[str, int] = dict(self._connection.execute(_READ_IDS))
        self._free = sorted(set(range(1, max(self._ids.values(), default=0) + 1)) - {*self._ids.values()})
        self._log = _find_log(path)
        self._written = 0
        self._synced = 0
        self._syncing: asyncio.Future[None] | None = None

    def read(self) -> list[JournalEntry]:
        """Return the objects that the file held when it was opened, oldest change first; call this method once."""
        content, self._content = self._content, {}
        ordered = sorted(content.items(), key=lambda item: item[1][0])
        return [JournalEntry(*_parse_name(name), *row) for name, row in ordered if row[1]]

    def write(self, kind: _Key, place: tuple[str, str], version: int, document: bytes | None) -> None:
        """Write a change; it survives the end of this process and, after `sync`, a crash of the machine.

        Args:
            kind: Group and plural of the object's kind.
            place: Namespace (empty for cluster-scoped kinds) and name of the object.
            version: The resource version of the change.
            document: The object after the change, as JSON; None if it was deleted.

        Raises:
            JournalError: The change could not be written; the file is unchanged.
        """
        name = _format_name(kind, place)
        free_id = self._free[-1] if self._free else len(self._ids) + 1
        row_id = self._ids.get(name, free_id)
        try:
            self._connection.execute(_WRITE, _build_row(row_id, name, version, document or b""))
        except sqlite3.Error as error:
            raise JournalError(str(error)) from error
        if document is None:
            self._free.append(self._ids.pop(name))
        elif name not in self._ids:
            self._ids[name] = row_id
            del self._free[-1:]
        self._written += 1

    async def sync(self) -> None:
        """Wait until every earlier change is on disk; concurrent callers share one sync.

        Raises:
            OSError: The disk reported an error.
        """
        wanted = self._written
        while self._synced < wanted:
            if self._syncing is None:
                self._syncing = asyncio.ensure_future(self._sync_once())
            await asyncio.shield(self._syncing)

    async def _sync_once(self) -> None:
        covered = self._written
        try:
            await asyncio.to_thread(_sync, self._log)
            self._synced = covered
        finally:
            self._syncing = None

    def close(self) -> None:
        """Write everything to disk, and close the file."""
        self._connection.close()


def _load(path: Path, *, repair: bool) -> _Content:
    """Return the content of the file, which is a database afterwards: create, import or repair it if necessary."""
    if not path.exists():
        _replace(path, {})
        return {}
    with path.open("r+b") as file:
        is_database = file.read(len(_START)) == _START
    try:
        content, damages = (_read_database if is_database else _read_text)(path)
    except UnknownFormatError as error:
        raise JournalError(
            f"could not read the journal {path}: unknown format {error}. "
            "Use the version of this package that wrote it, or choose another folder"
        ) from None
    if damages and not content:
        raise JournalError(
            f"could not read the journal {path}: it contains no intact record. The file was not changed. {_MOVE_AWAY}"
        )
    if damages and not repair:
        more = f" (further damaged places: {len(damages) - 1})" if damages[1:] else ""
        raise JournalError(
            f"could not read the journal {path}: {damages[0]}{more}. {len(content)} records are intact. Restore the "
            "file from a copy, or start with --repair, which keeps a copy of the file and drops the damaged records"
        )
    if damages:
        logger.warning("journal %s repaired: the damaged file is kept as %s", path, _keep_copy(path))
        for damage in damages:
            logger.warning("journal %s: dropped: %s", path, damage)
    if damages or not is_database:
        _replace(path, content)
    return content


def _configure(connection: sqlite3.Connection) -> None:
    """Lock the database for this process, and let a transaction be only an append to the log."""
    for setting in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = NORMAL"):
        connection.execute(f"PRAGMA {setting}")


def _replace(path: Path, content: _Content) -> None:
    """Replace the file at once by a database with this content."""
    new = path.with_name(f"{path.name}.new")
    for left in (new, _find_log(new)):
        left.unlink(missing_ok=True)
    new.touch(_PRIVATE_FILE)
    with closing(sqlite3.connect(new)) as connection:
        connection.execute("PRAGMA journal_mode = MEMORY")
        with connection:
            connection.execute(_CREATE)
            connection.execute(f"PRAGMA user_version = {_FORMAT}")
            rows = (_build_row(row_id, name, *row) for row_id, (name, row) in enumerate(content.items(), 1))
            connection.executemany(_WRITE, rows)
        _configure(connection)  # a later change of the mode would leave further files if it was killed
    _find_log(path).unlink(missing_ok=True)
    new.replace(path)
    _sync(path.parent)


def _read_text(path: Path) -> tuple[_Content, list[str]]:
    """Return the content of a journal of an earlier version, and its damages."""
    content: _Content = {}
    changes, damages = read_text_journal(path)
    for change in changes:
        document = b"" if change.document is None else json.dumps(change.document, separators=(",", ":")).encode()
        content[_format_name(change.kind, change.place)] = (change.version, document)
    return content, damages


def _read_database(path: Path) -> tuple[_Content, list[str]]:
    """Return the intact rows of a database, and its damages."""
    content: _Content = {}
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        damages = _check(connection)
        connection.execute("PRAGMA writable_schema = ON")  # SQLite then also reads a file without its end
        if not _has_table(connection):
            return {}, [*damages, "the definition of the table is damaged"]
        for row_id, name, version, document, checksum in _read_rows(connection, damages):
            if isinstance(document, bytes) and checksum == _build_row(row_id, name, version, document)[-1]:
                content[name] = max((version, document), content.get(name, (0, b"")))
            else:
                damages.append(f"the record of {name!r} does not match its checksum")
    return content, damages


def _check(connection: sqlite3.Connection) -> list[str]:
    """Return what SQLite finds wrong with the database.

    Raises:
        UnknownFormatError: Another version or program wrote the database.
        sqlite3.OperationalError: The file could not be read or locked.
    """
    try:
        _configure(connection)
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        problems = [" ".join(problem.split()) for (problem,) in connection.execute("PRAGMA integrity_check")]
    except sqlite3.OperationalError:
        raise
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # SQLite quotes damaged text
        return [" ".join(str(error).split())]
    if found != _FORMAT:
        raise UnknownFormatError(found)
    return [] if problems == ["ok"] else problems


def _has_table(connection: sqlite3.Connection) -> bool:
    """Return whether the definition of the table is intact. Without it, rows would be read as something else."""
    try:
        return connection.execute("SELECT sql FROM sqlite_master").fetchall() == [(_CREATE,)]
    except (sqlite3.Error, UnicodeDecodeError):
        return False


def _read_rows(connection: sqlite3.Connection, damages: list[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows that can be read; for each range of rows that cannot, add the error to `damages`."""
    ((pages,),), ((page_size,),) = (connection.execute(f"PRAGMA {name}") for name in ("page_count", "page_size"))
    last, is_readable = 0, True
    while last < pages * page_size // _SMALLEST_ROW:
        try:
            row = _read_row(connection, last)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if is_readable:
                damages.append(f"records after number {last} cannot be read: {error}")
            last, is_readable = last + 1, False  # the numbers have no gaps, so this finds the next readable page
            continue
        if row is None:
            return
        yield row
        last, is_readable = row[0], True


def _read_row(connection: sqlite3.Connection, last: int) -> tuple[Any, ...] | None:
    """Return the first row whose id is larger than `last`.

    Raises:
        sqlite3.Error: The row cannot be read.
    """
    row: tuple[Any, ...] | None = connection.execute(_READ, (last,)).fetchone()
    if row is not None and row[0] <= last:
        raise sqlite3.DatabaseError("records are not in order")
    return row


def _keep_copy(path: Path) -> Path:
    """Copy the file, and its log if there is one, to a free name in the same directory."""
    copies = (path.with_name(f"{path.name}.damaged-{number}") for number in count(1))
    copy = next(copy for copy in copies if not os.path.lexists(copy))
    for source, target in ((path, copy), (_find_log(path), _find_log(copy))):
        if source.exists():
            target.touch(_PRIVATE_FILE)
            shutil.copyfile(source, target)
            _sync(target)
    return copy


def _find_log(path: Path) -> Path:
    """Return the file in which SQLite collects the transactions that it has not written to the database yet."""
    return path.with_name(f"{path.name}-wal")


def _sync(path: Path) -> None:
    """Write a file or directory to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        _sync_descriptor(descriptor)
    finally:
        os.close(descriptor)


def _build_row(row_id: int, name: str, version: int, document: bytes) -> tuple[int, str, int, bytes, int]:
    """Return a row with its checksum: SQLite would not notice a changed byte of a document."""
    return row_id, name, version, document, zlib.crc32(document, zlib.crc32(f"{name} {version}".encode()))


def _format_name(kind: _Key, place: _Key) -> str:
    """Return the name of an object in the database and in messages."""
    return f"{'.'.join(filter(None, reversed(kind)))} {'/'.join(filter(None, place))}"


def _parse_name(name: str) -> tuple[_Key, _Key]:
    kind, _, place = name.partition(" ")
    plural, _, group = kind.partition(".")
    namespace, _, own = place.rpartition("/")
    return (group, plural), (namespace, own)
