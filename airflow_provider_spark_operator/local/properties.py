"""Read and write Java properties files, as Spark writes them."""

import re
from collections.abc import Mapping

_ENTRY = re.compile(r"((?:\\.|[^\\=: \t\f])+)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SPECIAL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED = {
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


def read_properties(text: str) -> dict[str, str]:
    """Return the entries of a properties file. The last value of a repeated key applies."""
    entries: dict[str, str] = {}
    for line in _join_lines(text):
        match = _ENTRY.fullmatch(line)
        if match:
            entries[_unescape(match[1])] = _unescape(match[2])
    return entries


def write_properties(entries: Mapping[str, str]) -> str:
    """Return the text of a properties file with these entries."""
    lines = []
    for key, value in entries.items():
        escaped = _escape(value)
        lines.append(_escape(key).replace(" ", "\\ ") + "=" + ("\\" if escaped[:1] == " " else "") + escaped + "\n")
    return "".join(lines)


def _join_lines(text: str) -> list[str]:
    """Return the lines with entries. Join lines that a backslash continues."""
    lines: list[str] = []
    joined = ""
    for natural in re.split(r"\r\n|\r|\n", text):
        line = natural.lstrip(" \t\f")
        if not joined and (not line or line[0] in "#!"):
            continue
        joined += line
        if (len(joined) - len(joined.rstrip("\\"))) % 2:
            joined = joined[:-1]
            continue
        lines.append(joined)
        joined = ""
    return [*lines, joined] if joined else lines


def _unescape(text: str) -> str:
    def _replace(match: re.Match[str]) -> str:
        code, letter = match.groups()
        return chr(int(code, 16)) if code else _SPECIAL.get(letter, letter)

    return _ESCAPE.sub(_replace, text)


def _escape(text: str) -> str:
    return "".join(_ESCAPED.get(_replace, _replace) for _replace in text)
