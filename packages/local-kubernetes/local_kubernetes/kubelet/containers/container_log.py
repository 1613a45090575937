"""The output of one container in files with one line `TIME STREAM F|P TEXT` per line, as in container runtimes.

The size is bounded: when a file is full it replaces the older file, so that at most two exist.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from ...api.server.podlogs import LogOptions
from ...clock import utc_now

MAX_FILE_BYTES = 10 * 1024 * 1024
MAX_LINE_BYTES = 16 * 1024
_BATCH_BYTES = 64 * 1024
_BLOCK_BYTES = 64 * 1024
_OLDER = ".1"


class ContainerLog:
    """The log of one run of one container.

    Args:
        path: File to write; the older part is in the same directory, with the suffix `.1`.
        max_file_bytes: Size at which the file becomes the older part.
        clock: Returns the current time.
    """

    def __init__(
        self, path: Path, *, max_file_bytes: int = MAX_FILE_BYTES, clock: Callable[[], datetime] = utc_now
    ) -> None:
        self.path = path
        self.older = path.with_name(path.name + _OLDER)
        self._max_file_bytes = max_file_bytes
        self._clock = clock
        self._pending = {"stdout": b"", "stderr": b""}
        self._rotations = 0
        self._closed = False
        self._changed = asyncio.Event()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)

    def write(self, stream: str, data: bytes) -> None:
        """Append output of `stdout` or `stderr`; like containerd, drop carriage returns before line ends.

        Raises:
            OSError: The file could not be written.
        """
        *lines, rest = (self._pending[stream] + data).split(b"\n")
        time = log_time(self._clock()).encode()
        records = []
        for line in lines:
            records += _split_records(time, stream.encode(), line.removesuffix(b"\r"))
        while len(rest) >= MAX_LINE_BYTES:
            records.append(_record(time, stream.encode(), b"P", rest[:MAX_LINE_BYTES]))
            rest = rest[MAX_LINE_BYTES:]
        self._pending[stream] = rest
        self._append(b"".join(records))

    def flush(self, stream: str) -> None:
        """Append output that has no line end yet; raises OSError if the file cannot be written."""
        rest, self._pending[stream] = self._pending[stream], b""
        if rest:
            self._append(_record(log_time(self._clock()).encode(), stream.encode(), b"P", rest))

    def close(self) -> None:
        """Close the log; readers that follow it reach its end."""
        self._closed = True
        self._file.close()
        self._notify()

    def remove(self) -> None:
        """Delete the files of a closed log; readers that have them open still reach the end."""
        for path in (self.path, self.older):
            path.unlink(missing_ok=True)

    async def read(self, query: LogOptions) -> AsyncIterator[bytes]:
        """Yield the requested part of the log in pieces; without `follow`, stop at the current end."""
        remaining = query.limit_bytes
        async for piece in self._split_pieces(query):
            if remaining is not None:
                piece = piece[:remaining]
                remaining -= len(piece)
            if piece:
                yield piece
            if remaining == 0:
                return

    async def _split_pieces(self, query: LogOptions) -> AsyncIterator[bytes]:
        reader = _RecordReader(query)
        files, rotations = self._open()
        try:
            if query.tail_lines is not None:
                _seek_tail(files, query.tail_lines)
            while True:
                changed, finished = self._changed, self._closed
                for file in files:
                    for piece in reader.drain(file):
                        yield piece
                if not query.follow:
                    return
                if rotations != self._rotations:
                    for piece in reader.drain(files[-1]):  # output that was written before the rename
                        yield piece
                    files, rotations = self._reopen(files, rotations)
                elif finished:
                    return
                else:
                    await changed.wait()
        finally:
            for file in files:
                file.close()

    def _open(self) -> tuple[list[BinaryIO], int]:
        """Open the current files, the older first; they stay readable after a rename or deletion."""
        paths = [path for path in (self.older, self.path) if path.exists()]
        return [path.open("rb") for path in paths], self._rotations

    def _reopen(self, files: list[BinaryIO], rotations: int) -> tuple[list[BinaryIO], int]:
        """Open the files that a rotation created; lines before the older file are lost."""
        for file in files:
            file.close()
        found, present = self._open()
        if present == rotations + 1 and len(found) > 1:
            found.pop(0).close()
        return found, present

    def _append(self, data: bytes) -> None:
        if not data:
            return
        if self._file.tell() and self._file.tell() + len(data) > self._max_file_bytes:
            self._file.close()
            self.path.replace(self.older)
            self._rotations += 1
            self._file = self.path.open("ab", buffering=0)
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def read_plain_text(path: Path, query: LogOptions | None = None) -> Iterator[bytes]:
    """Yield the text of a log that no cluster writes any more, the older part first.

    Args:
        path: The file of the log.
        query: Which lines to read, by `tail_lines` and `since`. None for all.

    Raises:
        OSError: A file could not be read.
    """
    query = query or LogOptions()
    reader = _RecordReader(query)
    with ExitStack() as stack:
        parts = (path.with_name(path.name + _OLDER), path)
        files: list[BinaryIO] = [stack.enter_context(part.open("rb")) for part in parts if part.exists()]
        if query.tail_lines is not None:
            _seek_tail(files, query.tail_lines)
        for file in files:
            yield from reader.drain(file)


def log_time(moment: datetime) -> str:
    """Return the time in the format of the log: RFC 3339 with nine digits, which sorts as text."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")


