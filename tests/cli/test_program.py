"""The program: its help, its usage errors and what it imports."""

import subprocess
import sys

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.catalogue import GROUPS, VERBS
from airflow_provider_spark_operator.cli.exit_codes import ExitCode

HEAVY = ("airflow", "aiohttp", "kubernetes_asyncio", "pydantic", "rich", "yaml")


def list_imports(*words: str) -> set[str]:
    """Run the program in a new process. Return the modules that it imported."""
    program = (
        "import sys\nfrom airflow_provider_spark_operator.cli import main\n"
        "code = main(sys.argv[1:])\nprint('modules:', *sys.modules)\nsys.exit(code)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=True, timeout=90
    )
    return set(found.stdout.rpartition("modules: ")[2].split())


def test_help_lists_each_verb_and_group_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == ExitCode.SUCCESS
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    for name in [
        *(group.name for group in GROUPS),
        *(verb.name for verb in VERBS if " " not in verb.name and not verb.is_hidden),
    ]:
        assert listed.count(name) == 1


def test_help_imports_no_verb_and_nothing_slow() -> None:
    modules = list_imports("--help")
    assert not modules & {verb.module for verb in VERBS}
    assert not modules & set(HEAVY)


def test_verb_imports_no_other_verb() -> None:
    modules = list_imports("crds", "--kind", "SparkCluster")
    assert modules & {verb.module for verb in VERBS} == {"airflow_provider_spark_operator.cli.crds"}
    assert not modules & {"airflow", "aiohttp", "rich"}


def test_help_of_a_verb_has_examples_options_and_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crds", "-h"]) == ExitCode.SUCCESS
    text = capsys.readouterr().out
    assert text.startswith("Print the CustomResourceDefinitions.\n")
    assert "  spark-operator crds | kubectl apply --server-side -f -\n" in text
    assert "-o, --output yaml|json  format of the output (default: yaml)" in text


def test_missing_verb_prints_the_help_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == ExitCode.INVALID
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Usage\n  spark-operator VERB [OPTIONS]\n" in captured.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["crsd"], "unknown verb crsd: did you mean crds? Run `spark-operator --help` for the usage"),
        (["fly"], "unknown verb fly. Run `spark-operator --help` for the usage"),
        (["crds", "--knd", "x"], "unknown option --knd: did you mean --kind? Run `spark-operator crds --help`"),
        (["crds", "--kind"], "--kind: requires an argument"),
        (["crds", "-o", "xml"], "--output: 'xml' is not one of 'yaml', 'json'. Run "),
        (["crds", "x"], "got unexpected extra argument(s) (x)"),
        (["crds", "--kind", ""], "--kind: must not be empty. Run "),
    ],
    ids=" ".join,
)
def test_usage_error_is_one_line(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == ExitCode.INVALID
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith(f"spark-operator: error: {sentence}")


def test_plugin_of_kubectl_has_its_own_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/bin/kubectl-spark"])
    assert main(["crds", "--help"]) == ExitCode.SUCCESS
    text = capsys.readouterr().out
    assert "  kubectl spark crds [OPTIONS]\n" in text
    assert "spark-operator" not in text


@pytest.mark.parametrize("columns", ["1", "20", "40", "80", "300"])
def test_help_fits_the_terminal(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert main(["--help"]) == ExitCode.SUCCESS
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= max(32, int(columns))
