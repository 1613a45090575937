"""Read JSON of the API server. Its objects can be nested deeper, and can have more values, than a parser tolerates."""

import asyncio
import re
from typing import Any, Final

from pydantic_core import from_json

DEEPEST: Final = 150
"""The number of levels that are read. The API server stores thousands; the parser stops at about 200."""

LONGEST: Final = 10_000
"""The number of entries that are read of a field, if the text has too many. Validation permits fewer."""

# The parser needs up to 0.5 µs for an entry, and blocks the event loop.
_MAX_ENTRIES: Final = 80_000
# The bytes of a text for each entry, at least, if the size of the text determines the time of the parser.
_BYTES_OF_ENTRY: Final = 20
# A slice takes a few milliseconds.
_TOKENS_IN_SLICE: Final = 4_000
_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[][{},]', re.DOTALL)
_CLOSING: Final = {b"{": b"}", b"[": b"]"}


def weigh(content: bytes) -> int:
    """Return the size of a JSON text in bytes. If it has unusually many entries, return the size of a usual text."""
    return max(len(content), _count_entries(content) * _BYTES_OF_ENTRY)


async def read_json(content: bytes, level: int | None = None) -> Any:
    """Parse a JSON text, without a long computation on the event loop.

    One resource must make neither a list unreadable nor the process unresponsive. Objects and lists below `DEEPEST`
    levels are read as null. If a text with Kubernetes objects has too many entries, the fields of each object are
    shortened. Two levels below the object, objects and lists then end after `LONGEST` entries, including nested ones.

    Args:
        content: The text.
        level: The number of objects and lists around each Kubernetes object. If None, nothing is shortened.

    Raises:
        ValueError: The text is not JSON.
    """
    # A short text cannot have many entries, and counting takes a fifth of the time of parsing.
    if level is None or len(content) <= _MAX_ENTRIES or _count_entries(content) <= _MAX_ENTRIES:
        try:
            return from_json(content)
        except ValueError as error:
            if "recursion limit" not in str(error):
                raise
    return from_json(await _cut(content, level))


def _count_entries(content: bytes) -> int:
    return sum(map(content.count, (b",", b"[", b"{")))


async def _cut(content: bytes, level: int | None) -> bytes:
    """Cut what is too deep or too much. Other tasks run in between."""
    kept: list[bytes] = []
    closing: list[bytes] = []  # the brackets that close the open objects and lists
    begin = 0
    resumed_at: int | None = None  # the depth at which the part that is cut ends
    first, last = (DEEPEST, DEEPEST) if level is None else (level + 2, level + 3)
    counts = [0] * (last + 1)
    for number, token in enumerate(_TOKEN.finditer(content), 1):
        if number % _TOKENS_IN_SLICE == 0:
            await asyncio.sleep(0)
        text, depth = token[0], len(closing)
        if text in (b"}", b"]"):
            if not closing:
                break
            closing.pop()
            if resumed_at == depth - 1:
                begin, resumed_at = token.end(), None
        elif text == b"," or text in _CLOSING:
            counted = min(depth, last)
            counts[counted] += 1
            is_too_deep = depth == DEEPEST and text != b","
            if resumed_at is None and (
                is_too_deep or (level is not None and counted >= first and counts[counted] > LONGEST)
            ):
                resumed_at = DEEPEST if is_too_deep else counted - 1
                kept += (
                    content[begin : token.start()],
                    b"" if text == b"," else b"null",
                    *reversed(closing[resumed_at:]),
                )
            if text != b",":
                closing.append(_CLOSING[text])
                if depth < last:
                    counts[depth + 1] = 0
    return b"".join((*kept, content[begin:] if resumed_at is None else b""))
