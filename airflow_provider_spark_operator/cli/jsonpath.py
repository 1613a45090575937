r"""Templates of `kubectl get -o jsonpath=TEMPLATE`.

Libraries for JSONPath have another language: kubectl mixes text with expressions in braces and has `{range}`. The
supported expressions are `.field`, `['field']`, `[0]`, `[0:4:2]`, `[*]`, `.*`, `['a','b']`, `[0,1]`, `..field`,
`[?(@.field=="value")]` with the operators `== != < <= > >=` or a field alone, `{range …}{end}` and texts such as
`{"\n"}`. A field that does not exist gives no result, and an index out of range is an error.
"""

import json
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from airflow_provider_spark_operator.cli.errors import CommandError
from airflow_provider_spark_operator.cli.exit_codes import ExitCode

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
Step: TypeAlias = Callable[[Json], Sequence[Json]]

_MOST_RANGES = 20
_ITEMS = frozenset({".items[*]", "$.items[*]", "items[*]"})
_EXPRESSION = re.compile(r"""\{((?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^{}"'])*)\}""", re.DOTALL)
_STEP = re.compile(
    r"""
    \.\.(?P<deep>[\w-]+)
    | (?P<every>\.\*|\[\*\])
    | \.(?P<name>(?:[^.\[\]\\\s"'(){}]|\\.)+)
    | \[(?P<quoted>'[^']*'|"[^"]*")\]
    | \[(?P<index>-?\d{1,9})\]
    | \[(?P<start>-?\d{0,9}):(?P<stop>-?\d{0,9})(?::(?P<stride>\d{0,9}))?\]
    | \[(?P<union>(?:'[^']*'|"[^"]*"|-?\d{1,9})(?:\s*,\s*(?:'[^']*'|"[^"]*"|-?\d{1,9}))+)\]
    | \[\?\(\s*@(?P<field>[^=<>!\s)]+)\s*
      (?:(?P<operator>==|!=|<=|>=|<|>)\s*(?P<value>"[^"]*"|'[^']*'|[^\s"')]+)\s*)?\)\]
    """,
    re.VERBOSE,
)
_PART = re.compile(r"""'[^']*'|"[^"]*"|-?\d+""")
_OPERATORS: dict[str, Callable[..., bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class InvalidTemplate(ValueError):
    """A template that is not supported; the text names the part."""


@dataclass(frozen=True)
class _Range:
    """The parts of a template, for each value of a path."""

    steps: Sequence[Step]
    path: str = ""
    parts: "list[str | Sequence[Step] | _Range]" = field(default_factory=list)


@dataclass(frozen=True)
class Template:
    """A template that was parsed by `parse_template`."""

    root: _Range

    def render(self, value: Json) -> str:
        """Return the text of the template for a value.

        Raises:
            CommandError: An index is out of range.
        """
        return "".join(_render(self.root, value))

    def find_item_template(self) -> "Template | None":
        """Return the template of one item if all of this template is `{range .items[*]}…{end}`. Otherwise, None."""
        if len(self.root.parts) == 1 and isinstance(block := self.root.parts[0], _Range) and block.path in _ITEMS:
            return Template(_Range((), parts=block.parts))
        return None


def parse_template(text: str) -> Template:
    """Parse a template.

    Raises:
        InvalidTemplate: The template is empty, an expression is not supported, or `{range}` and `{end}` do not match.
    """
    if not text:
        raise InvalidTemplate("it is empty")
    blocks = [_Range(())]
    position = 0
    for match in _EXPRESSION.finditer(text):
        _add_text(blocks[-1], text[position : match.start()])
        position = match.end()
        expression = match[1].strip()
        if expression == "end":
            if len(blocks) == 1:
                raise InvalidTemplate("{end} without {range}")
            blocks.pop()
        elif expression.startswith("range "):
            if len(blocks) > _MOST_RANGES:
                raise InvalidTemplate(f"more than {_MOST_RANGES} nested {{range}} blocks")
            path = expression.removeprefix("range ").strip()
            block = _Range(_parse_path(path), path)
            blocks[-1].parts.append(block)
            blocks.append(block)
        elif expression[:1] in ("'", '"'):
            blocks[-1].parts.append(_unquote(expression))
        else:
            blocks[-1].parts.append(_parse_path(expression))
    _add_text(blocks[-1], text[position:])
    if len(blocks) > 1:
        raise InvalidTemplate("{range} without {end}")
    return Template(blocks[0])


def _add_text(block: _Range, text: str) -> None:
    if "{" in text or "}" in text:
        raise InvalidTemplate(f"unsupported expression {text!r}")
    if text:
        block.parts.append(text)


def _parse_path(path: str) -> tuple[Step, ...]:
    rest = path.removeprefix("$").removeprefix("@")
    if rest and rest[0] not in ".[":
        rest = f".{rest}"
    steps = []
    position = 0
    while position < len(rest):
        match = _STEP.match(rest, position)
        if match is None:
            if rest[position:] == ".":
                break
            raise InvalidTemplate(f"unsupported expression {rest[position:]!r}")
        steps.append(_build_step(match))
        position = match.end()
    return tuple(steps)


def _build_step(match: re.Match[str]) -> Step:
    if match["deep"] is not None:
        return lambda value: list(_find_deep(value, match["deep"]))
    if match["every"] is not None:
        return _list_children
    if match["field"] is not None:
        return _build_filter(match)
    if match["index"] is not None:
        return _build_index(int(match["index"]))
    if match["start"] is not None:
        return _build_slice(match)
    if match["union"] is not None:
        steps = [
            _build_index(int(part)) if part[0] not in "'\"" else _build_field(part[1:-1])
            for part in _PART.findall(match["union"])
        ]
        return lambda value: [each for step in steps for each in step(value)]
    return _build_field(match["quoted"][1:-1] if match["quoted"] else re.sub(r"\\(.)", r"\1", match["name"]))


def _build_field(name: str) -> Step:
    return lambda value: (value[name],) if isinstance(value, dict) and name in value else ()


def _build_index(index: int) -> Step:
    def select(value: Json) -> Sequence[Json]:
        if not isinstance(value, list):
            return ()
        if not -len(value) <= index < len(value):
            raise CommandError(
                f"jsonpath: the index {index} is out of range: the list has {len(value)} entries", ExitCode.INVALID
            )
        return (value[index],)

    return select


def _build_slice(match: re.Match[str]) -> Step:
    start, stop, stride = (int(match[name]) if match[name] else None for name in ("start", "stop", "stride"))
    if stride == 0:
        raise InvalidTemplate(f"the step of {match[0]} must be at least 1")
    return lambda value: value[start:stop:stride] if isinstance(value, list) else ()


def _build_filter(match: re.Match[str]) -> Step:
    steps = _parse_path(match["field"])
    if match["operator"] is None:
        return lambda value: [child for child in _list_children(value) if _follow(steps, child)]
    compare = _OPERATORS[match["operator"]]
    wanted = _parse_literal(match["value"])

    def select(value: Json) -> list[Json]:
        found = []
        for child in _list_children(value):
            try:
                if any(compare(each, wanted) for each in _follow(steps, child)):
                    found.append(child)
            except TypeError:
                continue  # a text and a number have no order
        return found

    return select


def _parse_literal(text: str) -> Json:
    if text[:1] in ("'", '"'):
        return text[1:-1]
    try:
        value: Json = json.loads(text)
    except ValueError:
        raise InvalidTemplate(f"unsupported value {text!r}: quote texts") from None
    return value


def _unquote(text: str) -> str:
    if len(text) < 2 or text[-1] != text[0]:
        raise InvalidTemplate(f"unsupported expression {text!r}")
    escapes = {"n": "\n", "t": "\t", "r": "\r"}
    return re.sub(r"\\(.)", lambda match: escapes.get(match[1], match[1]), text[1:-1], flags=re.DOTALL)


def _list_children(value: Json) -> list[Json]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _find_deep(value: Json, name: str) -> Iterator[Json]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict) and name in each:
            yield each[name]
        waiting += reversed(_list_children(each))


def _follow(steps: Sequence[Step], value: Json) -> list[Json]:
    found = [value]
    for step in steps:
        found = [child for each in found for child in step(each)]
    return found


def _render(block: _Range, value: Json) -> Iterator[str]:
    for each in _follow(block.steps, value):
        for part in block.parts:
            if isinstance(part, str):
                yield part
            elif isinstance(part, _Range):
                yield from _render(part, each)
            else:
                yield " ".join(_format(result) for result in _follow(part, each))


def _format(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
