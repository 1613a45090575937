"""The format of Java properties: the configuration of Spark and of the Apache operator."""

import re
from collections.abc import Mapping

from ..kubernetes.problems import InvalidResource, Problem

_ESCAPES = {
    "\\": "\\\\",
    "\t": "\\t",
    "\n": "\\n",
    "\r": "\\r",
    "\f": "\\f",
    "=": "\\=",
    ":": "\\:",
    "#": "\\#",
    "!": "\\!",
}
_UNESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANKS = " \t\f"
_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_KEY = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_BAD_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\u(?![0-9a-fA-F]{4})")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)


def format_properties(values: Mapping[str, str], comment: str) -> str:
    """Format a comment line and one line for each entry, sorted by key.

    The escapes are those of `java.util.Properties.store(Writer)`: non-ASCII characters are not escaped, every space in
    a key and the first leading space of a value are. The line with the date is missing, to make the build reproducible.
    """
    lines = [f"#{comment}"]
    for key in sorted(values):
        value = _escape(values[key])
        if value.startswith(" "):
            value = "\\" + value
        name = _escape(key).replace(" ", "\\ ")
        lines.append(f"{name}={value}")
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    for character, escaped in _ESCAPES.items():  # the backslash comes first
        text = text.replace(character, escaped)
    return text


def parse_properties(text: str, path: str = "") -> dict[str, str]:
    r"""Parse a properties text as `java.util.Properties.load(Reader)` does. The last entry of a key takes precedence.

    Args:
        text: The text.
        path: The source of the text, for messages.

    Raises:
        InvalidResource: An escape `\u` is not followed by four hexadecimal digits.
    """
    entries: dict[str, str] = {}
    for number, line in _join_continued_lines(text):
        if _BAD_ESCAPE.search(line):
            # The line may contain a secret.
            message = f"contains a \\u without four hexadecimal digits, in the entry of line {number}"
            raise InvalidResource([Problem(path, message)])
        key = _KEY.match(line)
        end = key.end() if key else 0
        separator = _SEPARATOR.match(line, end)
        value = line[separator.end() :] if separator else ""
        entries[_unescape(line[:end])] = _unescape(value)
    return entries


def _join_continued_lines(text: str) -> list[tuple[int, str]]:
    """Return each logical line, and the number of its first natural line."""
    lines: list[tuple[int, list[str]]] = []
    continued = False
    for number, natural in enumerate(_LINE_ENDS.split(text), start=1):
        line = natural.lstrip(_BLANKS)
        if not continued and (not line or line[0] in "#!"):
            continue
        ends_open = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        content = line[:-1] if ends_open else line
        if continued:
            lines[-1][1].append(content)
        else:
            lines.append((number, [content]))
        continued = ends_open
    return [(number, "".join(parts)) for number, parts in lines]


def _unescape(text: str) -> str:
    def replace(match: re.Match[str]) -> str:
        escaped = match[1]
        if len(escaped) > 1:
            return chr(int(escaped[1:], 16))
        return _UNESCAPES.get(escaped, escaped)

    return _ESCAPE.sub(replace, text)
