"""Write the README of the chart from its values: `python charts/write_readme.py`."""

import re
from collections.abc import Iterator
from pathlib import Path

CHART = Path(__file__).parent / "spark-operator"
README = CHART / "README.md"
MARKER = "## Values\n"
_KEY = re.compile(r"^(?P<indent> *)(?P<key>[a-zA-Z]\w*):(?: (?P<value>[^# ].*?))?(?: # (?P<comment>.*))?$")


def build_readme() -> str:
    """Return the README, with a table of the values in place of the old one."""
    start = README.read_text(encoding="utf-8").partition(MARKER)[0]
    rows = [f"| `{path}` | {default} | {meaning} |" for path, default, meaning in list_values()]
    return "\n".join([f"{start}{MARKER}", "| Value | Default | Meaning |", "|---|---|---|", *rows, ""])


def list_values() -> Iterator[tuple[str, str, str]]:
    """Yield the path of each value, its default, and the comment above or next to it."""
    path: list[str] = []
    above: list[str] = []
    for line in (CHART / "values.yaml").read_text(encoding="utf-8").splitlines():
        if line.lstrip().startswith("# "):
            above.append(line.lstrip(" #"))
        elif found := _KEY.match(line):
            path = [*path[: len(found["indent"]) // 2], found["key"]]
            meaning = " ".join([*above, found["comment"] or ""]).strip().replace("|", "\\|")
            if found["value"] or meaning:
                yield ".".join(path), f"`{found['value']}`" if found["value"] else "", meaning
            above = []
        else:
            above = []


if __name__ == "__main__":
    README.write_text(build_readme(), encoding="utf-8")
