"""The program: its help, its usage errors and what it imports."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.cli.program.catalogue import GROUPS, VERBS
from airflow_provider_spark_operator.cli.program.program import import_verb
from tests.cli.verbs import Verbs

HEAVY = {"airflow", "aiohttp", "jinja2", "kubernetes", "kubernetes_asyncio", "pydantic", "rich", "yaml"}
MODELS_AND_YAML = {"pydantic", "yaml"}

VALID = """
apiVersion: spark.apache.org/v1
kind: SparkApplication
metadata: {name: pi}
spec:
  pyFiles: local:///opt/app.py
  runtimeVersions: {sparkVersion: 4.3.0}
  sparkConf: {spark.kubernetes.container.image: "apache/spark:4.3.0"}
"""
MODULE = """
import gc, os
is_collecting = gc.isenabled()
plugins = os.environ.get("PYDANTIC_DISABLE_PLUGINS")
"""


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


def list_imports_of(library: str) -> set[str]:
    """Import a library in a new process. Return the modules that it imported."""
    program = f"import sys, {library}; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=90)
    return set(found.stdout.split())


@pytest.fixture(scope="module")
def imports_of_pydantic() -> set[str]:
    """The modules that pydantic imports at once. Some of its versions import asyncio."""
    return list_imports_of("pydantic")


def test_help_lists_each_verb_and_group_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == ExitCode.SUCCESS
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    for name in [
        *(group.name for group in GROUPS),
        *(verb.name for verb in VERBS if " " not in verb.name and not verb.is_hidden),
    ]:
        assert listed.count(name) == 1


@pytest.mark.parametrize("words", [["--help"], ["version"], ["--version"]], ids=" ".join)
def test_help_and_version_import_nothing_slow(words: list[str]) -> None:
    modules = list_imports(*words)
    assert not modules & {verb.module for verb in VERBS if verb.name not in words}
    assert not modules & HEAVY


def test_validate_imports_the_models_but_no_client(tmp_path: Path, imports_of_pydantic: set[str]) -> None:
    file = tmp_path / "pi.yaml"
    file.write_text(VALID)
    modules = list_imports("validate", str(file))
    assert not modules & (HEAVY | {"asyncio"}) - MODELS_AND_YAML - imports_of_pydantic
    assert "airflow_provider_spark_operator.core.dialects.dialect" not in modules


def test_help_of_every_verb_imports_no_airflow() -> None:
    program = (
        "import sys\nfrom airflow_provider_spark_operator.cli import main\n"
        "from airflow_provider_spark_operator.cli.program.catalogue import VERBS\n"
        "codes = [main([*verb.name.split(), '--help']) for verb in VERBS]\n"
        "print('codes:', *map(int, codes))\nprint('modules:', *sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=90)
    codes, _, modules = found.stdout.rpartition("codes: ")[2].partition("\nmodules: ")
    assert codes.split() == ["0"] * len(VERBS)
    assert not {name for name in modules.split() if name == "airflow" or name.startswith("airflow.")}


def test_verb_imports_no_other_verb() -> None:
    modules = list_imports("crds", "--kind", "SparkCluster")
    assert modules & {verb.module for verb in VERBS} == {"airflow_provider_spark_operator.cli.controller.crds"}
    assert not modules & {"airflow", "aiohttp", "rich"}


def test_help_of_a_verb_has_examples_options_and_defaults(run_verb: Verbs) -> None:
    text = run_verb("crds -h").out
    assert text.startswith("Print the CustomResourceDefinitions.\n")
    assert "  spark-operator crds | kubectl apply --server-side -f -\n" in text
    assert "-o, --output yaml|json  format of the output (default: yaml)" in text


def test_missing_verb_prints_the_help_to_stderr(run_verb: Verbs) -> None:
    captured = run_verb([], ExitCode.INVALID)
    assert captured.out == ""
    assert "Usage\n  spark-operator VERB [OPTIONS]\n" in captured.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["crsd"], "unknown verb crsd: did you mean crds? Run `spark-operator --help` for the usage"),
        (["fly"], "unknown verb fly. Run `spark-operator --help` for the usage"),
        (["crds", "--knd", "x"], "unknown option --knd: did you mean --kind? Run `spark-operator crds --help`"),
        (["crds", "--kind", ""], "--kind: must not be empty. Run "),
    ],
    ids=" ".join,
)
def test_usage_error_is_one_line(words: list[str], sentence: str, run_verb: Verbs) -> None:
    captured = run_verb(words, ExitCode.INVALID)
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith(f"spark-operator: error: {sentence}")


@pytest.mark.parametrize(
    ("words", "subject"),
    [
        (["crds", "--kind"], "--kind: "),
        (["crds", "-o", "xml"], "--output: "),
        (["crds", "x"], ""),
        (["local", "up", "--home"], "--home: "),
    ],
    ids=" ".join,
)
def test_usage_error_names_the_option_and_where_the_help_is(words: list[str], subject: str, run_verb: Verbs) -> None:
    captured = run_verb(words, ExitCode.INVALID)
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    verb = " ".join(words[:2] if words[0] == "local" else words[:1])
    assert line.startswith(f"spark-operator: error: {subject}")
    assert line.endswith(f". Run `spark-operator {verb} --help` for the usage")


def test_errors_of_the_kubectl_plugin_begin_with_its_name(monkeypatch: pytest.MonkeyPatch, run_verb: Verbs) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/bin/kubectl-spark"])
    error = run_verb("fly", ExitCode.INVALID).err
    assert error == "kubectl spark: error: unknown verb fly. Run `kubectl spark --help` for the usage\n"


def test_plugin_of_kubectl_has_its_own_name(monkeypatch: pytest.MonkeyPatch, run_verb: Verbs) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/bin/kubectl-spark"])
    text = run_verb("crds --help").out
    assert "  kubectl spark crds [OPTIONS]\n" in text
    assert "spark-operator" not in text


@pytest.mark.parametrize("columns", ["1", "20", "40", "80", "300"])
def test_help_fits_the_terminal(columns: str, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    text = run_verb("--help").out
    assert max(map(len, text.splitlines())) <= max(32, int(columns))


@pytest.mark.parametrize("wanted", [None, "logfire"])
def test_collection_and_plugins_are_disabled_only_during_the_import(
    wanted: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"verb_with_{wanted}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("PYDANTIC_DISABLE_PLUGINS", raising=False)
    if wanted:
        monkeypatch.setenv("PYDANTIC_DISABLE_PLUGINS", wanted)
    module = import_verb(name)
    assert module.is_collecting is False
    assert module.plugins == (wanted or "__all__")
    assert gc.isenabled()
    assert os.environ.get("PYDANTIC_DISABLE_PLUGINS") == wanted


def test_missing_package_is_reported_with_the_command_of_a_clone() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; sys.modules['local_kubernetes'] = None\n"
            "from airflow_provider_spark_operator.cli import main\nsys.exit(main(['local', 'up']))",
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == ExitCode.INVALID
    message = " ".join(done.stderr.split())
    assert "missing package local_kubernetes" in message
    assert message.endswith(
        "To install it, run `pip install 'airflow-provider-spark-operator[local]'`, "
        "or in a clone of the repository `pip install ./packages/local-kubernetes '.[local]'`"
    )


def test_failed_import_enables_collection_and_plugins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYDANTIC_DISABLE_PLUGINS", raising=False)
    with pytest.raises(ModuleNotFoundError):
        import_verb("no_such_verb")
    assert gc.isenabled()
    assert "PYDANTIC_DISABLE_PLUGINS" not in os.environ


def test_validation_of_an_application_imports_neither_airflow_nor_clients_nor_models_of_clusters(
    tmp_path: Path,
) -> None:
    manifest = subprocess.run(
        [sys.executable, "-m", "airflow_provider_spark_operator.cli", "init"], capture_output=True, check=True
    )
    (tmp_path / "pi.yaml").write_bytes(manifest.stdout)
    # Older versions of pydantic and typing_extensions import asyncio themselves.
    code = (
        "import sys, pydantic, pydantic_core.core_schema\nbefore = set(sys.modules)\n"
        "from airflow_provider_spark_operator.cli import main\n"
        f"assert main(['validate', {str(tmp_path / 'pi.yaml')!r}]) == 0\nprint(*(set(sys.modules) - before))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(run.stdout.split())
    assert "airflow_provider_spark_operator.core.models.application" in imported
    package = "airflow_provider_spark_operator"
    assert imported.isdisjoint(
        {"airflow", "aiohttp", "asyncio", "kubernetes", "rich", f"{package}.core.models.cluster"}
    )
