"""The format of a journal file: how records are written and recognized.

Each line is one record: a CRC-32 checksum, the record's number, and JSON. Record 0 is the header, the records after
it are changes of objects, and the last record marks that the journal was closed. Numbers reveal a missing or repeated
line; the closing record reveals a missing end.

Earlier versions wrote changes without numbers, without a header, and without a closing record.
"""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from local_kubernetes.api.documents import JsonObject

_FORMAT = "journal, format 2"
HEADER = f"local-kubernetes {_FORMAT}"
CLOSING = "closed"
LONGEST_LINE = 16 * 1024 * 1024
"""Maximum length of a record, in bytes. A longer line is not a record, and is never read as a whole."""

_Key = tuple[str, str]
_CHECKSUM_BYTES = 8
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\\?$)')
_OUTSIDE_STRINGS = re.compile(rb"[\[\]{},:\w.+-]*")
_BRACKET = re.compile(rb"[\[\]{}]")
_CLOSES = {b"]": b"[", b"}": b"{"}
_OBJECT = re.compile(rb'\[\["([^"\\]*)","([^"\\]+)"\],\["([^"\\]*)","([^"\\]+)"\],')


@dataclass(frozen=True)
class JournalEntry:
    """A change of one object.

    Attributes:
        kind: Group and plural of its kind.
        place: Its namespace (empty for cluster-scoped kinds) and name.
        version: The resource version of the change.
        document: The object after the change; None if it was deleted.
    """

    kind: _Key
    place: tuple[str, str]
    version: int
    document: JsonObject | None


@dataclass(frozen=True)
class Damage:
    """A position in a journal where a record is damaged.

    Attributes:
        number: Number of the record, counted from the header (0).
        offset: Position in the file, in bytes.
        problem: Description of the damage.
        object: Kind, namespace and name, if they are legible; otherwise empty.
    """

    number: int
    offset: int
    problem: str
    object: str = ""

    def __str__(self) -> str:
        named = f" ({self.object})" if self.object else ""
        return f"record {self.number} at byte {self.offset}{named} {self.problem}"


@dataclass
class Contents:
    """The content of a journal file.

    Attributes:
        entries: The intact changes, in the order of their numbers.
        damages: The damaged records, in the order of the file.
        torn: The last line of the file, if an interrupted write left the beginning of a record.
        size: Size in bytes of the header and the changes, without a torn or closing record.
        next_number: The number of the next record.
        is_closed: Whether the last cluster closed the journal.
        is_numbered: Whether the records have numbers; those of earlier versions have none.
        header: Content of record 0; empty if it is damaged, or an earlier version wrote the file.
        is_journal: Whether the file has any intact record.
    """

    entries: list[JournalEntry] = field(default_factory=list)
    damages: list[Damage] = field(default_factory=list)
    torn: Damage | None = None
    size: int = 0
    next_number: int = 0
    is_closed: bool = False
    is_numbered: bool = True
    header: str = ""
    is_journal: bool = False


@dataclass(frozen=True)
class _Line:
    offset: int
    length: int
    number: int | None
    """None for a record of an earlier version, and for a damaged line."""
    content: JournalEntry | str | None
    """None for a damaged line."""
    object: str = ""


def encode_entry(number: int, entry: JournalEntry) -> bytes:
    """Return the line of a change."""
    return _encode(number, [entry.kind, entry.place, entry.version, entry.document])


def is_readable(header: str) -> bool:
    """Return whether this version can read journals with this header; earlier product names wrote the same format."""
    return not header or header.endswith(f" {_FORMAT}")


def encode_header() -> bytes:
    """Return the line that starts a journal."""
    return _encode(0, HEADER)


def encode_closing(number: int) -> bytes:
    """Return the line that marks the end of a closed journal."""
    return _encode(number, CLOSING)


def read_contents(lines: Iterable[bytes]) -> Contents:
    """Parse a file from its lines, each of at most `LONGEST_LINE` bytes."""
    found = []
    offset = 0
    last = b""
    for line in lines:
        found.append(_read_line(offset, line))
        offset += len(line)
        last = line
    is_numbered = any(line.number is not None for line in found)
    contents = Contents(is_numbered=is_numbered, is_journal=any(line.content is not None for line in found))
    if not contents.is_journal:
        return contents
    tail = found.pop() if found[-1].content is None else None
    numbered: dict[int, JournalEntry] = {}
    for position, record in enumerate(found):
        _add(contents, numbered, record if is_numbered else _add_number(record, position))
    contents.entries = [numbered[number] for number in sorted(numbered)]
    if tail is not None:
        _add_tail(contents, tail, last)
    return contents


