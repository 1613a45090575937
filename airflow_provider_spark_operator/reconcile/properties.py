"""The parser of Java properties files, the format of the Apache operator's configuration."""

import re

_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_UNICODE = re.compile(r"u([0-9a-fA-F]{4})")
_BLANK = " \t\f"


def parse_properties(text: str) -> dict[str, str]:
    """Parse the entries of a properties file. The last entry of a repeated key counts.

    The rules are those of `java.util.Properties.load`: `#` and `!` begin a comment line. A key ends at the first
    unescaped `=`, `:` or blank. A backslash at the end of a line joins the next line, without its leading blanks.
    """
    return dict(_parse_entry(line) for line in _join_lines(text))


def _join_lines(text: str) -> list[str]:
    lines: list[str] = []
    pending: str | None = None
    for natural in re.split(r"\r\n|\n|\r", text):
        stripped = natural.lstrip(_BLANK)
        if pending is None and (not stripped or stripped[0] in "#!"):
            continue
        line = (pending or "") + stripped
        trailing = len(line) - len(line.rstrip("\\"))
        if trailing % 2:
            pending = line[:-1]
        else:
            lines.append(line)
            pending = None
    if pending:
        lines.append(pending)
    return lines


def _parse_entry(line: str) -> tuple[str, str]:
    end = 0
    while end < len(line) and line[end] not in "=:" + _BLANK:
        end += 2 if line[end] == "\\" else 1
    rest = line[end:].lstrip(_BLANK)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANK)
    return _unescape(line[:end]), _unescape(rest)


def _unescape(text: str) -> str:
    parts: list[str] = []
    position = 0
    while position < len(text):
        if text[position] != "\\":
            parts.append(text[position])
            position += 1
        elif match := _UNICODE.match(text, position + 1):
            parts.append(chr(int(match[1], 16)))
            position = match.end()
        else:
            escaped = text[position + 1 : position + 2]
            parts.append(_ESCAPED.get(escaped, escaped))
            position += 2
    return "".join(parts)
