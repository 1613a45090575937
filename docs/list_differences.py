"""Write docs/internals/differences.md from docs/differences.yaml: `python docs/list_differences.py`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

FOLDER = Path(__file__).parent
_SECTIONS: Final[Mapping[str, str]] = {
    "fixed": "Fixed or added",
    "kept": "Kept",
    "assumed": "Decided without a source",
}


def read_entries() -> list[dict[str, Any]]:
    """Return all entries of docs/differences.yaml, in order."""
    entries: list[dict[str, Any]] = yaml.safe_load((FOLDER / "differences.yaml").read_text(encoding="utf-8"))
    return entries


def build_page() -> str:
    """Return the text of docs/internals/differences.md."""
    entries = read_entries()
    lines = [
        "# Differences from the Apache operator",
        "",
        "`spark-operator reconcile` differs from the Apache Spark Kubernetes Operator 1.1.0 in these entries.",
        "",
        "Resources, states and their names are those of the Apache operator, so either controller can take over from",
        "the other. Behavior that harms users is fixed here. Odd behavior that was kept is listed, too.",
        "",
        "`python docs/list_differences.py` writes this page from `differences.yaml`. The named tests prove each entry.",
        "Other tests replay recorded scenarios of the Apache operator. They accept only the differences in that file.",
        "The recordings are of August 2026, before the release.",
    ]
    for decision, title in _SECTIONS.items():
        lines += ["", f"## {title}"]
        for entry in entries:
            if entry["decision"] == decision:
                lines += _list_lines(entry)
    return "\n".join([*lines, ""])


def _list_lines(entry: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", f"### {entry['title']}", "", f"`{entry['path']}`", "")
    yield f"- **Apache operator:** {entry['theirs']}"
    yield f"- **This controller:** {entry['ours']}"
    yield f"- **Reason:** {entry['reason']}"
    if tests := entry.get("tests"):
        yield f"- **Tests:** {', '.join(f'`{test}`' for test in tests)}"
    if traces := entry.get("traces"):
        yield f"- **Recorded scenarios:** {', '.join(dict.fromkeys(_list_scenarios(traces)))}"


def _list_scenarios(traces: list[Mapping[str, str]]) -> Iterator[str]:
    return ("all affected scenarios" if trace["scenario"] == "*" else f"`{trace['scenario']}`" for trace in traces)


def main() -> None:
    """Write the page."""
    (FOLDER / "internals" / "differences.md").write_text(build_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
