"""The documentation agrees with the package."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest
import yaml
from airflow.sdk import DAG, BaseOperator

from airflow_provider_spark_operator.cli.arguments import build_parser
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.core.problems import filter_errors
from airflow_provider_spark_operator.core.validation.validate import validate
from airflow_provider_spark_operator.provider import build_connection_fields, get_provider_info
from local_kubernetes.command import build_parser as local_kubernetes_parser

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]


def _blocks(language: str) -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        texts = re.findall(rf"^ *```{language}\n(.*?)^ *```", page.read_text(), re.MULTILINE | re.DOTALL)
        found += [(f"{page.relative_to(REPOSITORY)}-{number}", dedent(text)) for number, text in enumerate(texts, 1)]
    return found


# test_code_blocks runs the tests on the page about tests. test_tutorial and test_hook run the other pages.
ELSEWHERE = ("docs/guides/test-dags.md", "docs/get-started/tutorial.md", "docs/guides/hook.md")
PYTHON = [(name, code) for name, code in _blocks("python") if not name.startswith(ELSEWHERE)]


def test_pages_have_python_blocks() -> None:
    assert len(PYTHON) >= 3


@pytest.mark.parametrize("code", [code for _, code in PYTHON], ids=[name for name, _ in PYTHON])
def test_python_block_defines_valid_tasks(code: str) -> None:
    names: dict[str, object] = {}
    with DAG("documentation"):
        exec(compile(code, "documentation", "exec"), names)
    dags = [value for value in names.values() if isinstance(value, DAG)]
    assert any(issubclass(value, BaseOperator) for value in names.values() if isinstance(value, type)) or dags


COMMAND_LINE = (REPOSITORY / "docs" / "reference" / "command-line.md").read_text()


def list_verbs(parser: argparse.ArgumentParser, prefix: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Return each verb of a parser with its own parser, as in `local up`."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, verb in action.choices.items():
                yield from list_verbs(verb, f"{prefix}{name} ")
            return
    yield prefix.strip(), parser


def read_section(verb: str) -> str:
    """Return the section of the command line page about a verb."""
    return COMMAND_LINE.split(f"\n## `{verb}`\n")[1].split("\n## ")[0]


VERBS = [*list_verbs(build_parser("0")), ("local-kubernetes", dict(list_verbs(local_kubernetes_parser()))["up"])]


@pytest.mark.parametrize(("verb", "parser"), VERBS, ids=[verb for verb, _ in VERBS])
def test_page_of_the_command_line_lists_the_options_of_each_verb(verb: str, parser: argparse.ArgumentParser) -> None:
    options = {option for action in parser._actions for option in action.option_strings} - {"-h", "--help"}
    arguments = re.findall(r"^\| (.*?[^\\]) \|", read_section(verb), re.MULTILINE)
    listed = {word for argument in arguments for word in re.findall(r"`(--?[a-z-]+)", argument)}
    assert listed == options


def test_page_of_exit_codes_lists_each_code() -> None:
    page = (REPOSITORY / "docs" / "reference" / "exit-codes.md").read_text()
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    assert codes == {int(code) for code in ExitCode}


def test_meaning_of_exit_code_1_includes_reconcile_check() -> None:
    page = (REPOSITORY / "docs" / "reference" / "exit-codes.md").read_text()
    (meaning,) = re.findall(r"^\| 1 \| (.*) \|$", page, re.MULTILINE)
    assert "`reconcile --check`" in meaning
    assert "reconcile --check" in (build_parser("").epilog or "").partition("1 ")[2].partition("2 ")[0]


def test_page_of_exit_codes_lists_the_codes_in_the_help_of_each_verb() -> None:
    page = (REPOSITORY / "docs" / "reference" / "exit-codes.md").read_text()
    rows = dict(re.findall(r"^\| `([a-z ]+)` \| ([\d, ]+) \|", page, re.MULTILINE))
    helps = {
        verb: ", ".join(re.findall(r"[:;] (\d+) ", parser.epilog or ""))
        for verb, parser in list_verbs(build_parser(""))
    }
    assert rows == helps


def test_synopsis_of_reconcile_has_every_option() -> None:
    options = {option for action in dict(VERBS)["reconcile"]._actions for option in action.option_strings}
    synopsis = (REPOSITORY / "docs" / "operations" / "controller.md").read_text().split("```")[1]
    assert options - {"-h", "--help"} == set(re.findall(r"--[a-z-]+", synopsis))


def test_page_of_events_lists_each_reason_once() -> None:
    page = (REPOSITORY / "docs" / "reference" / "events.md").read_text()
    rows = re.findall(r"^\| (`.*?`) \|", page, re.MULTILINE)
    listed = [reason for row in rows for reason in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted(value for name, value in vars(reasons).items() if name.isupper())


def test_page_of_connections_lists_each_field_once() -> None:
    page = (REPOSITORY / "docs" / "reference" / "connection.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert sorted(rows) == sorted(build_connection_fields())


def test_page_of_configuration_lists_each_option_with_its_default() -> None:
    page = (REPOSITORY / "docs" / "reference" / "configuration.md").read_text()
    section = page.split("## `[spark_operator]`")[1].split("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (`\d+`|empty).*? \|", section, re.MULTILINE))
    options = get_provider_info()["config"]["spark_operator"]["options"]
    assert rows == {
        name: f"`{option['default']}`" if option["default"] else "empty" for name, option in options.items()
    }


@pytest.mark.parametrize(
    "manifest", sorted((REPOSITORY / "docs" / "manifests").glob("*.yaml")), ids=lambda path: path.name
)
def test_manifest_has_no_wildcard(manifest: Path) -> None:
    rules = [rule for document in yaml.safe_load_all(manifest.read_text()) for rule in document.get("rules", [])]
    assert rules
    assert not any("*" in words for rule in rules for words in rule.values())


APPLICATIONS = [(name, text) for name, text in _blocks("yaml") if "kind: SparkApplication" in text]


@pytest.mark.parametrize("text", [text for _, text in APPLICATIONS], ids=[name for name, _ in APPLICATIONS])
def test_application_on_a_page_is_valid(text: str) -> None:
    document = yaml.safe_load(text)
    document.setdefault("metadata", {}).setdefault("name", "documentation")
    assert filter_errors(validate(document)) == []


def test_pages_have_applications() -> None:
    assert APPLICATIONS
