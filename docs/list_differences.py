"""Makes docs/internals/differences.md from docs/differences.yaml; `python docs/list_differences.py` writes it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

FOLDER = Path(__file__).parent
_SECTIONS: Final[Mapping[str, str]] = {"mended": "Mended, or added", "kept": "Kept"}


def read() -> list[dict[str, Any]]:
    """Every entry, in order."""
    entries: list[dict[str, Any]] = yaml.safe_load((FOLDER / "differences.yaml").read_text(encoding="utf-8"))
    return entries


def page() -> str:
    """The page docs/internals/differences.md."""
    entries = read()
    lines = [
        "# Differences from the Apache operator",
        "",
        "Resources, states and their words are those of the Apache Spark Kubernetes operator (1.1.0), so that either",
        "can take over from the other. Where its behaviour hurts its users, it is mended here. What looks odd and was",
        "kept is listed too.",
        "",
        "Made from `differences.yaml` by `python docs/list_differences.py`. The tests named prove what is said; those",
        "that play recorded scenarios of the Apache operator accept no difference that does not stand there.",
    ]
    for decision, title in _SECTIONS.items():
        lines += ["", f"## {title}"]
        for entry in entries:
            if entry["decision"] == decision:
                lines += _section(entry)
    return "\n".join([*lines, ""])


def _section(entry: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", f"### {entry['title']}", "", f"`{entry['path']}`", "")
    yield f"- **Apache operator:** {entry['theirs']}"
    yield f"- **Here:** {entry['ours']}"
    yield f"- **Why:** {entry['reason']}"
    if tests := entry.get("tests"):
        yield f"- **Tests:** {', '.join(f'`{test}`' for test in tests)}"
    if traces := entry.get("traces"):
        yield f"- **Recorded scenarios:** {', '.join(dict.fromkeys(_names(traces)))}"


def _names(traces: list[Mapping[str, str]]) -> Iterator[str]:
    return ("all it concerns" if trace["scenario"] == "*" else f"`{trace['scenario']}`" for trace in traces)


def main() -> None:
    """Write the page."""
    (FOLDER / "internals" / "differences.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
