"""The documentation agrees with the package."""

import argparse
import re
from pathlib import Path
from textwrap import dedent

import pytest
import yaml
from airflow.sdk import DAG, BaseOperator

from airflow_provider_spark_operator.cli.base.errors import MEANINGS, ExitCode
from airflow_provider_spark_operator.cli.options.declaration import VerbOption
from airflow_provider_spark_operator.cli.program.catalogue import VERBS, Verb
from airflow_provider_spark_operator.core.kubernetes.problems import filter_errors
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.validation.validate import validate
from airflow_provider_spark_operator.provider import build_connection_fields, get_provider_info
from local_kubernetes.command import build_parser as local_kubernetes_parser
from tests.cli.parse import list_options, list_parameters

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
# Real Spark runs these programs, in tests/local and tests/cli/local.
PROGRAMS = ("# clicks.py", "# job.py", "# jobs/quality.py", "# jobs/clicks.py")
PYTHON = [
    (name, code) for name, code in _blocks("python") if not name.startswith(ELSEWHERE) and not code.startswith(PROGRAMS)
]


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


def read_section(verb: str) -> str:
    """Return the section of the command line page about a verb."""
    return COMMAND_LINE.split(f"\n## `{verb}`\n")[1].split("\n## ")[0]


def read_options(verb: str) -> set[str]:
    """Return the options in the table of the section about a verb."""
    arguments = re.findall(r"^\| (.*?[^\\]) \|", read_section(verb), re.MULTILINE)
    return {word for argument in arguments for word in re.findall(r"`(--?[a-zA-Z-]+)", argument)}


# The rules for all verbs describe them.
CLUSTER_OPTIONS = {"-n", "--namespace", "--context", "--kubeconfig"}


LISTED = [verb for verb in VERBS if not verb.is_hidden]
# The section about `diff` refers to the options of `submit`, except these.
NOT_OF_DIFF = {
    *("-o", "--output", "--dry-run", "--replace"),
    *("--wait", "--follow", "-f", "--verbose", "-q", "--quiet", "--timeout", "--max-core-hours"),
    *("--max-cost", "--prices", "--sql-format"),
}


def test_options_of_diff_are_those_of_submit() -> None:
    verbs = {verb.name: verb for verb in LISTED}
    assert list_options(verbs["diff"]) == list_options(verbs["submit"]) - NOT_OF_DIFF
    assert read_options("diff") == set()


TABLED = [verb for verb in LISTED if verb.name != "diff"]


@pytest.mark.parametrize("verb", TABLED, ids=[verb.name for verb in TABLED])
def test_page_of_the_command_line_lists_the_options_of_each_verb(verb: Verb) -> None:
    assert read_options(verb.name) - CLUSTER_OPTIONS == list_options(verb) - CLUSTER_OPTIONS


def read_row(verb: str, option: str) -> str:
    """Return the row of an option in the table of the section about a verb."""
    rows = [row for row in read_section(verb).splitlines() if re.match(rf"\| .*`{option}(?![\w-]).*[^\\] \| ", row)]
    assert len(rows) == 1, (verb, option)
    return rows[0]


# Each option whose help shows a default, computed or constant, without those that the rules for all verbs describe.
DEFAULTS = [
    pytest.param(verb.name, each.opts[-1], each.default, each.help, id=f"{verb.name} {each.opts[-1]}")
    for verb in TABLED
    for each in list_parameters(verb)
    if isinstance(each, VerbOption)
    and not CLUSTER_OPTIONS & set(each.opts)
    and (isinstance(each.default, str) or "(default: " in str(each.help))
]


@pytest.mark.parametrize(("verb", "option", "default", "text"), DEFAULTS)
def test_page_of_the_command_line_has_each_default(verb: str, option: str, default: object, text: str) -> None:
    row = read_row(verb, option)
    if "(default: " in text:  # computed: the page may explain more
        assert re.search(r"\b[Dd]efault: ", row)
    else:
        assert re.search(rf"\bdefault: `?{re.escape(str(default))}\b", row)


def test_page_of_the_command_line_lists_the_verbs_in_the_order_of_the_help() -> None:
    listed = re.findall(r"^\| \[`([a-z -]+)`\]\(#[a-z-]+\) \| (.*) \|$", COMMAND_LINE, re.MULTILINE)
    assert sorted(listed) == sorted((verb.name, verb.summary) for verb in LISTED)


def test_page_of_the_command_line_lists_the_options_of_local_kubernetes() -> None:
    (verbs,) = [each for each in local_kubernetes_parser()._actions if isinstance(each, argparse._SubParsersAction)]
    options = {option for action in verbs.choices["up"]._actions for option in action.option_strings}
    assert read_options("local-kubernetes") == options - {"-h", "--help"}


def test_page_of_exit_codes_lists_each_code() -> None:
    page = (REPOSITORY / "docs" / "reference" / "exit-codes.md").read_text()
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    assert codes == {int(code) for code in ExitCode}


def test_meaning_of_exit_code_1_includes_reconcile_check() -> None:
    page = (REPOSITORY / "docs" / "reference" / "exit-codes.md").read_text()
    (meaning,) = re.findall(r"^\| 1 \| (.*) \|$", page, re.MULTILINE)
    assert "`reconcile --check`" in meaning
    assert "reconcile --check" in MEANINGS[ExitCode.APPLICATION_FAILED]


def test_page_of_exit_codes_lists_each_verb() -> None:
    page = (REPOSITORY / "docs" / "reference" / "exit-codes.md").read_text()
    rows = dict(re.findall(r"^\| `([a-z ]+)` \| ([\d, ]+) \|", page, re.MULTILINE))
    assert sorted(rows) == sorted(verb.name for verb in LISTED)
    codes = {str(int(code)) for code in ExitCode}
    assert all(set(listed.split(", ")) <= codes for listed in rows.values())


def test_synopsis_of_reconcile_has_every_option() -> None:
    (verb,) = [verb for verb in VERBS if verb.name == "reconcile"]
    synopsis = (REPOSITORY / "docs" / "operations" / "controller.md").read_text().split("```")[1]
    assert list_options(verb) == set(re.findall(r"--[a-z-]+", synopsis))


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
