"""The messages of the page are messages of the package."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "airflow_provider_spark_operator"
PAGE = (REPOSITORY / "docs" / "troubleshooting.md").read_text()
MESSAGES = re.findall(r"^\| `([^`]+)` \|", PAGE, re.MULTILINE)


def _source() -> str:
    """The text of the package, with strings that are written in several pieces put together."""
    text = "\n".join(path.read_text() for path in sorted(PACKAGE.rglob("*.py")))
    return re.sub(r'"\s*\n\s*f?"', "", text)


SOURCE = _source()


def test_the_page_has_messages():
    assert len(MESSAGES) >= 20


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_of_the_page_is_one_of_the_package(message):
    pieces = [piece.strip() for piece in message.split("…")]
    assert [piece for piece in pieces if len(piece) > 2 and piece not in SOURCE] == []
