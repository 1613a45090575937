"""Reading YAML that anybody may have written: what it costs, and what it becomes, stays in proportion to its text.

PyYAML's safe loader runs no code of the text. But aliases and merge keys let a few hundred bytes stand for more
than any memory holds, nesting ends in a RecursionError, and values that their tag does not fit end in whatever
Python happens to raise. Here all of that is a `yaml.YAMLError` with a place, as any other mistake is.
"""

from collections.abc import Iterator
from typing import Any

import yaml

MOST_VALUES = 100_000
"""Keys and values of a document, each as often as aliases repeat it, a long text as one for every 64 characters."""

DEEPEST = 100
"""Levels of objects and lists inside each other."""

_TEXT_OF_ONE = 64
_MERGE_TAG = "tag:yaml.org,2002:merge"


class ExcessiveYaml(yaml.MarkedYAMLError):
    """YAML that is well-formed, and out of bounds; no resource comes near them."""


class DuplicateKey(yaml.MarkedYAMLError):
    """A key that an object has twice: only the last one would count, which nobody means."""


class BoundedLoader(yaml.SafeLoader):
    """PyYAML's safe loader, which refuses what is out of bounds before it makes any value of it.

    It also refuses duplicate keys, as the API server does with strict validation.
    """

    def __init__(self, stream: str | bytes) -> None:
        super().__init__(stream)
        self._depth = 0
        self._sizes: dict[int, int] = {}  # by the id of a complete node of the document that is being read

    def compose_document(self) -> yaml.Node | None:
        """The nodes of the next document."""
        self._sizes.clear()
        return super().compose_document()

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """A node, of which is then known how many values it stands for."""
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        if self._depth >= DEEPEST and self.check_event(yaml.SequenceStartEvent, yaml.MappingStartEvent):
            raise ExcessiveYaml(problem=f"more than {DEEPEST} levels of nesting", problem_mark=mark)
        is_alias = self.check_event(yaml.AliasEvent)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        if is_alias and id(node) not in self._sizes:  # it is not complete yet
            raise ExcessiveYaml(problem="a value that contains itself", problem_mark=mark)
        if self._sizes.setdefault(id(node), self._count_values(node)) > MOST_VALUES:
            raise ExcessiveYaml(problem=f"more than {MOST_VALUES} values", problem_mark=mark)
        if isinstance(node, yaml.MappingNode) and not is_alias:
            _check_keys(node)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """The value of a node.

        Raises:
            yaml.constructor.ConstructorError: Its text is none of what its tag, or its look, says it is.
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


def _check_keys(node: yaml.MappingNode) -> None:
    """Raise DuplicateKey if the object has a key twice."""
    first: dict[tuple[str, str], yaml.Mark] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE_TAG:
            continue
        before = first.setdefault((key.tag, key.value), key.start_mark)
        if before is not key.start_mark:
            problem = f"duplicate key {key.value!r}, already defined in line {before.line + 1}"
            raise DuplicateKey(problem=problem, problem_mark=key.start_mark)


def load_all(text: str) -> Iterator[Any]:
    """The documents of a text, one after the other; those before a mistake come before its error.

    Raises:
        yaml.YAMLError: It is no YAML, or out of bounds.
    """
    return yaml.load_all(text, Loader=BoundedLoader)
