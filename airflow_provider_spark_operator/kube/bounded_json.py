"""Read JSON from the API server, which may be nested deeper than a parser supports."""

import re
from typing import Any, Final

from pydantic_core import from_json

DEEPEST: Final = 150
"""The number of levels that are read. The API server stores thousands; the parser stops at about 200."""

_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)


def read_json(content: bytes) -> Any:
    """Parse a JSON text. Objects and lists below `DEEPEST` levels are read as null.

    One resource that is nested too deeply must not make a whole list unreadable.

    Raises:
        ValueError: The text is not JSON.
    """
    try:
        return from_json(content)
    except ValueError as error:
        if "recursion limit" not in str(error):
            raise
        return from_json(_cut_deepest(content))


def _cut_deepest(content: bytes) -> bytes:
    kept: list[bytes] = []
    depth = begin = 0
    for token in _TOKEN.finditer(content):
        match token.group():
            case b"{" | b"[":
                if depth == DEEPEST:
                    kept += (content[begin : token.start()], b"null")
                depth += 1
            case b"}" | b"]":
                depth -= 1
                if depth == DEEPEST:
                    begin = token.end()
    return b"".join((*kept, content[begin:]))
