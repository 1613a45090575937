import re
import tomllib
from pathlib import Path

import pytest

import airflow_provider_spark_operator
from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from tests.cli.verbs import Verbs

APPLICATION = """
apiVersion: spark.apache.org/v1
kind: SparkApplication
metadata: {name: pi}
spec:
  mainClass: org.apache.spark.examples.SparkPi
  jars: local:///opt/spark/examples/jars/spark-examples.jar
  runtimeVersions: {sparkVersion: 4.3.0}
  sparkConf: {spark.kubernetes.container.image: "spark:4.3.0"}
"""


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def usage_error(words: list[str], run_verb: Verbs) -> str:
    return run_verb(words, ExitCode.INVALID).err


def test_exit_codes_are_those_of_the_contract() -> None:
    assert {code.name: int(code) for code in ExitCode} == {
        "SUCCESS": 0,
        "APPLICATION_FAILED": 1,
        "INVALID": 2,
        "API_FAILED": 3,
        "TIMED_OUT": 4,
        "INFRASTRUCTURE_FAILED": 5,
        "BUDGET_EXCEEDED": 6,
        "INTERRUPTED": 130,
    }


def test_version_is_that_of_the_package(run_verb: Verbs) -> None:
    assert run_verb("--version").out == f"spark-operator {airflow_provider_spark_operator.__version__}\n"


def test_command_is_installed_as_spark_operator_and_as_plugin_of_kubectl() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    assert project["project"]["scripts"] == {
        "kubectl-spark": "airflow_provider_spark_operator.cli:main",
        "kubectl_complete-spark": "airflow_provider_spark_operator.cli.program.kubectl_completion:main",
        "spark-operator": "airflow_provider_spark_operator.cli:main",
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["fly"], "unknown verb fly. Run `spark-operator --help` for the usage", id="unknown verb"),
        pytest.param(["validate"], "missing argument FILE|DIR. Run", id="missing file"),
        pytest.param(["reconcile", "--health-port", "99999"], "--health-port: ", id="invalid port"),
        pytest.param(["reconcile", "--metrics-port", "x"], "--metrics-port: ", id="invalid metrics port"),
        pytest.param(["reconcile", "--workers", "0"], "--workers: ", id="zero workers"),
        pytest.param(
            ["reconcile", "--all-namespaces", "--namespaces", "a"],
            "--all-namespaces: not allowed with --namespaces",
            id="conflicting scopes",
        ),
        pytest.param(
            ["reconcile", "--lease", "A_B"], "invalid Lease 'A_B': must be NAME or NAMESPACE/NAME", id="invalid lease"
        ),
        pytest.param(["reconcile", "--webhook", "A_B"], "invalid object name 'A_B'", id="invalid webhook"),
        pytest.param(["reconcile", "--workers", "9" * 20], "--workers: ", id="too many workers"),
        pytest.param(["reconcile", "--namespace-selector", ""], "invalid label selector ''", id="empty selector"),
        pytest.param(
            ["reconcile", "--namespace-selector", "a b"], "invalid label selector 'a b'", id="invalid selector"
        ),
        pytest.param(["reconcile", "--kubeconfig", ""], "--kubeconfig: must not be empty", id="empty kubeconfig"),
        pytest.param(["reconcile", "--context", ""], "--context: must not be empty", id="empty context"),
        pytest.param(["reconcile", "--config", ""], "--config: must not be empty", id="empty config"),
        pytest.param(["local", "up", "--home", ""], "--home: must not be empty", id="empty home"),
        pytest.param(
            ["local", "up", "--kubeconfig", ""], "--kubeconfig: must not be empty", id="empty kubeconfig of local up"
        ),
        pytest.param(["local", "run", "x", "-n", "A_B"], "invalid namespace 'A_B'", id="invalid namespace"),
        pytest.param(["render", "x", "-n", ""], "invalid namespace ''", id="empty namespace of render"),
        pytest.param(["crds", "--kind", ""], "--kind: must not be empty", id="empty kind"),
        pytest.param(
            ["local", "run", "x", "--timeout", "0"], "--timeout: must be greater than 0", id="timeout of zero"
        ),
    ],
)
def test_usage_error_exits_with_2(words: list[str], message: str, run_verb: Verbs) -> None:
    assert message in usage_error(words, run_verb)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        pytest.param(
            ["crds", "--kind", "x"], "--kind x: unknown kind; must be one of SparkApplication", id="unknown kind"
        ),
        pytest.param(["local", "run", "none.yaml"], "none.yaml: cannot be read: no such file", id="nonexistent file"),
        pytest.param(
            ["reconcile", "--kubeconfig", "none"], "kubeconfig none does not exist", id="nonexistent kubeconfig"
        ),
        pytest.param(["reconcile", "--config", "none"], "none: cannot be read: no such file", id="nonexistent config"),
        pytest.param(
            ["reconcile", "--namespaces", "a,A_B"], "--namespaces: invalid namespace 'A_B': ", id="invalid namespace"
        ),
        pytest.param(
            ["reconcile", "--namespaces", "*"], "--namespaces: invalid namespace '*'", id="wildcard namespace"
        ),
        pytest.param(
            ["reconcile", "--namespaces", ","],
            "--namespaces: must name at least one namespace",
            id="empty namespace list",
        ),
        pytest.param(["local", "up", "--repair"], "--repair: requires --keep", id="repair without keep"),
        pytest.param(["reconcile"], "no Kubernetes cluster is configured", id="no cluster"),
    ],
)
def test_invalid_argument_prints_one_sentence(words: list[str], sentence: str, run_verb: Verbs) -> None:
    captured = run_verb(words, ExitCode.INVALID)
    assert captured.out == ""
    assert captured.err.startswith(f"spark-operator: error: {sentence}")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    "words", [["render"], ["local", "run"], ["reconcile", "--config"], ["reconcile", "--kubeconfig"]]
)
def test_directory_instead_of_a_file_is_named(words: list[str], tmp_path: Path, run_verb: Verbs) -> None:
    captured = run_verb([*words, str(tmp_path)], ExitCode.INVALID)
    (line,) = (captured.out + captured.err).splitlines()
    assert line.endswith((f"{tmp_path}: cannot be read: is a directory", f"kubeconfig {tmp_path} is not a file"))


