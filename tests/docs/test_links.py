"""Relative links between pages lead to files and headings that exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted((REPOSITORY / "docs").rglob("*.md")),
]
README_LINES = 150


def read_anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of `page`, as the site builds them."""
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = [re.sub(r"\]\([^)]*\)", "", heading) for heading in headings]
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in plain}


def find_broken_links(page: Path) -> Iterator[str]:
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in read_anchors(target)):
            yield link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_links_of_page_exist(page: Path) -> None:
    assert list(find_broken_links(page)) == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = (REPOSITORY / "mkdocs.yml").read_text()
    docs = REPOSITORY / "docs"
    assert [name for page in docs.rglob("*.md") if (name := str(page.relative_to(docs))) not in navigation] == []


def test_readme_is_short() -> None:
    assert len((REPOSITORY / "README.md").read_text().splitlines()) <= README_LINES


def test_index_of_guides_lists_them_in_the_order_of_the_navigation() -> None:
    navigation = re.findall(r"^ {10}- guides/(.*)$", (REPOSITORY / "mkdocs.yml").read_text(), re.MULTILINE)
    index = (REPOSITORY / "docs" / "guides" / "README.md").read_text()
    assert re.findall(r"^- \[.*\]\((.*)\)$", index, re.MULTILINE) == navigation
