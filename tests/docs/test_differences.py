"""Each recorded difference from the Apache operator has a reason, a test, and a section on the page."""

import ast
from pathlib import Path
from typing import Any

import pytest

from docs import list_differences
from tests.core.scenario import list_scenarios
from tests.differences import read_differences

REPOSITORY = Path(__file__).parents[2]
ENTRIES = [pytest.param(entry, id=entry["id"]) for entry in read_differences()]
NAMED = sorted({test for entry in read_differences() for test in entry.get("tests", ())})


def test_page_is_up_to_date() -> None:
    written = (list_differences.FOLDER / "internals" / "differences.md").read_text(encoding="utf-8")
    assert written == list_differences.build_page(), "run python docs/list_differences.py"


def test_entry_ids_are_unique() -> None:
    names = [entry["id"] for entry in read_differences()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("entry", ENTRIES)
def test_entry_has_all_parts(entry: dict[str, Any]) -> None:
    assert entry["decision"] in ("kept", "fixed", "assumed")
    assert all(entry[part].strip() for part in ("title", "path", "theirs", "ours", "reason"))
    assert entry["tests"]


@pytest.mark.parametrize("name", NAMED)
def test_named_test_exists(name: str) -> None:
    file, _, test = name.partition("::")
    tree = ast.parse((REPOSITORY / file).read_text(encoding="utf-8"))
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assigned = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    assert test in defined | assigned


def test_named_scenario_is_recorded() -> None:
    named = {trace["scenario"] for entry in read_differences() for trace in entry.get("traces", ())}
    assert {name for name in named - {"*"} if "cluster" not in name} <= set(list_scenarios())
