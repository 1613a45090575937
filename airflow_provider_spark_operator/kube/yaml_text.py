"""Read YAML as kubectl does, with bounded time and memory. `yaml_writer` writes it.

YAML 1.1, YAML 1.2 and the library of kubectl read some scalars differently, for example `y`, `1e3` and `0o17`. This
module reads scalars and keys as kubectl does.

Input is untrusted. PyYAML's safe loader runs no code of the text. But aliases and merge keys can expand a few hundred
bytes beyond any memory, and deep nesting raises a RecursionError. This module reports all of these as
`yaml.YAMLError` with a position.
"""

import base64
import ctypes
import math
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

import yaml

MAX_VALUES = 100_000
"""The number of keys and values of a document. Aliases count each time, long texts once for every 64 characters."""

DEEPEST = 100
"""The number of levels of nested objects and lists."""

Plain = bool | int | float | str | None
"""The value of a scalar."""

_TEXT_OF_ONE = 64
_TAG: Final = "tag:yaml.org,2002:"
MERGE_TAG: Final = f"{_TAG}merge"
_NAMES: Final[dict[type, str]] = {bool: "bool", int: "int", float: "float", str: "str", type(None): "null"}
_WORDS: Final[Mapping[str, bool | float | None]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_INTEGER: Final = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)\Z")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_JSON_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?\Z")
_SEPARATOR: Final = re.compile("(?<=[0-9])_(?=[0-9])")
_LARGEST_INTEGER: Final = 1 << 63
_LINE_BREAKS: Final = tuple("\r\n\x85\u2028\u2029")

YamlError = yaml.YAMLError
Mark = yaml.Mark
Node = yaml.Node
MappingNode = yaml.MappingNode
SequenceNode = yaml.SequenceNode
ScalarNode = yaml.ScalarNode


class ExcessiveYaml(yaml.MarkedYAMLError):
    """Well-formed YAML that exceeds the limits, which no valid resource reaches."""


class DuplicateKey(yaml.MarkedYAMLError):
    """A key that occurs twice in an object. YAML would use only the last value."""


def read_plain(text: str) -> Plain:
    """Return the value of a scalar without quotes, as the library of kubectl reads it."""
    if text in _WORDS:
        return _WORDS[text]
    digits = _SEPARATOR.sub("", text) if text.startswith(".") else text.replace("_", "")
    if text[0] in "+-0123456789" and _INTEGER.match(digits):
        value = _parse_integer(digits)
        if value is not None:
            return value
    if text[0] in "+-.0123456789" and _FLOAT.match(digits) and math.isfinite(number := float(digits)):
        return number
    return text


def read_json_plain(text: str) -> Plain:
    """Return the value of a scalar without quotes as Spark reads pod templates: only literals of JSON are not texts."""
    if text in ("true", "false", "null", ""):
        return {"true": True, "false": False}.get(text)
    return read_plain(text) if _JSON_NUMBER.match(text) else text


def read_word(text: str) -> Plain:
    """Return a scalar without quotes as the text that it is, except null."""
    return None if read_plain(text) is None else text


def _parse_integer(digits: str) -> int | None:
    """Return an integer that fits 64 bits, else None."""
    start = digits.lstrip("+-").lower()
    base = {"0x": 16, "0b": 2}.get(start[:2], 8 if start.startswith("0") else 10)
    if base == 10 and len(start) > 20:  # the conversion of long decimal numbers takes quadratic time
        return None
    value = int(digits, base)
    most = _LARGEST_INTEGER if digits[0] in "+-" else 2 * _LARGEST_INTEGER
    return value if -_LARGEST_INTEGER <= value < most else None