def _add_tail(contents: Contents, tail: _Line, line: bytes) -> None:
    """Add a last line that is not an intact record: an interrupted write, or damage."""
    number = contents.next_number
    if not contents.is_closed and _is_beginning(line, number if contents.is_numbered else None):
        problem = f"was not written completely ({tail.length} bytes)"
        contents.torn = Damage(number, tail.offset, problem, tail.object)
        return
    contents.is_closed = False
    problem = f"does not match its checksum; no record in the last {tail.length} bytes of the file can be restored"
    contents.damages.append(Damage(number, tail.offset, problem, tail.object))


def _is_beginning(line: bytes, number: int | None) -> bool:
    """Return whether an interrupted write can have left this line; `number` is None if records have no numbers.

    A line with the content of several records, with other bytes, or with a line end was complete and was damaged later.
    """
    if line.endswith(b"\n") or len(line) >= LONGEST_LINE or not re.fullmatch(rb"[ -~]*", line):
        return False
    checksum, rest = line[:_CHECKSUM_BYTES], line[_CHECKSUM_BYTES:]
    start = b" " if number is None else b" %d " % number
    if not re.fullmatch(rb"[0-9a-f]*", checksum):
        return False
    if len(rest) <= len(start):
        return start.startswith(rest)
    text = rest.removeprefix(start)
    if len(text) == len(rest):
        return False
    is_closing = json.dumps(CLOSING).encode().startswith(text)
    return _decode(line + b"\n") is not None or is_closing or _is_beginning_of_array(text)


def _is_beginning_of_array(text: bytes) -> bool:
    """Return whether this is the beginning of a JSON array without its end; a change is a JSON array."""
    outside = _STRING.sub(b"", text)
    if not text.startswith(b"[") or not _OUTSIDE_STRINGS.fullmatch(outside):
        return False
    opened: list[bytes] = []
    for bracket in _BRACKET.findall(outside):
        if bracket not in _CLOSES:
            opened.append(bracket)
        elif opened.pop() != _CLOSES[bracket] or not opened:
            return False
    return True


def _add(contents: Contents, numbered: dict[int, JournalEntry], line: _Line) -> None:
    """Add one line."""
    expected = contents.next_number
    contents.next_number = expected + 1
    contents.is_closed = False
    if line.content is None or line.number is None:
        contents.damages.append(Damage(expected, line.offset, "does not match its checksum", line.object))
        return
    if line.number > expected:
        contents.damages.append(Damage(expected, line.offset, _describe_missing(expected, line.number - 1)))
    elif line.number < expected:
        contents.damages.append(Damage(expected, line.offset, f"is record {line.number} again", line.object))
        return
    contents.next_number = line.number + 1
    if line.content == CLOSING:
        contents.is_closed = True
        contents.next_number = line.number
        return
    contents.size = line.offset + line.length
    if isinstance(line.content, JournalEntry):
        numbered[line.number] = line.content
    elif line.number == 0:
        contents.header = line.content


def _describe_missing(first: int, last: int) -> str:
    return "is missing" if first == last else f"and the following up to record {last} are missing"


def _add_number(line: _Line, position: int) -> _Line:
    """Return a line of an earlier version with the number that it would have today."""
    number = None if line.content is None else position
    return _Line(line.offset, line.length, number, line.content, line.object)


def _read_line(offset: int, line: bytes) -> _Line:
    record = _decode(line)
    if record is not None:
        number, content = record
        return _Line(offset, len(line), number, content, _describe(content))
    return _Line(offset, len(line), None, None, _find_legible_object(line))


def _encode(number: int, content: Any) -> bytes:
    text = b"%d %s" % (number, json.dumps(content, separators=(",", ":")).encode())
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _decode(line: bytes) -> tuple[int | None, JournalEntry | str] | None:
    """Return number and content of a record; None if the line is damaged."""
    checksum, _, text = line.removesuffix(b"\n").partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(text):
        return None
    number, _, numbered = text.partition(b" ")
    try:
        if number.isdigit():
            content = json.loads(numbered)
            return int(number), content if isinstance(content, str) else _parse_entry(content)
        return None, _parse_entry(json.loads(text))
    except (ValueError, TypeError, LookupError, RecursionError):
        return None


def _parse_entry(content: Any) -> JournalEntry:
    kind, place, version, document = content
    if not (document is None or isinstance(document, dict)):
        raise TypeError("not an object")
    return JournalEntry((str(kind[0]), str(kind[1])), (str(place[0]), str(place[1])), int(version), document)


def _describe(content: JournalEntry | str) -> str:
    return _format_object_name(*content.kind, *content.place) if isinstance(content, JournalEntry) else ""


def _find_legible_object(line: bytes) -> str:
    """Return the legible identity of the object in a damaged line; the rest of the line may be secret."""
    found = _OBJECT.search(line)
    if found is None:
        return ""
    words = [word.decode(errors="replace") for word in found.groups()]
    return _format_object_name(*words) if all(word.isprintable() for word in words) else ""


def _format_object_name(group: str, plural: str, namespace: str, name: str) -> str:
    kind = f"{plural}.{group}" if group else plural
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
