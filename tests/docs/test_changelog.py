"""Each fragment of the changelog has a valid name and one short sentence."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["towncrier"]
TYPES = [each["directory"] for each in SETTINGS["type"]]
NAME = re.compile(rf"[a-z0-9-]+\.({'|'.join(TYPES)})\.md")
LIMIT = 250  # characters


def list_problems(path: Path) -> list[str]:
    """Return what is wrong with a fragment."""
    problems = []
    if not NAME.fullmatch(path.name):
        problems.append(f"{path.name}: rename it to NAME.TYPE.md, with a TYPE of {', '.join(TYPES)}")
    text = path.read_text(encoding="utf-8").strip()
    if not text.endswith(".") or text.startswith("-") or len(text) > LIMIT:
        problems.append(f"{path.name}: write one or two sentences of at most {LIMIT} characters, without a bullet")
    return problems


def test_fragments_are_valid() -> None:
    paths = [path for path in (ROOT / "changelog.d").iterdir() if path.name not in SETTINGS["ignore"]]
    assert [problem for path in paths for problem in list_problems(path)] == []


def test_invalid_fragment_is_reported(tmp_path: Path) -> None:
    fragment = tmp_path / "Retry.fixed.md"
    fragment.write_text("- no sentence")
    assert len(list_problems(fragment)) == 2


def test_changelog_has_the_place_for_new_releases() -> None:
    assert (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").count(SETTINGS["start_string"]) == 1