def _split_records(time: bytes, stream: bytes, line: bytes) -> list[bytes]:
    records = []
    while len(line) > MAX_LINE_BYTES:
        records.append(_record(time, stream, b"P", line[:MAX_LINE_BYTES]))
        line = line[MAX_LINE_BYTES:]
    records.append(_record(time, stream, b"F", line))
    return records


def _record(time: bytes, stream: bytes, tag: bytes, text: bytes) -> bytes:
    return b" ".join((time, stream, tag, text)) + b"\n"


class _RecordReader:
    """Converts the records of one file after the other into the text that a reader of the log receives."""

    def __init__(self, query: LogOptions) -> None:
        self._since = log_time(query.since).encode() if query.since else b""
        self._timestamps = query.timestamps
        self._within_line = False

    def drain(self, file: BinaryIO) -> Iterator[bytes]:
        """Yield the content of the file from its present position in pieces; stop before an incomplete record."""
        batch: list[bytes] = []
        size = 0
        while (record := file.readline()).endswith(b"\n"):
            text = self._format_record(record)
            batch.append(text)
            size += len(text)
            if size >= _BATCH_BYTES:
                yield b"".join(batch)
                batch, size = [], 0
        file.seek(-len(record), os.SEEK_CUR)
        if size:
            yield b"".join(batch)

    def _format_record(self, record: bytes) -> bytes:
        time, _, rest = record.partition(b" ")
        _stream, tag, text = rest.split(b" ", 2)
        if time < self._since:
            return b""
        head = time + b" " if self._timestamps and not self._within_line else b""
        self._within_line = tag == b"P"
        return head + (text[:-1] if self._within_line else text)


def _seek_tail(files: list[BinaryIO], lines: int) -> None:
    """Move all files, the newest last, to the first of their last `lines` records."""
    for file in reversed(files):
        end = file.seek(0, os.SEEK_END)
        if lines > 0:
            lines -= _seek_back(file, end, lines)


def _seek_back(file: BinaryIO, end: int, lines: int) -> int:
    """Move a file to the first of its last `lines` records; return the number of records from there to the end."""
    found = 0
    start = end
    while start > 0:
        size = min(_BLOCK_BYTES, start)
        start -= size
        file.seek(start)
        block = file.read(size)
        position = len(block)
        while (position := block.rfind(b"\n", 0, position)) >= 0:
            if start + position + 1 == end:
                continue
            found += 1
            if found == lines:
                file.seek(start + position + 1)
                return found
    file.seek(0)
    return found + (1 if end else 0)
