"""The package serves any user of Kubernetes: its files do not mention the product that it comes from."""

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1]
_NOT_OURS = {"__pycache__", "dist"}


def list_source_files() -> list[Path]:
    """Return every file of the package, except those that tools create, and this file."""
    found = [path for path in PACKAGE.rglob("*") if path.is_file() and path != Path(__file__)]
    parts = {path: path.relative_to(PACKAGE).parts for path in found}
    return sorted(
        path for path in found if not _NOT_OURS & {*parts[path]} and not any(part[0] == "." for part in parts[path])
    )


WORDS = re.compile("spark|airflow", re.IGNORECASE)


@pytest.mark.parametrize("path", list_source_files(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_file_names_no_product_that_uses_the_package(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert WORDS.findall(text) == []
