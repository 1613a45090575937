"""The journal: the objects of a cluster on disk. Every change is appended to one file, which the next start reads.

A crash can interrupt the last write. An incomplete record at the end of the file is removed, because no client has
received an answer for it. Any other damage is reported: the file stays unchanged until the user requests a repair,
which keeps a copy.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from collections import Counter
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from local_kubernetes.api.journal_format import (
    LONGEST_LINE,
    Contents,
    Damage,
    JournalEntry,
    encode_closing,
    encode_entry,
    encode_header,
    is_readable,
    read_contents,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

logger = logging.getLogger(__name__)

_PRIVATE_FILE = 0o600
_COMPACT_BYTES = 64 * 1024 * 1024
_MOST_DAMAGES_LOGGED = 20
_MOVE_AWAY = "Move this file away, or choose another folder"
_Key = tuple[str, str]


class JournalError(Exception):
    """The journal cannot be used; the message names the file, the cause and the remedy. The file is unchanged."""


class Journal:
    """A file of changes, open for appending.

    Args:
        path: The file. If it does not exist it is created, readable by its owner only.
        compact_bytes: Size in bytes by which the file may exceed its objects before it is rewritten.
        repair: Whether to drop damaged records, after saving a copy of the file, instead of refusing to open it.

    Raises:
        JournalError: The file is not a journal, or an interrupted write cannot explain its damage.
        OSError: The file could not be read or written.
    """

    def __init__(self, path: Path, *, compact_bytes: int = _COMPACT_BYTES, repair: bool = False) -> None:
        self._path = path
        self._compact_bytes = compact_bytes
        self._size = 0
        self._needed = 0
        self._next_number = 0
        self._written = 0
        self._synced = 0
        self._syncing: asyncio.Future[None] | None = None
        self._entries: list[JournalEntry] = []
        _refuse_foreign(_get_unfinished_path(path))
        self._descriptor = self._create() if not os.path.lexists(path) else self._open(repair=repair)

    def read(self) -> list[JournalEntry]:
        """Return the changes that the file held when it was opened; only the first call returns them."""
        entries, self._entries = self._entries, []
        return entries

    def append(self, entry: JournalEntry) -> None:
        """Write a change; it survives the end of this process and, after `sync`, a crash of the machine.

        Raises:
            OSError: The change could not be written; the file is unchanged.
        """
        self._append(encode_entry(self._next_number, entry))
        self._next_number += 1
        self._written += 1

    def _append(self, line: bytes) -> None:
        try:
            _write(self._descriptor, line)
        except OSError:
            os.ftruncate(self._descriptor, self._size)
            os.lseek(self._descriptor, self._size, os.SEEK_SET)
            raise
        self._size += len(line)

    @property
    def overgrown(self) -> bool:
        """Return whether the file contains far more changes than objects."""
        return self._size > 2 * self._needed + self._compact_bytes

    def compact(self, entries: Iterable[JournalEntry]) -> None:
        """Rewrite the file with the current objects only.

        Raises:
            OSError: The file could not be written; it is unchanged.
        """
        descriptor, size, number = self._write_new(entries)
        os.close(self._descriptor)
        self._descriptor = descriptor
        self._size = self._needed = size
        self._next_number = number

    def _create(self) -> int:
        descriptor, self._size, self._next_number = self._write_new(())
        return descriptor

    def _write_new(self, entries: Iterable[JournalEntry]) -> tuple[int, int, int]:
        """Replace the file by one with these changes; return its descriptor, its size, and the next number.

        Raises:
            OSError: The file could not be written; it is unchanged.
        """
        unfinished = _get_unfinished_path(self._path)
        if _is_unfinished_journal(unfinished):
            unfinished.unlink()
        descriptor = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL, _PRIVATE_FILE)
        number = 1
        try:
            size = _write(descriptor, encode_header())
            for entry in entries:
                size += _write(descriptor, encode_entry(number, entry))
                number += 1
            os.fsync(descriptor)
            unfinished.replace(self._path)
        except OSError:
            os.close(descriptor)
            unfinished.unlink(missing_ok=True)
            raise
        _sync_folder(self._path.parent)
        return descriptor, size, number

    def _open(self, *, repair: bool) -> int:
        _refuse_irregular(self._path)
        descriptor = os.open(self._path, os.O_RDWR | os.O_NONBLOCK)
        try:
            contents = _read_contents(descriptor)
            _refuse_unusable(self._path, contents, repair=repair)
            if contents.damages:
                _log_repair(self._path, contents.damages, _keep_copy(descriptor, self._path))
            _log_end(self._path, contents)
            self._entries = contents.entries
            self._size, self._next_number = contents.size, contents.next_number
            if not contents.damages and contents.is_numbered:
                os.ftruncate(descriptor, self._size)
                os.lseek(descriptor, self._size, os.SEEK_SET)
                return os.dup(descriptor)
            replacement, self._size, self._next_number = self._write_new(find_latest(contents.entries))
            return replacement
        finally:
            os.close(descriptor)

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
        descriptor = os.dup(self._descriptor)
        try:
            await asyncio.to_thread(os.fsync, descriptor)
            self._synced = max(self._synced, covered)
        finally:
            os.close(descriptor)
            self._syncing = None

    def close(self) -> None:
        """Write everything to disk, with a record that marks the end, and close the file.

        Raises:
            OSError: The disk reported an error.
        """
        try:
            self._append(encode_closing(self._next_number))
        except OSError as error:
            logger.warning("journal %s: could not write its closing record: %s", self._path, error)
        os.fsync(self._descriptor)
        os.close(self._descriptor)


def find_latest(entries: Iterable[JournalEntry]) -> Iterator[JournalEntry]:
    """Return the objects after all changes, in the order of their last change."""
    found: dict[tuple[_Key, tuple[str, str]], JournalEntry] = {}
    for entry in entries:
        found.pop((entry.kind, entry.place), None)
        if entry.document is not None:
            found[entry.kind, entry.place] = entry
    yield from found.values()


def log_unserved(entries: Iterable[JournalEntry]) -> None:
    """Log how many objects in a journal have a kind that is not defined. These objects stay in the journal."""
    counts = Counter(".".join(filter(None, reversed(entry.kind))) for entry in entries)
    for name, number in sorted(counts.items()):
        logger.warning(
            "%d object%s of %s cannot be served until a definition of this kind exists; the journal keeps %s",
            number,
            "" if number == 1 else "s",
            name,
            "it" if number == 1 else "them",
        )


def _write(descriptor: int, line: bytes) -> int:
    rest = memoryview(line)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    return len(line)


def _get_unfinished_path(path: Path) -> Path:
    """Return the path of the new journal before it replaces the current one."""
    return path.with_name(f"{path.name}.new")


def _is_unfinished_journal(path: Path) -> bool:
    """Return whether a killed cluster left this file: it is empty, or begins like a journal."""
    if path.is_symlink() or not path.is_file():
        return False
    header = encode_header()
    with path.open("rb") as file:
        return header.startswith(file.read(len(header)))


def _refuse_foreign(unfinished: Path) -> None:
    """Raise JournalError if another program's file exists at the path of the new journal."""
    if os.path.lexists(unfinished) and not _is_unfinished_journal(unfinished):
        raise JournalError(
            f"could not write the journal: the file {unfinished} exists and belongs to another program. {_MOVE_AWAY}"
        )


