"""What the documentation says is what the package does."""

import re
from pathlib import Path

import pytest
import yaml
from airflow.sdk import DAG, BaseOperator

from airflow_provider_spark_operator.cli.arguments import EXIT_CODES, build_parser
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.core.problems import errors_of
from airflow_provider_spark_operator.core.validation.validate import validate

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]


def _blocks(language: str) -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        texts = re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
        found += [(f"{page.name}-{number}", text) for number, text in enumerate(texts, 1)]
    return found


# The tests on the page about testing are run in test_code_blocks, the tutorial's files in test_tutorial.
ELSEWHERE = ("testing.md", "tutorial.md")
PYTHON = [(name, code) for name, code in _blocks("python") if not name.startswith(ELSEWHERE)]


def test_the_pages_have_python_to_try() -> None:
    assert len(PYTHON) >= 3


@pytest.mark.parametrize("code", [code for _, code in PYTHON], ids=[name for name, _ in PYTHON])
def test_a_python_block_makes_tasks_that_airflow_accepts(code: str) -> None:
    names: dict[str, object] = {}
    with DAG("documentation"):
        exec(compile(code, "documentation", "exec"), names)
    dags = [value for value in names.values() if isinstance(value, DAG)]
    assert any(issubclass(value, BaseOperator) for value in names.values() if isinstance(value, type)) or dags


def test_the_exit_codes_of_the_page_are_those_of_the_command() -> None:
    page = (REPOSITORY / "docs" / "reference" / "command-line.md").read_text()
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)} == {int(code) for code in ExitCode}


def test_exit_code_1_names_the_check_of_reconcile_on_the_page_and_in_the_help() -> None:
    page = (REPOSITORY / "docs" / "reference" / "command-line.md").read_text()
    (meaning,) = re.findall(r"^\| 1 \| (.*) \|$", page, re.MULTILINE)
    assert "`reconcile --check`" in meaning
    assert "reconcile --check" in EXIT_CODES.partition("1 ")[2].partition("2 ")[0]


def test_synopsis_of_reconcile_has_every_option() -> None:
    verbs = next(action.choices for action in build_parser("0")._actions if isinstance(action.choices, dict))
    options = {option for action in verbs["reconcile"]._actions for option in action.option_strings}
    synopsis = (REPOSITORY / "docs" / "operations" / "reconcile.md").read_text().split("```")[1]
    assert options - {"-h", "--help"} == set(re.findall(r"--[a-z-]+", synopsis))


def test_every_option_of_reconcile_is_on_the_page() -> None:
    page = (REPOSITORY / "docs" / "reference" / "command-line.md").read_text()
    command = build_parser("0").parse_args  # the parser knows its verbs only by use
    options = re.findall(r"`(--[a-z-]+)", page.split("## `reconcile`")[1].split("## `local")[0])
    for option in {"--namespaces", "--namespace-selector", "--all-namespaces"} & set(options):
        given = [] if option == "--all-namespaces" else ["x"]
        assert command(["reconcile", option, *given]).module == "reconcile"
    values = {
        "--config": "f",
        "--health-port": "0",
        "--metrics-port": "0",
        "--workers": "3",
        "--log-format": "json",
    }
    for option in set(options) & set(values):
        assert command(["reconcile", option, values[option]]).module == "reconcile"
    assert set(options) >= {"--namespaces", "--config", "--workers", "--log-format", "--health-port"}


@pytest.mark.parametrize(
    "manifest", sorted((REPOSITORY / "docs" / "manifests").glob("*.yaml")), ids=lambda path: path.name
)
def test_a_manifest_grants_no_wildcard(manifest: Path) -> None:
    rules = [rule for document in yaml.safe_load_all(manifest.read_text()) for rule in document.get("rules", [])]
    assert rules
    assert not any("*" in words for rule in rules for words in rule.values())


APPLICATIONS = [(name, text) for name, text in _blocks("yaml") if "kind: SparkApplication" in text]


@pytest.mark.parametrize("text", [text for _, text in APPLICATIONS], ids=[name for name, _ in APPLICATIONS])
def test_an_application_on_a_page_is_valid(text: str) -> None:
    document = yaml.safe_load(text)
    document.setdefault("metadata", {}).setdefault("name", "documentation")
    assert errors_of(validate(document)) == []


def test_the_pages_have_applications_to_try() -> None:
    assert APPLICATIONS
