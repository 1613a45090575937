"""Reads the journals that earlier versions wrote as text: one change of an object in each line.

A line is a CRC-32 checksum, the number of the line, and JSON. Line 0 is the header, and the last line marks a closed
journal. Format 1 had neither numbers nor these two lines.
"""

from __future__ import annotations

import json
import re
import zlib
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from ..kinds.documents import JsonObject

_FORMAT = "journal, format 2"
_LONGEST_LINE = 16 * 1024 * 1024  # a longer line is not a record
_INTERRUPTED = re.compile(rb"[ -~]*")


class UnknownFormatError(Exception):
    """A later version wrote the journal; the message is its format."""


class TextChange(NamedTuple):
    """A change of one object.

    Attributes:
        kind: Group and plural of its kind.
        place: Its namespace (empty for cluster-scoped kinds) and name.
        version: The resource version of the change.
        document: The object after the change; None if it was deleted.
    """

    kind: tuple[str, str]
    place: tuple[str, str]
    version: int
    document: JsonObject | None


def read_text_journal(path: Path) -> tuple[list[TextChange], list[str]]:
    """Return the intact changes, and a description of each damaged line.

    The last line is dropped without a description if it has no end, because a crash interrupted its write.

    Raises:
        UnknownFormatError: A later version wrote the file.
        OSError: The file could not be read.
    """
    changes: list[TextChange] = []
    damages: list[str] = []
    expected = 0
    is_journal = False
    with path.open("rb") as file:
        for line in iter(partial(file.readline, _LONGEST_LINE), b""):
            record = _decode(line, expected)
            if record is None and _INTERRUPTED.fullmatch(line) and len(line) < _LONGEST_LINE:
                continue
            is_journal = is_journal or record is not None
            number, content = record or (expected, None)
            if record is None or number != expected:
                damages.append(f"line {expected + 1} is damaged, missing or repeated")
            if number < expected:
                continue
            expected = number + 1
            if number == 0 and isinstance(content, str) and not content.endswith(f" {_FORMAT}"):
                raise UnknownFormatError(content)
            if isinstance(content, list):
                kind, place, version, document = content
                changes.append(TextChange((kind[0], kind[1]), (place[0], place[1]), version, document))
    if not is_journal:
        damages = ["no line is a record"]
    return changes, damages


def _decode(line: bytes, expected: int) -> tuple[int, Any] | None:
    """Return the number and the content of a line; None if the line is damaged."""
    checksum, _, text = line.removesuffix(b"\n").partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(text):
        return None
    number, _, content = (b"%d" % expected, b"", text) if text.startswith(b"[") else text.partition(b" ")
    return int(number), json.loads(content)
