"""Split SQL text into statements, as Spark reads it."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

SQL_EXTENSION: Final = ".sql"
NO_FILE: Final = "sql"
"""The name of statements that no file contains, for messages."""

# A string, a comment or a name that does not end extends to the end of the text, so that each character is read once.
_PART: Final = re.compile(
    r"""(?xs)
    (?P<comment> --(?:\\\n|[^\r\n])*+ | /\* )
    | (?P<end> ; )
    | [rR]'[^']*+(?:'|\Z) | [rR]"[^"]*+(?:"|\Z)      # raw strings have no escapes
    | '(?:[^'\\]|\\.?)*+(?:'|\Z) | "(?:[^"\\]|\\.?)*+(?:"|\Z)
    | `[^`]*+(?:`|\Z)
    | \w++
    | [^\s\ufeff]                                     # a byte order mark belongs to no statement
    """
)
_COMMENT_SIGN: Final = re.compile(r"/\*|\*/")
# A script of SQL contains the semicolons of its statements.
_SCRIPT: Final = re.compile(r"(?i)(?:\w{1,100}\s{0,9}:\s{0,9})?BEGIN\b")


class SqlFormat(StrEnum):
    """How a driver prints the result of the last statement."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


class SqlText(str):
    """SQL text that was read from a file.

    Args:
        text: The text.
        file: The name of the file, for messages.
    """

    file: str

    def __new__(cls, text: str, file: str = NO_FILE) -> "SqlText":  # noqa: D102 - see the class
        named = super().__new__(cls, text)
        named.file = file.rpartition("/")[2]
        return named


@dataclass(frozen=True)
class Statement:
    """A statement.

    Attributes:
        text: The text without the semicolon, and without comments before it.
        line: The line of the text on which the statement begins, from 1.
    """

    text: str
    line: int


def is_sql_file(text: str) -> bool:
    """Return whether `text` is the path of a file with SQL instead of a statement."""
    return text.endswith(SQL_EXTENSION) and "\n" not in text


def split_statements(text: str) -> list[Statement]:
    """Return the statements of a text. Semicolons in strings, comments, quoted names and scripts separate nothing.

    A script is one statement: it begins with `BEGIN`, and extends to the end of the text.
    """
    found: list[Statement] = []
    start, position, line, counted = -1, 0, 1, 0
    while part := _PART.search(text, position):
        position = _find_comment_end(text, part.end()) if part[0] == "/*" else part.end()
        if part.lastgroup == "comment":
            continue
        if part.lastgroup == "end" and not (start >= 0 and _SCRIPT.match(text, start)):
            if start >= 0:
                found.append(Statement(text[start : part.start()].rstrip(), line))
            start = -1
        elif start < 0:
            start = part.start()
            line, counted = line + text.count("\n", counted, start), start
    return [*found, Statement(text[start:].rstrip(), line)] if start >= 0 else found


def _find_comment_end(text: str, position: int) -> int:
    """Return the end of a comment in which comments can be nested."""
    depth = 1
    for sign in _COMMENT_SIGN.finditer(text, position):
        depth += 1 if sign[0] == "/*" else -1
        if depth == 0:
            return sign.end()
    return len(text)
