"""The part of JSONPath that printer columns use: fields, indices, wildcards, and filters by equality."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

_TOKEN = re.compile(
    r"""\.(?P<field>(?:\\.|[^.\[\]\\])+)"""
    r"""|\[(?P<index>-?\d+)\]"""
    r"""|\[(?P<all>\*)\]"""
    r"""|\[['"](?P<quoted>[^'"]+)['"]\]"""
    r"""|\[\?\(@\.(?P<key>[\w.-]+)\s*==\s*['"](?P<value>[^'"]*)['"]\)\]"""
)
_Token = tuple[str, str, str]


def find_values(document: Any, path: str) -> list[Any]:
    """Return the values at a path without nulls; none if the path does not match or is not supported."""
    found = [document]
    for token in _parse(path):
        found = [value for item in found for value in _apply_token(item, token)]
    return [value for value in found if value is not None]


@lru_cache(maxsize=256)
def _parse(path: str) -> tuple[_Token, ...]:
    tokens: list[_Token] = []
    position = 0
    path = path if path.startswith((".", "[")) else f".{path}"
    while position < len(path):
        matched = _TOKEN.match(path, position)
        if matched is None:
            return (("nowhere", "", ""),)
        kind = matched.lastgroup or ""
        if kind == "value":
            tokens.append(("filter", matched["key"], matched["value"]))
        elif kind in ("field", "quoted"):
            tokens.append(("field", matched[kind].replace("\\", ""), ""))
        else:
            tokens.append((kind, matched[kind], ""))
        position = matched.end()
    return tuple(tokens)


def _apply_token(item: Any, token: _Token) -> Iterator[Any]:
    kind, key, wanted = token
    if kind == "field" and isinstance(item, dict):
        yield item.get(key)
    elif kind == "index" and isinstance(item, list) and -len(item) <= int(key) < len(item):
        yield item[int(key)]
    elif kind == "all" and isinstance(item, list):
        yield from item
    elif kind == "all" and isinstance(item, dict):
        yield from item.values()
    elif kind == "filter" and isinstance(item, list):
        yield from (entry for entry in item if isinstance(entry, dict) and str(entry.get(key)) == wanted)
