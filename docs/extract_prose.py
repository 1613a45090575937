"""Extract the prose that Vale does not find: `python docs/extract_prose.py FOLDER PATH...`.

Vale reads the comments and docstrings of Python code, except docstrings of attributes and some raw docstrings. It reads
no comments of YAML files. For each file under a PATH with such texts, the program writes a Markdown file below FOLDER.
Each text keeps its line, so that the findings of Vale name the right one.
"""

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

Text: TypeAlias = tuple[int, Sequence[str]]
"""The line number of a text in its file, from 1, and the lines of the text."""

# The YAML files in other folders are recorded or generated.
_YAML_FOLDERS: Final = ("charts", "docs")
# The marker of a comment follows white space. Quoted text with this marker does not occur.
_COMMENT: Final = re.compile(r"(?P<before>^|.*?\s)#\s+(?P<text>.*)")


def list_docstrings(source: str) -> Iterator[Text]:
    """Yield the docstrings of Python code that Vale does not read."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            for position, statement in enumerate(body):
                text = _read_string(statement)
                if text is not None and (position > 0 or _is_raw(statement, lines)):
                    yield statement.lineno, inspect.cleandoc(text).splitlines()


def _read_string(statement: ast.stmt) -> str | None:
    """Return the text of a statement that consists of a string, else None."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


def _is_raw(statement: ast.stmt, lines: Sequence[str]) -> bool:
    return lines[statement.lineno - 1].lstrip().startswith(("r", "R"))


def list_comments(source: str) -> Iterator[Text]:
    """Yield the comments of YAML. Each is an item of a Markdown list: adjacent comments are separate texts."""
    is_continued = False
    for number, line in enumerate(source.splitlines(), 1):
        match = _COMMENT.match(line)
        is_line = match is not None and not match["before"].strip()
        if match:
            yield number, [match["text"] if is_line and is_continued else f"- {match['text']}"]
        is_continued = is_line


def list_texts(path: Path) -> Iterator[Text]:
    """Yield the texts of a file that Vale does not read."""
    if path.suffix == ".py":
        yield from list_docstrings(path.read_text(encoding="utf-8"))
    elif path.suffix == ".yaml" and path.parts[0] in _YAML_FOLDERS:
        yield from list_comments(path.read_text(encoding="utf-8"))


def build_page(texts: Iterator[Text]) -> str:
    """Return a Markdown page with each text at its line, or an empty string if there are no texts."""
    page: list[str] = []
    for number, lines in sorted(texts):
        page += [""] * (number - 1 - len(page))
        page += lines
    return "\n".join([*page, ""]) if page else ""


def main(folder: Path, paths: Sequence[Path]) -> None:
    """Write the pages of all files under the paths.

    Args:
        folder: The folder of the pages.
        paths: Files and folders, relative to the working directory.
    """
    for path in (file for each in paths for file in (sorted(each.rglob("*")) if each.is_dir() else [each])):
        if path.is_file() and (page := build_page(list_texts(path))):
            target = folder / f"{path}.md"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(argument) for argument in sys.argv[2:]])
