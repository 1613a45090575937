"""Public names: the reference lists them, modules export and examples use them alone, and none is lost silently."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from docs import list_classes
from tests.releases.public_names import FILE, ROOT, list_public_names

RECORDED = sorted(Path(__file__).parent.glob(f"*/{FILE}"))
PUBLIC = {
    f"{list_classes.PACKAGE}.{module}": set(names) for _, modules in list_classes.CHAPTERS for module, names in modules
}
PAGES = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
# Names of the local cluster, on the page of its Python API.
LOCAL = set(re.findall(r"local_kubernetes\.[\w.]+", (ROOT / "docs/internals/local-kubernetes.md").read_text()))


def list_announcements() -> str:
    """Return the text of each removal that the changelog, or a fragment of it, announces."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.findall(r"^#+ Removed\n(.*?)(?=^#|\Z)", changelog, re.MULTILINE | re.DOTALL)
    fragments = [path.read_text(encoding="utf-8") for path in (ROOT / "changelog.d").glob("*.removed.md")]
    return "\n".join(sections + fragments)


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda path: path.parent.name)
def test_removed_names_are_announced(recorded: Path) -> None:
    removed = set(recorded.read_text(encoding="utf-8").splitlines()) - set(list_public_names())
    announced = list_announcements()
    missing = sorted(name for name in removed if f"`{name.split()[-1]}`" not in announced)
    assert missing == [], "write a fragment changelog.d/NAME.removed.md that names each of them as `NAME`"


@pytest.mark.parametrize("module", PUBLIC)
def test_public_module_exports_the_documented_names_alone(module: str) -> None:
    assert set(import_module(module).__all__) == PUBLIC[module]


def list_imports(text: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in (
            list_classes.PACKAGE,
            "local_kubernetes",
        ):
            yield from ((str(node.module), name.name) for name in node.names)


def test_documentation_and_examples_import_public_names_alone() -> None:
    sources = {path: [path.read_text(encoding="utf-8")] for path in (ROOT / "example_dags").rglob("*.py")}
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        sources[path] = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    private = [
        f"{path.relative_to(ROOT)}: {module}.{name}"
        for path, blocks in sources.items()
        for block in blocks
        for module, name in list_imports(block)
        if name not in PUBLIC.get(module, ()) and f"{module}.{name}" not in LOCAL
    ]
    assert private == []