def _refuse_irregular(path: Path) -> None:
    """Raise JournalError if the journal is not a regular file or a link to one."""
    if not path.exists():
        raise JournalError(
            f"could not read the journal {path}: it is a link to a file that does not exist. {_MOVE_AWAY}"
        )
    if not path.is_file():
        raise JournalError(f"could not read the journal {path}: it is not a regular file. {_MOVE_AWAY}")


def _read_contents(descriptor: int) -> Contents:
    with os.fdopen(os.dup(descriptor), "rb") as file:
        return read_contents(iter(partial(file.readline, LONGEST_LINE), b""))


def _refuse_unusable(path: Path, contents: Contents, *, repair: bool) -> None:
    """Raise JournalError unless the file is a journal that is intact or is to be repaired."""
    if not contents.is_journal:
        raise JournalError(
            f"could not read the journal {path}: it contains no intact record. The file was not changed. {_MOVE_AWAY}"
        )
    if not is_readable(contents.header):
        raise JournalError(
            f"could not read the journal {path}: unknown format {contents.header!r}. "
            "Use the version of this package that wrote it, or choose another folder"
        )
    if contents.damages and not repair:
        first, *others = contents.damages
        more = f" (further damaged places: {len(others)})" if others else ""
        raise JournalError(
            f"could not read the journal {path}: {first}{more}. {len(contents.entries)} changes are intact. Restore "
            "the file from a copy, or start with --repair, which keeps a copy of the file and drops the damaged records"
        )


def _log_repair(path: Path, damages: Sequence[Damage], copy: Path) -> None:
    logger.warning("journal %s repaired: the damaged file is kept as %s", path, copy)
    for damage in damages[:_MOST_DAMAGES_LOGGED]:
        logger.warning("journal %s: dropped: %s", path, damage)
    if len(damages) > _MOST_DAMAGES_LOGGED:
        logger.warning("journal %s: dropped further damaged places: %d", path, len(damages) - _MOST_DAMAGES_LOGGED)
    logger.warning("journal %s: an object whose record was dropped has its previous content, or is missing", path)


def _log_end(path: Path, contents: Contents) -> None:
    if contents.torn is not None:
        logger.warning("journal %s: the last write was interrupted: %s", path, contents.torn)
    elif contents.is_numbered and not contents.is_closed:
        last = contents.next_number - 1
        logger.warning(
            "journal %s: the cluster that wrote it was killed; restored all records; the last is record %d", path, last
        )


def _keep_copy(descriptor: int, path: Path) -> Path:
    """Copy the file to a free name in the same directory."""
    for number in count(1):
        copy = path.with_name(f"{path.name}.damaged-{number}")
        try:
            target = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE_FILE)
        except FileExistsError:
            continue
        break
    os.lseek(descriptor, 0, os.SEEK_SET)
    with os.fdopen(os.dup(descriptor), "rb") as source, os.fdopen(target, "wb") as file:
        shutil.copyfileobj(source, file)
        file.flush()
        os.fsync(file.fileno())
    return copy


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
