"""docs/extract_prose.py finds the texts that Vale does not read, and keeps their lines."""

from pathlib import Path

import pytest

from docs.extract_prose import build_page, list_comments, list_docstrings, main

CODE = '''"""A docstring of a module."""

LIMIT = 1
"""A limit."""


class Sample:
    """A docstring of a class."""

    size: int = 2
    """A size.

    It has a second paragraph.
    """

    def read(self) -> str:
        r"""Return a raw docstring."""
        return """No docstring."""
'''
VALUES = """# Two lines
# of one text.
name: "" # a name
tag: "" # a tag
# The tag#1 is a text.

#
colors: ["#fff"]
"""


def test_docstrings_of_attributes_and_raw_docstrings_are_listed() -> None:
    assert sorted(list_docstrings(CODE)) == [
        (4, ["A limit."]),
        (11, ["A size.", "", "It has a second paragraph."]),
        (17, ["Return a raw docstring."]),
    ]


def test_adjacent_comments_are_separate_texts_unless_their_lines_continue() -> None:
    assert list(list_comments(VALUES)) == [
        (1, ["- Two lines"]),
        (2, ["of one text."]),
        (3, ["- a name"]),
        (4, ["- a tag"]),
        (5, ["- The tag#1 is a text."]),
    ]


def test_each_text_keeps_its_line() -> None:
    lines = build_page(list_docstrings(CODE)).splitlines()
    assert {number: line for number, line in enumerate(lines, 1) if line} == {
        4: "A limit.",
        11: "A size.",
        13: "It has a second paragraph.",
        17: "Return a raw docstring.",
    }


def test_pages_are_written_for_files_with_texts_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"charts/values.yaml": VALUES, "tests/recorded.yaml": VALUES, "code/a.py": CODE, "code/b.py": "X = 1\n"}
    for name, text in files.items():
        path = Path(name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    main(Path("pages"), [Path("charts"), Path("tests"), Path("code"), Path("charts/values.yaml")])
    written = {str(path.relative_to("pages")) for path in Path("pages").rglob("*.md")}
    assert written == {"charts/values.yaml.md", "code/a.py.md"}
