"""Find the position of a field in a YAML document."""

import ast
import re
from collections.abc import Iterator

import yaml

_PART = re.compile(
    r"""\.?(?P<name>[A-Za-z_]\w*)|\[(?P<index>\d+)\]|\[(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]"""
)
_MERGE = "tag:yaml.org,2002:merge"


def find_position(document: yaml.Node, path: str) -> yaml.Mark:
    """Return the position of the key of a field, or of an item of a list.

    If the field does not exist, for example because it is required, return the position of the part that should
    contain it.

    Args:
        document: The node of the document.
        path: The path of the field, as `core.models.parse.format_path` writes it. Empty for the document.
    """
    position, node = document.start_mark, document
    for part in _parse_path(path):
        found = _find_part(node, part)
        if found is None:
            break
        position, node = found
    return position


def _parse_path(path: str) -> Iterator[str | int]:
    """Yield the names and indexes of a path, up to the first part that is neither."""
    place = 0
    while match := _PART.match(path, place):
        place = match.end()
        if match["index"] is not None:
            yield int(match["index"])
        else:
            yield match["name"] or ast.literal_eval(match["text"])


def _find_part(node: yaml.Node, part: str | int) -> tuple[yaml.Mark, yaml.Node] | None:
    """Return the position and the value of a field or an item; None if it does not exist."""
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int):
        return (node.value[part].start_mark, node.value[part]) if part < len(node.value) else None
    if not isinstance(node, yaml.MappingNode):
        return None
    for key, value in reversed(node.value):  # of a duplicate key, the last value counts
        if isinstance(key, yaml.ScalarNode) and key.value == str(part):
            return key.start_mark, value
    merged = [value for key, value in node.value if key.tag == _MERGE]
    sources = [each for value in merged for each in (value.value if isinstance(value, yaml.SequenceNode) else [value])]
    return next((found for source in sources if (found := _find_part(source, part))), None)
