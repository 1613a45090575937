"""Read YAML from untrusted sources with bounded time and memory.

PyYAML's safe loader runs no code of the text. But aliases and merge keys can expand a few hundred bytes beyond any
memory. Deep nesting raises a RecursionError, and values that do not fit their tag raise arbitrary
exceptions. This loader reports all of these as `yaml.YAMLError` with a position.
"""

from collections.abc import Iterator
from typing import Any

import yaml

MOST_VALUES = 100_000
"""The number of keys and values of a document. Aliases count each time, long texts once for every 64 characters."""

DEEPEST = 100
"""The number of levels of nested objects and lists."""

_TEXT_OF_ONE = 64
_MERGE_TAG = "tag:yaml.org,2002:merge"


class ExcessiveYaml(yaml.MarkedYAMLError):
    """Well-formed YAML that exceeds the limits, which no valid resource reaches."""


class DuplicateKey(yaml.MarkedYAMLError):
    """A key that occurs twice in an object. YAML would use only the last value."""


class BoundedLoader(yaml.SafeLoader):
    """PyYAML's safe loader, which checks the limits before it creates any value.

    Attributes:
        most_values: The maximum number of values; see `MOST_VALUES`.

    It also rejects duplicate keys, like the API server with strict validation.

    Args:
        stream: The text.
        duplicates: Gets the duplicate keys, of which the last value counts. None to raise the first one.
    """

    most_values = MOST_VALUES

    def __init__(self, stream: str | bytes, duplicates: list[DuplicateKey] | None = None) -> None:
        super().__init__(stream)
        self._duplicates = duplicates
        self._depth = 0
        self._nodes = 0
        self._sizes: dict[int, int] = {}  # by the id of a complete node of the current document

    def compose_document(self) -> yaml.Node | None:
        """Return the nodes of the next document."""
        self._sizes.clear()
        self._nodes = 0
        return super().compose_document()

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Return a node after counting the values that it represents."""
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        if self._depth >= DEEPEST and self.check_event(yaml.SequenceStartEvent, yaml.MappingStartEvent):
            raise ExcessiveYaml(problem=f"more than {DEEPEST} levels of nesting", problem_mark=mark)
        is_alias = self.check_event(yaml.AliasEvent)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        if is_alias and id(node) not in self._sizes:  # the anchor's node is not complete yet
            raise ExcessiveYaml(problem="a value that contains itself", problem_mark=mark)
        self._nodes += 1
        if max(self._nodes, self._sizes.setdefault(id(node), self._count_values(node))) > self.most_values:
            raise ExcessiveYaml(problem=f"more than {self.most_values} values", problem_mark=mark)
        if isinstance(node, yaml.MappingNode) and not is_alias:
            for duplicate in _find_duplicates(node):
                if self._duplicates is None:
                    raise duplicate
                self._duplicates.append(duplicate)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Return the value of a node.

        Raises:
            yaml.constructor.ConstructorError: The text is not a valid value for its tag.
        """
        try:
            return super().construct_object(node, deep)
        except (ValueError, ArithmeticError, LookupError, AttributeError, TypeError) as error:
            problem = f"invalid {node.tag.rpartition(':')[2]}: put the value in quotes"
            raise yaml.constructor.ConstructorError(problem=problem, problem_mark=node.start_mark) from error

    def _count_values(self, node: yaml.Node | None) -> int:
        if isinstance(node, yaml.MappingNode):
            return 1 + sum(self._sizes[id(key)] + self._sizes[id(value)] for key, value in node.value)
        if isinstance(node, yaml.SequenceNode):
            return 1 + sum(self._sizes[id(item)] for item in node.value)
        return 1 + len(node.value) // _TEXT_OF_ONE if node else 1


def _find_duplicates(node: yaml.MappingNode) -> Iterator[DuplicateKey]:
    """Yield an error for each key that occurs again in the object."""
    first: dict[tuple[str, str], yaml.Mark] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE_TAG:
            continue
        before = first.setdefault((key.tag, key.value), key.start_mark)
        if before is not key.start_mark:
            problem = f"duplicate key {key.value!r}, already defined in line {before.line + 1}"
            yield DuplicateKey(problem=problem, problem_mark=key.start_mark)


def describe_position(error: Exception) -> str | None:
    """Return the position of a YAML error, for example `line 3, column 5`; None if it is unknown."""
    mark = getattr(error, "problem_mark", None)
    return f"line {mark.line + 1}, column {mark.column + 1}" if mark else None


def load_all(text: str) -> Iterator[Any]:
    """Yield the documents of a text. Documents before an error are yielded before the error is raised.

    Raises:
        yaml.YAMLError: The text is not YAML or exceeds the limits.
    """
    return yaml.load_all(text, Loader=BoundedLoader)
