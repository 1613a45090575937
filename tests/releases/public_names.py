"""The public names: `python -m tests.releases.public_names` records them as those of the release.

The pages of the reference list them, and other tests compare these pages with the code. `__all__` of a public module
has its names.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from airflow_provider_spark_operator import __version__

ROOT = Path(__file__).parents[2]
FILE = "public-names.txt"


def list_public_names() -> list[str]:
    """Return the name of each documented class, parameter, option, setting, metric and value of the chart."""
    pages = sorted((ROOT / "docs" / "reference").glob("*.md"))
    pages += [ROOT / "docs" / "operations" / "controller.md", ROOT / "docs" / "internals" / "local-kubernetes.md"]
    names = {f"{page.stem} {name}" for page in pages for name in _list_page(page.read_text(encoding="utf-8"))}
    values = yaml.safe_load((ROOT / "charts" / "spark-operator" / "values.yaml").read_text(encoding="utf-8"))
    return sorted(names | {f"chart {path}" for path in _list_values(values)})


def _list_page(text: str) -> Iterator[str]:
    heading = ""
    for line in text.splitlines():
        if found := re.match(r"##+ (.*)", line):
            heading = found[1].strip("`")
        elif found := re.match(r"\| ([^|]*`[^|]*) \|", line):
            # The word after an option, for example `--timeout DURATION`, only describes its value.
            names = (name.split()[0] if name.startswith("-") else name for name in re.findall(r"`([^`]+)`", found[1]))
            yield from (f"{heading}: {name}" for name in names)
        elif found := re.match(r"`((?:airflow_provider_spark_operator|local_kubernetes)\.[\w.]+)", line):
            yield found[1] if found[1].endswith(f".{heading}") else f"{found[1]}.{heading}"


def _list_values(values: object, path: str = "") -> Iterator[str]:
    if isinstance(values, dict) and values:
        for key, value in values.items():
            yield from _list_values(value, f"{path}.{key}".lstrip("."))
    else:
        yield path


if __name__ == "__main__":
    version = ".".join((sys.argv[1:] or [__version__])[0].split(".")[:2])
    folder = Path(__file__).parent / version
    folder.mkdir(exist_ok=True)
    (folder / FILE).write_text("\n".join(list_public_names()) + "\n", encoding="utf-8")
