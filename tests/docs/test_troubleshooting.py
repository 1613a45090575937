"""The messages of the page are messages of the package, and those of the package are on the page."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "airflow_provider_spark_operator"
PAGE = (REPOSITORY / "docs" / "troubleshooting.md").read_text()
ROWS = re.findall(r"^\| (`[^|]+`) \|", PAGE, re.MULTILINE)
MESSAGES = [message for row in ROWS for message in re.findall(r"`([^`]+)`", row)]
# What a task may come upon; a mistake in a DAG file is told where the file is parsed.
PARTS = ("decorators", "follow", "hooks", "operators", "sensors", "triggers")
AT_PARSE = ("TypeError", "ValueError", "AssertionError")
# What goes around a cause that has a message of its own, or before the time that was over.
FRAMES = (
    "Airflow did not report the state of the task",
    "could not submit the …: …",
    "the application was not submitted",
    "was not reported to",
)


def _source() -> str:
    """The text of the package, with the pieces of a string joined, and the path of a problem with its message."""
    text = "\n".join(path.read_text() for path in sorted(PACKAGE.rglob("*.py")))
    text = re.sub(r'"\s*\n\s*f?"', "", text)
    return re.sub(r'Problem\(\s*(?:"(\w+)"|\w+),\s*f?"', r'"\1: ', text)


SOURCE = _source()


def test_the_page_has_messages() -> None:
    assert len(MESSAGES) >= 20


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_of_the_page_is_one_of_the_package(message: str) -> None:
    pieces = [piece.strip() for piece in message.split("…")]
    assert [piece for piece in pieces if len(piece) > 2 and piece not in SOURCE] == []


def _text(node: object) -> str | None:
    """The words of a message, with … for what is filled in; None where there are none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"%[.\w]", "…", node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
    return None


def _messages() -> Iterator[str]:
    for part in PARTS:
        for path in sorted((PACKAGE / part).glob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                told = [node.exc] if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) else []
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "warning":
                    told = [node]
                for call in told:
                    if not (isinstance(call.func, ast.Name) and call.func.id in AT_PARSE):
                        yield from (text for text in map(_text, call.args) if text and len(text) > 15)


def _pieces(message: str) -> list[str]:
    return [piece.strip() for piece in message.split("…") if len(piece.strip()) > 2]


@pytest.mark.parametrize("message", sorted(set(_messages())))
def test_a_message_of_the_package_is_on_the_page(message: str) -> None:
    assert any(all(piece in message for piece in _pieces(one)) for one in [*MESSAGES, *FRAMES])
