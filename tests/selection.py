"""`python -m tests.selection NAME [ARGUMENT ...]`: run pytest with a selection of tests from pyproject.toml."""

import os
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path


def read_selections() -> dict[str, list[str]]:
    """Return the arguments of each selection. A name after `@` refers to another selection."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    selections: dict[str, list[str]] = project["tool"]["selections"]
    return {name: list(_expand(selections, name)) for name in selections}


def _expand(selections: Mapping[str, list[str]], name: str) -> Iterator[str]:
    for argument in selections[name]:
        if argument.startswith("@"):
            yield from _expand(selections, argument[1:])
        else:
            yield argument


if __name__ == "__main__":
    _, name, *options = sys.argv
    selections = read_selections()
    if name not in selections:
        known = ", ".join(selections)
        sys.exit(f"could not select tests: {name} is not in [tool.selections] of pyproject.toml. Use one of {known}")
    os.execv(sys.executable, [sys.executable, "-m", "pytest", *selections[name], *options])
