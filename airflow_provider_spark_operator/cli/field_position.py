"""Find the position of a field in a YAML document."""

import ast
import re
from collections.abc import Iterator

from airflow_provider_spark_operator.kube.yaml_text import (
    MERGE_TAG,
    MappingNode,
    Mark,
    Node,
    ScalarNode,
    SequenceNode,
)

_PART = re.compile(
    r"""\.?(?P<name>[A-Za-z_]\w*)|\[(?P<index>\d+)\]|\[(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]"""
)


def find_position(document: Node, path: str) -> Mark:
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


def _find_part(node: Node, part: str | int) -> tuple[Mark, Node] | None:
    """Return the position and the value of a field or an item; None if it does not exist."""
    if isinstance(node, SequenceNode) and isinstance(part, int):
        return (node.value[part].start_mark, node.value[part]) if part < len(node.value) else None
    if not isinstance(node, MappingNode):
        return None
    for key, value in reversed(node.value):  # of a duplicate key, the last value counts
        if isinstance(key, ScalarNode) and key.value == str(part):
            return key.start_mark, value
    merged = [value for key, value in node.value if key.tag == MERGE_TAG]
    sources = [each for value in merged for each in (value.value if isinstance(value, SequenceNode) else [value])]
    return next((found for source in sources if (found := _find_part(source, part))), None)
