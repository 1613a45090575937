"""The objects of a cluster on disk: every change appended to one file, from which the next start reads them.

A line is a checksum and a JSON document: an object as it became, or the place of one that went. A line that a
crash has cut off, and whatever follows it, counts for nothing: nobody was told that it had been written.
"""

from __future__ import annotations

import asyncio
import json
import os
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from airflow_provider_spark_operator.local.api.documents import JsonObject

_PRIVATE_FILE = 0o600
_COMPACT_BYTES = 64 * 1024 * 1024
_Key = tuple[str, str]


@dataclass(frozen=True)
class Entry:
    """A change: of the object at a place, kinds being named by group and plural; None where it went."""

    kind: _Key
    place: tuple[str, str]
    version: int
    document: JsonObject | None


class Journal:
    """A file of changes, held open for appending.

    Args:
        path: the file; made, readable by its owner only, where there is none.
        compact_bytes: how far the file may grow beyond what the objects need before it is written anew.

    Raises:
        OSError: the file cannot be read or written.
    """

    def __init__(self, path: Path, *, compact_bytes: int = _COMPACT_BYTES) -> None:
        self._path = path
        self._compact_bytes = compact_bytes
        self._size = 0
        self._needed = 0
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, _PRIVATE_FILE)
        self._written = 0
        self._synced = 0
        self._syncing: asyncio.Future[None] | None = None

    def read(self) -> list[Entry]:
        """The changes that are there; what follows the last whole line is cut off."""
        entries = []
        with os.fdopen(os.dup(self._descriptor), "rb") as file:
            file.seek(0)
            for line in file:
                entry = _decoded(line)
                if entry is None:
                    break
                entries.append(entry)
                self._size += len(line)
        os.ftruncate(self._descriptor, self._size)
        os.lseek(self._descriptor, self._size, os.SEEK_SET)
        return entries

    def append(self, entry: Entry) -> None:
        """Write a change; it survives the end of this process, and after `sync` that of the machine.

        Raises:
            OSError: it could not be written; the file is as it was.
        """
        line = _encoded(entry)
        try:
            _write(self._descriptor, line)
        except OSError:
            os.ftruncate(self._descriptor, self._size)
            os.lseek(self._descriptor, self._size, os.SEEK_SET)
            raise
        self._size += len(line)
        self._written += 1

    @property
    def overgrown(self) -> bool:
        """Whether the file holds far more changes than objects."""
        return self._size > 2 * self._needed + self._compact_bytes

    def compact(self, entries: Iterable[Entry]) -> None:
        """Write the file anew, with nothing but the objects that there are.

        Raises:
            OSError: it could not be written; the file is as it was.
        """
        unfinished = self._path.with_name(f"{self._path.name}.new")
        descriptor = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_TRUNC, _PRIVATE_FILE)
        try:
            size = sum(_write(descriptor, _encoded(entry)) for entry in entries)
            os.fsync(descriptor)
            unfinished.replace(self._path)
        except OSError:
            os.close(descriptor)
            unfinished.unlink(missing_ok=True)
            raise
        os.close(self._descriptor)
        self._descriptor = descriptor
        self._size = self._needed = size
        _sync_folder(self._path.parent)

    async def sync(self) -> None:
        """Wait until every change so far is on the disk; those who wait at the same time share the effort.

        Raises:
            OSError: the disk refuses.
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
        """Put everything on the disk and close the file."""
        os.fsync(self._descriptor)
        os.close(self._descriptor)


def latest(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The objects that are left after all changes, in the order of their last change."""
    found: dict[tuple[_Key, tuple[str, str]], Entry] = {}
    for entry in entries:
        found.pop((entry.kind, entry.place), None)
        if entry.document is not None:
            found[entry.kind, entry.place] = entry
    yield from found.values()


def _write(descriptor: int, line: bytes) -> int:
    rest = memoryview(line)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    return len(line)


def _encoded(entry: Entry) -> bytes:
    text = json.dumps([entry.kind, entry.place, entry.version, entry.document], separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _decoded(line: bytes) -> Entry | None:
    checksum, _, text = line.rstrip(b"\n").partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(text):
        return None
    kind, place, version, document = json.loads(text)
    return Entry((kind[0], kind[1]), (place[0], place[1]), version, document)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
