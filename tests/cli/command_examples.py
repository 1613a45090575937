"""The commands that the pages and `--help` show."""

import re
import textwrap
from pathlib import Path

from airflow_provider_spark_operator.cli.program.catalogue import VERBS
from airflow_provider_spark_operator.cli.program.program import build_verb

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
# A command ends at a pipe, a redirection or a comment, or with the substitution that contains it.
_COMMAND = re.compile(r"(?:^|\| |\$\(|<\(| -- )(?:spark-operator|kubectl spark) (.+?)(?: \|| +#| 2?>|\)|$)")
_BLOCK = re.compile(r"^ *```console\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def list_commands() -> list[str]:
    """Return each command of a console block of a page and of the examples of a verb, without the program's name."""
    blocks = [block for page in PAGES for block in _BLOCK.findall(page.read_text(encoding="utf-8"))]
    typed = [re.findall(r"^ *\$ (.*)$", _join_lines(block), re.MULTILINE) for block in blocks]
    helps = [str(build_verb(verb).help).partition("\nExamples:\n")[2] for verb in VERBS]
    examples = [_join_lines(textwrap.dedent(text)).splitlines() for text in helps]
    lines = [line for group in typed + examples for line in group if not line.startswith("#")]
    return sorted({command for line in lines for command in _COMMAND.findall(line)})


def list_mentions() -> list[str]:
    """Return each command in a sentence of a page, without the program's name. It may lack arguments."""
    pattern = re.compile(r"`(?:spark-operator|kubectl spark) ([^`|]+)")
    return sorted({text for page in PAGES for text in pattern.findall(page.read_text(encoding="utf-8"))})


def _join_lines(text: str) -> str:
    return re.sub(r"\\\n\s*", "", text)