class BoundedLoader(yaml.SafeLoader):
    """A loader that checks the limits before it creates any value, and reads scalars and keys as kubectl does.

    It also rejects duplicate keys, like the API server with strict validation.

    Args:
        stream: The text.
        duplicates: Gets the duplicate keys, of which the last value counts. None to raise the first one.
        read: Returns the value of a scalar without quotes.
        most_values: The maximum number of values; see `MAX_VALUES`.
    """

    def __init__(
        self,
        stream: str | bytes,
        duplicates: list[DuplicateKey] | None = None,
        read: Callable[[str], Plain] = read_plain,
        most_values: int = MAX_VALUES,
    ) -> None:
        super().__init__(stream)
        self._duplicates = duplicates
        self._read = read
        self._most_values = most_values
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
        event = self.peek_event()  # type: ignore[no-untyped-call]
        mark = event.start_mark
        if self._depth >= DEEPEST and self.check_event(yaml.SequenceStartEvent, yaml.MappingStartEvent):
            raise ExcessiveYaml(problem=f"more than {DEEPEST} levels of nesting", problem_mark=mark)
        is_alias = self.check_event(yaml.AliasEvent)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        if is_alias and id(node) not in self._sizes:  # the anchor's node is not complete yet
            raise ExcessiveYaml(problem="a value that contains itself", problem_mark=mark)
        self._nodes += 1
        if max(self._nodes, self._sizes.setdefault(id(node), self._count_values(node))) > self._most_values:
            raise ExcessiveYaml(problem=f"more than {self._most_values} values", problem_mark=mark)
        if isinstance(node, yaml.ScalarNode) and getattr(event, "tag", None) == "!":
            node.tag = f"{_TAG}str"
        if isinstance(node, yaml.MappingNode) and not is_alias:
            self._check_keys(node)
        return node

    def scan_plain(self) -> yaml.ScalarToken:
        """Return the token of a scalar without quotes.

        Raises:
            yaml.scanner.ScannerError: The text ends with a colon that kubectl reads as its last character.
        """
        token = super().scan_plain()
        if self.flow_level and self.peek() == ":" and self.peek(1) in tuple(",[]{}"):
            problem = "ambiguous text: put it in quotes, or write a space after its colon"
            raise yaml.scanner.ScannerError(problem=problem, problem_mark=token.start_mark)
        return token

    def scan_to_next_token(self) -> None:
        """Skip spaces, comments and, where they are no indentation, tabs."""
        super().scan_to_next_token()
        while self.peek() == "\t" and (self.flow_level or not self.allow_simple_key):
            self.forward()
            super().scan_to_next_token()

    def scan_plain_spaces(self, indent: int, start_mark: yaml.Mark) -> list[str] | None:
        """Return the spaces, tabs and folded line breaks within a scalar without quotes.

        Raises:
            yaml.scanner.ScannerError: A tab is in the indentation.
        """
        blanks = self._skip_blanks()
        if self.peek() not in _LINE_BREAKS:
            return [blanks] if blanks else []
        spaces: list[str] | None = super().scan_plain_spaces(indent, start_mark)
        while spaces and self.peek() == "\t":
            if self.column < indent:
                problem = "found a tab character that violates indentation"
                raise yaml.scanner.ScannerError(problem=problem, problem_mark=self.get_mark())
            self._skip_blanks()
            if self.peek() in _LINE_BREAKS:
                more: list[str] | None = super().scan_plain_spaces(indent, start_mark)
                if more is None:
                    return None
                if spaces == [" "]:  # a single line break, now followed by others
                    spaces.clear()
                spaces += ["\n"] if more == [" "] else [*more, "\n"]
        return spaces

    def _skip_blanks(self) -> str:
        length = 0
        while self.peek(length) in " \t":
            length += 1
        blanks = str(self.prefix(length))
        self.forward(length)
        return blanks

    def scan_tag(self) -> yaml.TagToken:
        """Return the token of a tag. A tab can end it."""
        token: yaml.TagToken = self._scan_tabs_as_spaces(super().scan_tag)
        return token

    def scan_block_scalar_indicators(self, start_mark: yaml.Mark) -> tuple[bool | None, int | None]:
        """Return what the head of a block says about its last line breaks and its indentation. A tab can end it."""
        found: tuple[bool | None, int | None] = self._scan_tabs_as_spaces(
            super().scan_block_scalar_indicators, start_mark
        )
        return found

    def scan_block_scalar_ignored_line(self, start_mark: yaml.Mark) -> None:
        """Skip the rest of the head of a block."""
        self._scan_tabs_as_spaces(super().scan_block_scalar_ignored_line, start_mark)

    def _scan_tabs_as_spaces(self, scan: Callable[..., Any], *arguments: yaml.Mark) -> Any:
        peek = self.peek
        self.peek = lambda index=0: " " if peek(index) == "\t" else peek(index)  # type: ignore[method-assign]
        try:
            return scan(*arguments)
        finally:
            del self.peek

    def scan_block_scalar_indentation(self) -> tuple[list[str], int, yaml.Mark]:
        """Return the empty lines at the beginning of a block, the indentation and the position after the lines.

        Raises:
            yaml.scanner.ScannerError: The first line begins with a tab.
        """
        found: tuple[list[str], int, yaml.Mark] = super().scan_block_scalar_indentation()
        if self.peek() == "\t":
            problem = "found a tab character where an indentation space is expected"
            raise yaml.scanner.ScannerError(problem=problem, problem_mark=self.get_mark())
        return found

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        """Return the tag of a node without an explicit tag."""
        if kind is not yaml.ScalarNode or not implicit[0]:
            return str(super().resolve(kind, value, (False, False)))  # type: ignore[no-untyped-call]
        return MERGE_TAG if value == "<<" else f"{_TAG}{_NAMES[type(self._read(value))]}"

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: ARG002 - of the library
        """Return the value of a node. Like kubectl, ignore tags of objects and lists, and unknown tags.

        Raises:
            yaml.constructor.ConstructorError: The text is not a valid value for its tag.
        """
        if isinstance(node, yaml.MappingNode):
            return self._construct_object(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.construct_object(item) for item in node.value]
        name = node.tag.removeprefix(_TAG)
        try:
            return self._construct_scalar(name, node.value)
        except (ValueError, OverflowError) as error:
            problem = f"invalid {name}: put the value in quotes"
            raise yaml.constructor.ConstructorError(problem=problem, problem_mark=node.start_mark) from error

    def _construct_scalar(self, name: str, text: str) -> Plain:
        if name in ("bool", "int", "float", "null"):
            value = self._read(text)
            if name not in (_NAMES[type(value)], "float" if type(value) is int else None):
                raise ValueError(name)
            return _limit_number(value)
        if name == "timestamp" and not self.timestamp_regexp.match(text):
            raise ValueError(name)
        if name == "binary":
            return base64.b64decode(text.replace("\n", ""), validate=True).decode("utf-8", "replace")
        return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16")

    def _construct_object(self, node: yaml.MappingNode) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for key, item in node.value:
            if key.tag == MERGE_TAG:
                for source in reversed(item.value) if isinstance(item, yaml.SequenceNode) else (item,):
                    value.update(self._construct_merged(source))
            else:
                value[self._read_key(key)] = self.construct_object(item)
        return value

    def _construct_merged(self, node: yaml.Node) -> dict[str, Any]:
        if not isinstance(node, yaml.MappingNode):
            raise yaml.constructor.ConstructorError(
                problem="a merge key requires an object or a list of objects", problem_mark=node.start_mark
            )
        return self._construct_object(node)

    def _read_key(self, node: yaml.Node) -> str:
        """Return a key as text. Like kubectl, accept numbers, `true` and `false`.

        Raises:
            yaml.constructor.ConstructorError: The key is of another type.
        """
        if isinstance(node, yaml.ScalarNode) and node.tag == f"{_TAG}float":
            number = self._read(node.value)
            if isinstance(number, int | float) and not isinstance(number, bool):
                return _format_key(number)
        value = self.construct_object(node) if isinstance(node, yaml.ScalarNode) else None
        if isinstance(value, str):
            return value
        if isinstance(value, int):
            return str(value).lower()
        shown = f"the key {node.value!r}" if isinstance(node, yaml.ScalarNode) else "a key"
        raise yaml.constructor.ConstructorError(
            problem=f"{shown} is not a string: put the key in quotes", problem_mark=node.start_mark
        )

    def _check_keys(self, node: yaml.MappingNode) -> None:
        first: dict[str, yaml.Mark] = {}
        for key, _ in node.value:
            if key.tag == MERGE_TAG:
                continue
            name = self._read_key(key)
            before = first.setdefault(name, key.start_mark)
            if before is key.start_mark:
                continue
            problem = f"duplicate key {name!r}, already defined in line {before.line + 1}"
            duplicate = DuplicateKey(problem=problem, problem_mark=key.start_mark)
            if self._duplicates is None:
                raise duplicate
            self._duplicates.append(duplicate)

    def _count_values(self, node: yaml.Node | None) -> int:
        if isinstance(node, yaml.MappingNode):
            return 1 + sum(self._sizes[id(key)] + self._sizes[id(value)] for key, value in node.value)
        if isinstance(node, yaml.SequenceNode):
            return 1 + sum(self._sizes[id(item)] for item in node.value)
        return 1 + len(node.value) // _TEXT_OF_ONE if node else 1


