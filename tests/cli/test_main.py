import re
import tomllib
from pathlib import Path

import pytest

import airflow_provider_spark_operator
from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.exit_codes import ExitCode

APPLICATION = """
apiVersion: spark.apache.org/v1
kind: SparkApplication
metadata: {name: pi}
spec:
  mainClass: org.apache.spark.examples.SparkPi
  jars: local:///opt/spark/examples/jars/spark-examples.jar
  runtimeVersions: {sparkVersion: 4.3.0}
"""


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def usage_error(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == ExitCode.INVALID
    return capsys.readouterr().err


def test_the_exit_codes_are_the_contract() -> None:
    assert {code.name: int(code) for code in ExitCode} == {
        "SUCCESS": 0,
        "APPLICATION_FAILED": 1,
        "INVALID": 2,
        "API_FAILED": 3,
        "TIMED_OUT": 4,
        "INFRASTRUCTURE_FAILED": 5,
        "INTERRUPTED": 130,
    }


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"spark-operator {airflow_provider_spark_operator.__version__}\n"


def test_the_command_is_installed_as_spark_operator() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert project["project"]["scripts"] == {"spark-operator": "airflow_provider_spark_operator.cli:main"}


@pytest.mark.parametrize(
    "verb", [[], ["reconcile"], ["local"], ["local", "up"], ["local", "run"], ["crds"], ["validate"]]
)
def test_every_verb_has_help_with_the_exit_codes(verb: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*verb, "-h"])
    assert caught.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    assert verb == ["local"] or "exit codes: 0 success" in text or verb == ["local"]
    assert text.startswith(" ".join(["usage: spark-operator", *verb]))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param([], "VERB", id="no verb"),
        pytest.param(["fly"], "invalid choice: 'fly'", id="unknown verb"),
        pytest.param(["validate"], "FILE", id="no file"),
        pytest.param(["local"], "ACTION", id="no action"),
        pytest.param(["reconcile", "--health-port", "99999"], "'99999' is no port", id="no port"),
        pytest.param(["reconcile", "--metrics-port", "x"], "'x' is no port", id="no metrics port"),
        pytest.param(["reconcile", "--workers", "0"], "'0' is no number of 1 or more", id="no workers"),
        pytest.param(["reconcile", "--all-namespaces", "--namespaces", "a"], "not allowed with", id="two scopes"),
        pytest.param(["local", "run", "x", "--timeout", "-1"], "'-1' is no number of seconds", id="no time"),
    ],
)
def test_wrong_usage_ends_with_2(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert message in usage_error(words, capsys)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        pytest.param(["crds", "--kind", "x"], "--kind x: unknown; give one of SparkApplication", id="kind"),
        pytest.param(["local", "run", "none.yaml"], "none.yaml: cannot be read: no such file", id="file"),
        pytest.param(["reconcile", "--kubeconfig", "none"], "kubeconfig none does not exist", id="kubeconfig"),
        pytest.param(["reconcile", "--config", "none"], "none: cannot be read: no such file", id="config"),
        pytest.param(["reconcile", "--namespaces", ","], "--namespaces: names no namespace", id="no namespace"),
        pytest.param(["reconcile"], "no Kubernetes cluster is configured", id="no cluster"),
    ],
)
def test_what_cannot_work_is_said_in_one_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == ExitCode.INVALID
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"spark-operator: error: {sentence}")
    assert captured.err.count("\n") == 1


def test_an_api_that_is_down_ends_with_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text("""
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {token: secret-token}}]
""")
    assert main(["reconcile", "--kubeconfig", str(kubeconfig)]) == ExitCode.API_FAILED
    captured = capsys.readouterr()
    assert captured.out == ""
    last = captured.err.splitlines()[-1]
    assert last.startswith("spark-operator: error: cannot get sparkapplications.spark.apache.org ")
    assert "127.0.0.1:1" in last
    assert "secret-token" not in captured.err


def test_wrong_settings_name_file_and_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text("workers: many")
    assert main(["reconcile", "--config", str(config)]) == ExitCode.INVALID
    expected = f"spark-operator: error: {config}: workers: a number is wanted, not 'many'\n"
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        pytest.param("a: [", "not YAML", id="not YAML"),
        pytest.param(APPLICATION.replace("SparkApplication", "Spork"), "kind: 'Spork' is not known", id="kind"),
        pytest.param(APPLICATION.replace("sparkVersion", "x"), "spec.runtimeVersions.sparkVersion: is req", id="field"),
        pytest.param(f"{APPLICATION}---{APPLICATION}", "holds 2 documents; give one application", id="two"),
    ],
)
def test_a_bad_application_is_refused_before_a_cluster_starts(
    content: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "app.yaml"
    path.write_text(content)
    assert main(["local", "run", str(path)]) == ExitCode.INVALID
    assert capsys.readouterr().err.startswith(f"spark-operator: error: {path}: {sentence}")


def test_errors_are_coloured_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    main(["crds", "--kind", "x"])
    assert "\033" not in capsys.readouterr().err
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    main(["crds", "--kind", "x"])
    assert re.search(r"\033\[31merror:\033\[0m --kind x", capsys.readouterr().err)
    monkeypatch.setenv("NO_COLOR", "1")
    main(["crds", "--kind", "x"])
    assert "\033" not in capsys.readouterr().err
