"""The troubleshooting page has every message of a task, and no other."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "airflow_provider_spark_operator"
LOCAL_KUBERNETES = REPOSITORY / "packages" / "local-kubernetes" / "local_kubernetes"
PAGE = (REPOSITORY / "docs" / "troubleshooting.md").read_text()
ROWS = re.findall(r"^\| (`[^|]+`) \|", PAGE, re.MULTILINE)
MESSAGES = [message for row in ROWS for message in re.findall(r"`([^`]+)`", row)]
# Packages whose messages a task can show. The exceptions of DAG parsing are excluded.
PARTS = ("decorators", "follow", "hooks", "operators", "sensors", "triggers")
AT_PARSE = ("TypeError", "ValueError", "AssertionError")
# Parts of messages that contain another message.
FRAMES = (
    "Airflow did not report the state of the task",
    "could not submit the …: …",
    "the application was not submitted",
)


def _source() -> str:
    """Return the source of both packages, with string pieces joined and the path of each problem before its message."""
    files = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.js"), *LOCAL_KUBERNETES.rglob("*.py")]
    text = "\n".join(path.read_text() for path in sorted(files))
    text = re.sub(r'"\s*\n\s*f?"', "", text)
    return re.sub(r'Problem\(\s*(?:"(\w+)"|\w+),\s*f?"', r'"\1: ', text)


SOURCE = _source()


def test_page_has_messages() -> None:
    assert len(MESSAGES) >= 20


@pytest.mark.parametrize("message", MESSAGES)
def test_message_on_the_page_exists_in_the_package(message: str) -> None:
    pieces = [piece.strip() for piece in message.split("…")]
    assert [piece for piece in pieces if len(piece) > 2 and piece not in SOURCE] == []


def _text(node: object) -> str | None:
    """Return the text of a message with … for its variable parts; None if the node is no text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"%[.\w]", "…", node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
    return None


def _messages() -> Iterator[str]:
    for part in PARTS:
        for path in sorted((PACKAGE / part).glob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                calls = [node.exc] if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) else []
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "warning":
                    calls = [node]
                for call in calls:
                    if not (isinstance(call.func, ast.Name) and call.func.id in AT_PARSE):
                        yield from (text for text in map(_text, call.args) if text and len(text) > 15 and " " in text)


def _pieces(message: str) -> list[str]:
    return [piece.strip() for piece in message.split("…") if len(piece.strip()) > 2]


@pytest.mark.parametrize("message", sorted(set(_messages())))
def test_message_of_the_package_is_on_the_page(message: str) -> None:
    assert any(all(piece in message for piece in _pieces(one)) for one in [*MESSAGES, *FRAMES])