@pytest.mark.parametrize(
    ("name", "reason"),
    [("file", "it is a file, not a folder"), ("file/x", "a part of its path is a file, not a folder")],
)
def test_unusable_home_is_a_usage_error(name: str, reason: str, tmp_path: Path, run_verb: Verbs) -> None:
    (tmp_path / "file").write_text("theirs")
    home = tmp_path / name
    assert run_verb(f"local up --home {home}", ExitCode.INVALID).err == (
        f"spark-operator: error: --home: could not use {home} as the folder of a local cluster: {reason}. "
        "Choose another folder\n"
    )


@pytest.mark.parametrize("words", [["local", "up"], ["render", "--spark-submit", "--", "--class", "a", "a.jar"]])
def test_deleted_working_directory_is_reported(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert run_verb(words, ExitCode.INVALID).err == (
        "spark-operator: error: could not read the working directory: it was deleted. Change to another directory\n"
    )


def test_local_cluster_of_the_folder_is_named_if_no_cluster_is_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".spark-local").mkdir()
    (tmp_path / ".spark-local" / "kubeconfig").touch()
    error = run_verb("list", ExitCode.INVALID).err
    assert "is in this folder: run `export KUBECONFIG=$PWD/.spark-local/kubeconfig`" in error


def test_user_without_name_and_home_gets_a_sentence(monkeypatch: pytest.MonkeyPatch, run_verb: Verbs) -> None:
    for name in ("HOME", "USER", "LOGNAME", "LNAME", "USERNAME", "HADOOP_USER_NAME"):
        monkeypatch.delenv(name, raising=False)

    def fail(_user: int) -> None:
        raise KeyError("uid not found")

    monkeypatch.setattr("pwd.getpwuid", fail)
    error = run_verb("reconcile", ExitCode.INVALID).err
    assert "no Kubernetes cluster is configured" in error
    assert "or start a local cluster: `spark-operator local up` prints the path of its kubeconfig" in error
    error = run_verb("render --spark-submit -- --class a a.jar", ExitCode.INVALID).err
    assert "HADOOP_USER_NAME: is required: the current user id has no user name" in error


def test_internal_error_exits_with_5_and_a_traceback(monkeypatch: pytest.MonkeyPatch, run_verb: Verbs) -> None:
    def fail() -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr("airflow_provider_spark_operator.cli.controller.crds.build_custom_resource_definitions", fail)
    err = run_verb("crds", ExitCode.INFRASTRUCTURE_FAILED).err
    assert err.startswith("Traceback ")
    assert err.endswith(
        "spark-operator: error: internal error: out of order. Report this error with the traceback above\n"
    )


def test_unreachable_api_exits_with_3(tmp_path: Path, run_verb: Verbs) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text("""
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {token: secret-token}}]
""")
    captured = run_verb(f"reconcile --kubeconfig {kubeconfig}", ExitCode.API_FAILED)
    assert captured.out == ""
    last = captured.err.splitlines()[-1]
    assert last.startswith("spark-operator: error: could not discover sparkapplications.spark.apache.org: ")
    assert "127.0.0.1:1" in last
    assert "secret-token" not in captured.err


def test_invalid_settings_name_the_file_and_the_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text("workers: many")
    assert main(["reconcile", "--config", str(config)]) == ExitCode.INVALID
    expected = f"spark-operator: error: {config}: workers: must be a number, not 'many'\n"
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        pytest.param("a: [", "not YAML", id="invalid YAML"),
        pytest.param(
            APPLICATION.replace("SparkApplication", "Spork"), "kind: 'Spork' is not supported", id="unknown kind"
        ),
        pytest.param(
            APPLICATION.replace("sparkVersion", "x"), "spec.runtimeVersions.sparkVersion: is req", id="missing field"
        ),
        pytest.param(
            f"{APPLICATION}---{APPLICATION}",
            "contains 2 manifests; it must contain one SparkApplication",
            id="two applications",
        ),
    ],
)
def test_invalid_application_is_refused_before_a_cluster_starts(
    content: str, sentence: str, tmp_path: Path, run_verb: Verbs
) -> None:
    path = tmp_path / "app.yaml"
    path.write_text(content)
    assert f"{path}: {sentence}" in run_verb(f"local run {path}", ExitCode.INVALID).err


def test_errors_are_coloured_on_a_terminal_or_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    main(["crds", "--kind", "x"])
    assert "\033" not in capsys.readouterr().err
    monkeypatch.setenv("FORCE_COLOR", "1")
    main(["crds", "--kind", "x"])
    assert "\033[31merror:" in capsys.readouterr().err
    monkeypatch.delenv("FORCE_COLOR")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    main(["crds", "--kind", "x"])
    assert re.search(r"\033\[31merror:\033\[0m --kind x", capsys.readouterr().err)
    monkeypatch.setenv("NO_COLOR", "1")
    main(["crds", "--kind", "x"])
    assert "\033" not in capsys.readouterr().err
