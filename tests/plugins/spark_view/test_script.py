"""The script of the page: its own tests, which Node.js runs, and what it must not contain."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import airflow_provider_spark_operator

STATIC = Path(airflow_provider_spark_operator.__file__).parent / "plugins" / "spark_view" / "static"
SCRIPTS = sorted(STATIC.glob("*.js"))
MOST_LINES = 600
NODE = shutil.which("node")
# Older ones read a file with the suffix .js as a CommonJS module.
OLDEST_NODE = (20, 19)
# What would make recorded text more than text, or need more than the policy of the page permits.
FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|setHTML|srcdoc|\beval\b"
    r"|\bFunction\(|setAttribute\(\"style|\bvar\b|[^=!]==[^=]|!=[^=]|console\.|debugger|\bimport\("
)


def find_missing_node() -> str:
    """Return why Node.js cannot run the tests; empty if it can."""
    if NODE is None:
        return "Node.js is not installed: the tests of the page's script did not run"
    version = subprocess.run([NODE, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    old = tuple(int(part) for part in version.removeprefix("v").split(".")[:2]) < OLDEST_NODE
    return f"Node.js {version} is older than 20.19: the tests of the page's script did not run" if old else ""


def test_script_passes_its_own_tests() -> None:
    if missing := find_missing_node():
        pytest.skip(missing)
    assert NODE is not None
    files = sorted(str(file) for file in Path(__file__).parent.glob("*.test.mjs"))
    done = subprocess.run([NODE, "--test", *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:]
    assert re.search(r"^# pass [1-9]", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda file: file.name)
def test_script_is_valid_and_treats_recorded_text_as_text(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert FORBIDDEN.findall(text) == []
    assert [line for line in text.splitlines() if len(line) > 120 or line != line.rstrip()] == []
    if NODE is not None and not find_missing_node():
        checked = subprocess.run([NODE, "--check", file], capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr


def test_script_is_small() -> None:
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in SCRIPTS) <= MOST_LINES


def test_page_has_no_inline_script_or_style_and_loads_its_own_files_only() -> None:
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"<style|\bstyle=|\bon[a-z]+=|javascript:|https?:", page) == []
    assert re.findall(r"<script[^>]*>([^<]*)</script>", page) == [""]
    named = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert [name for name in named if not (STATIC / name).is_file()] == []