def _limit_number(value: Plain) -> Plain:
    """Return a number as the API stores it: an integer of 64 bits if it is one, or else a finite float.

    Raises:
        ValueError: The number is infinite or not a number.
    """
    if not isinstance(value, int | float) or isinstance(value, bool):
        return value
    if not math.isfinite(value):
        raise ValueError(value)
    number = Decimal(repr(value))  # the digits that JSON shows
    is_integer = number == number.to_integral_value() and -_LARGEST_INTEGER <= number < _LARGEST_INTEGER
    return int(number) if is_integer else float(value)


def _format_key(number: float) -> str:
    """Return a number as the library of kubectl writes it into a key: with the digits of 32 bits."""
    single = ctypes.c_float(number).value
    if not math.isfinite(single):
        return ".nan" if math.isnan(single) else f"{'-' if single < 0 else ''}.inf"
    texts = (f"{single:.{digits}e}" for digits in range(9))
    text = next(text for text in texts if ctypes.c_float(float(text)).value == single)
    mantissa, exponent = text.split("e")
    is_short = -5 < int(exponent) < 6
    return f"{Decimal(text):f}" if is_short else f"{mantissa}e{int(exponent):+03d}"


def describe_position(error: Exception) -> str | None:
    """Return the position of a YAML error, for example `line 3, column 5`; None if it is unknown."""
    mark = getattr(error, "problem_mark", None)
    return f"line {mark.line + 1}, column {mark.column + 1}" if mark else None


def load_all(
    text: str, duplicates: list[DuplicateKey] | None = None, read: Callable[[str], Plain] = read_plain
) -> Iterator[Any]:
    """Yield the documents of a text in YAML or JSON. Documents before an error are yielded before the error is raised.

    Args:
        text: The text.
        duplicates: Gets the duplicate keys, of which the last value counts. None to raise the first one.
        read: Returns the value of a scalar without quotes.

    Raises:
        yaml.YAMLError: The text is not YAML or exceeds the limits.
    """
    loader = BoundedLoader(text, duplicates, read)
    while loader.check_data():  # type: ignore[no-untyped-call]
        yield loader.get_data()


def load(
    text: str,
    duplicates: list[DuplicateKey] | None = None,
    read: Callable[[str], Plain] = read_plain,
    most_values: int = MAX_VALUES,
) -> Any:
    """Return the only document of a text, None for an empty text. See `BoundedLoader` for the arguments.

    Raises:
        yaml.YAMLError: The text is not YAML, exceeds the limits, or contains several documents.
    """
    return BoundedLoader(text, duplicates, read, most_values).get_single_data()
