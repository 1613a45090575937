import io
import json
import sys
from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from tests.cli.program.test_main import APPLICATION
from tests.cli.verbs import Verbs


@pytest.fixture
def application(tmp_path: Path) -> Path:
    path = tmp_path / "app.yaml"
    path.write_text(APPLICATION)
    return path


def test_valid_resources_are_counted(application: Path, run_verb: Verbs) -> None:
    assert run_verb(f"validate {application}").out == "1 resource valid\n"
    assert run_verb(["validate", str(application), str(application)]).out == "2 resources valid\n"


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch, run_verb: Verbs) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"kind: Spork")))
    assert run_verb("validate -", ExitCode.INVALID).out.startswith(
        "standard input:1:1: error: Spork: kind: 'Spork' is not supported"
    )


def test_every_problem_of_every_file_is_one_line(tmp_path: Path, run_verb: Verbs) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(f"{APPLICATION.replace('sparkVersion: 4.3.0', 'sparkVersion: 4.3')}---\nkind: Spork\n---\na: [")
    missing = tmp_path / "none.yaml"
    lines = run_verb(["validate", str(bad), str(missing)], ExitCode.INVALID).out.splitlines()
    assert [line.split(" is ")[0].split(" must ")[0] for line in lines[:2]] == [
        f"{bad}:8:21: error: SparkApplication pi: spec.runtimeVersions.sparkVersion:",
        f"{bad}:11:1: error: Spork: kind: 'Spork'",
    ]
    assert lines[2].startswith(f"{bad}:13:5: error: not YAML: ")
    assert lines[3] == f"{missing}: error: cannot be read: no such file or directory"
    assert len(lines) == 4


def test_one_invalid_file_fails_the_command(application: Path, tmp_path: Path) -> None:
    assert main(["validate", str(application), str(tmp_path / "none")]) == ExitCode.INVALID


def test_json_output_has_every_problem(tmp_path: Path, run_verb: Verbs) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(APPLICATION.replace("mainClass", "mainKlass"))
    result = json.loads(run_verb(f"validate {bad} -o json", ExitCode.INVALID).out)
    assert (result["valid"], result["documents"]) == (False, 1)
    problem, unknown = result["problems"]
    assert unknown["message"] == "is not a field of spec: did you mean mainClass?"
    assert problem["severity"] == "error"
    assert problem["file"] == str(bad)
    assert (problem["line"], problem["column"]) == (5, 1)
    assert (unknown["line"], unknown["column"]) == (6, 3)
    assert problem["resource"] == "SparkApplication pi"
    assert problem["path"] == "spec.mainClass"
    assert problem["message"].startswith("is required")


def test_json_names_a_file_whose_name_contains_a_colon(tmp_path: Path, run_verb: Verbs) -> None:
    missing = tmp_path / "a: b.yaml"
    (problem,) = json.loads(run_verb(["validate", str(missing), "-o", "json"], ExitCode.INVALID).out)["problems"]
    assert (problem["file"], problem["message"]) == (str(missing), "cannot be read: no such file or directory")


def test_spark_cluster_is_validated_by_its_own_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "cluster.yaml"
    bad.write_text(
        "apiVersion: spark.apache.org/v1\nkind: SparkCluster\nmetadata: {name: cl}\nspec:\n"
        "  runtimeVersions: {sparkVersion: 4.1.0}\n"
        "  clusterTolerations: {instanceConfig: {initWorkers: 1, minWorkers: 3, maxWorkers: 2}}\n"
    )
    assert main(["validate", str(bad)]) == ExitCode.INVALID
    place = "SparkCluster cl: spec.clusterTolerations.instanceConfig.minWorkers"
    assert capsys.readouterr().out == f"{bad}:6:57: error: {place}: is 3, more than maxWorkers (2)\n"


@pytest.mark.parametrize(
    ("value", "path", "message"),
    [
        (".inf", "", "not YAML: invalid float: put the value in quotes"),
        ("{~: a}", "", "not YAML: the key '~' is not a string: put the key in quotes"),
        ("&y [*y]", "", "not usable: a value that contains itself"),
        ("!!timestamp x", "", "not YAML: "),
        ("[" * 3000, "", "not usable: more than 100 levels"),
    ],
    ids=["infinity", "key", "itself", "tag", "nesting"],
)
def test_yaml_without_json_equivalent_is_a_problem(
    value: str, path: str, message: str, tmp_path: Path, run_verb: Verbs
) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(f"{APPLICATION.rstrip()}\n  x: {value}\n")
    (line,) = run_verb(f"validate {bad}", ExitCode.INVALID).out.splitlines()
    assert line.startswith(str(bad))
    assert path in line
    assert message in line


def test_warnings_are_labelled_and_do_not_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    file = tmp_path / "app.yaml"
    file.write_text(APPLICATION + "  applicationTolerations: {ttlAfterStopMillis: -5}\n")
    assert main(["validate", str(file)]) == ExitCode.SUCCESS
    place = f"{file}:10:28: warning: SparkApplication pi: spec.applicationTolerations.ttlAfterStopMillis"
    assert (
        capsys.readouterr().out
        == f"{place}: is -5, which has the same meaning as -1 (never): use -1\n1 resource valid\n"
    )
    result = json.loads(run_verb(f"validate {file} -o json").out)
    assert result["valid"] is True
    assert [problem["severity"] for problem in result["problems"]] == ["warning"]


def test_duplicate_key_is_an_error_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "app.yaml"
    file.write_text(APPLICATION + "  mainClass: B\n")
    assert main(["validate", str(file)]) == ExitCode.INVALID
    expected = f"{file}:10:3: error: not usable: duplicate key 'mainClass', already defined in line 6\n"
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize("is_folder", [False, True])
def test_duplicate_keys_do_not_hide_other_problems(is_folder: bool, tmp_path: Path, run_verb: Verbs) -> None:
    file = tmp_path / "app.yaml"
    file.write_text(
        APPLICATION + "  mainClass: B\n  mainClass: 3\n  jar: a\n---\n" + CONFIG_MAP.strip() + "\nkind: Secret\n"
    )
    lines = run_verb(["validate", str(tmp_path if is_folder else file)], ExitCode.INVALID).out.splitlines()
    assert [line.removeprefix(f"{file}:").partition(":")[0] for line in lines[:4]] == ["10", "11", "11", "12"]
    assert sum("duplicate key 'mainClass', already defined in line 6" in line for line in lines) == 2
    assert sum("duplicate key 'kind'" in line for line in lines) == 1
    assert any("spec.mainClass: must be a string" in line for line in lines)
    assert any("spec.jar" in line for line in lines)


def test_kubeflow_application_is_validated_by_its_own_rules(tmp_path: Path, run_verb: Verbs) -> None:
    file = tmp_path / "app.yaml"
    file.write_text("{apiVersion: sparkoperator.k8s.io/v1beta2, kind: SparkApplication, metadata: {name: a}, spec: {}}")
    assert "spec.mainApplicationFile: is required" in run_verb(f"validate {file}", ExitCode.INVALID).out


SCHEDULED = """\
apiVersion: sparkoperator.k8s.io/v1beta2
kind: ScheduledSparkApplication
metadata: {name: nightly}
spec:
  schedule: "@daily"
  template:
    {type: Python, sparkVersion: 4.0.0, mainApplicationFile: "local:///a.py", driver: {}, executor: {instnces: 2}}
"""
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


def test_scheduled_application_is_validated(tmp_path: Path, run_verb: Verbs) -> None:
    file = tmp_path / "schedule.yaml"
    file.write_text(SCHEDULED)
    warning, result = run_verb(f"validate {file}").out.splitlines()
    assert warning.startswith(
        f"{file}:7:102: warning: ScheduledSparkApplication nightly: spec.template.executor.instnces:"
    )
    assert warning.endswith("did you mean instances?")
    assert result == "1 resource valid"
    file.write_text(SCHEDULED.replace("@daily", "@dayly"))
    assert main(["validate", str(file)]) == ExitCode.INVALID


def test_items_of_a_list_are_validated_with_their_positions(tmp_path: Path, run_verb: Verbs) -> None:
    file = tmp_path / "list.yaml"
    items = "".join(f"- {text.strip()}\n".replace("\n", "\n  ").rstrip() + "\n" for text in (CONFIG_MAP, SCHEDULED))
    file.write_text(f"apiVersion: v1\nkind: List\nitems:\n{items}")
    captured = run_verb(f"validate {file}")
    assert captured.out.startswith(f"{file}:13:104: warning: ScheduledSparkApplication nightly:")
    assert captured.out.endswith("\n1 resource valid\n")
    assert "skipped resources that are not Spark resources: 1" in captured.err
    assert main(["validate", str(tmp_path)]) == ExitCode.SUCCESS
    file.write_text("apiVersion: v1\nkind: List\n")
    assert "kind: 'List' is not supported" in run_verb(f"validate {file}", ExitCode.INVALID).out


def test_other_kinds_are_left_out_unless_a_file_has_only_those(tmp_path: Path, run_verb: Verbs) -> None:
    file = tmp_path / "mixed.yaml"
    file.write_text(f"{CONFIG_MAP}---\n{APPLICATION}")
    assert "skipped resources that are not Spark resources: 1" in run_verb(f"validate {file}").err
    file.write_text(CONFIG_MAP)
    assert "kind: 'ConfigMap' is not supported" in run_verb(f"validate {file}", ExitCode.INVALID).out


def test_position_is_that_of_the_field_in_every_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "apps.yaml"
    file.write_text(
        "# two API groups\n"
        + APPLICATION.replace("sparkConf: {", "sparkConf: {spark.driver.memory: 1gigs, ").rstrip()
        + "\n  driverSpec:\n    podTemplateSpec:\n      spec:\n        containers:\n"
        + "        - name: a\n          imag: x\n"
        + "---\napiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {name: b}\n"
        + "spec:\n  type: Pyton\n  driver: {}\n  executor: {}\n  sparkVersion: 4.0.0\n"
    )
    assert main(["validate", str(file), "-o", "json"]) == ExitCode.INVALID
    lines = file.read_text().splitlines()
    found = {
        problem["path"]: lines[problem["line"] - 1][problem["column"] - 1 :].partition(":")[0]
        for problem in json.loads(capsys.readouterr().out)["problems"]
    }
    assert found == {
        "spec.sparkConf['spark.driver.memory']": "spark.driver.memory",
        "spec.driverSpec.podTemplateSpec.spec.containers[0].imag": "imag",
        "spec.type": "type",
        "spec.mainApplicationFile": "spec",
    }


def test_strict_makes_warnings_errors(tmp_path: Path, run_verb: Verbs) -> None:
    file = tmp_path / "app.yaml"
    file.write_text(APPLICATION + "  applicationTolerations: {ttlAfterStopMillis: -5}\n")
    (line,) = run_verb(f"validate {file} --strict", ExitCode.INVALID).out.splitlines()
    assert ": warning: " in line
    assert json.loads(run_verb(f"validate {file} --strict -o json", ExitCode.INVALID).out)["valid"] is False


def test_strict_accepts_resources_without_problems(application: Path) -> None:
    assert main(["validate", str(application), "--strict"]) == ExitCode.SUCCESS


def test_folder_is_validated_without_resources_of_other_kinds(tmp_path: Path, run_verb: Verbs) -> None:
    (tmp_path / "jobs" / ".git").mkdir(parents=True)
    (tmp_path / "jobs" / ".git" / "bad.yaml").write_text("a: [")
    (tmp_path / "jobs" / "bad.yml").write_text(APPLICATION.replace("mainClass", "mainKlass"))
    (tmp_path / "jobs" / "pod.json").write_text('{"apiVersion": "v1", "kind": "Pod"}')
    (tmp_path / "notes.txt").write_text("a: [")
    (tmp_path / "app.yaml").write_text(f"{APPLICATION}---\napiVersion: v1\nkind: ConfigMap\n")
    captured = run_verb(f"validate {tmp_path}", ExitCode.INVALID)
    assert {line.partition(":")[0] for line in captured.out.splitlines()} == {str(tmp_path / "jobs" / "bad.yml")}
    assert captured.err == "spark-operator: skipped resources that are not Spark resources: 2\n"
    (tmp_path / "jobs" / "bad.yml").unlink()
    assert run_verb(f"validate {tmp_path}").out == "1 resource valid\n"


def test_folder_without_manifests_is_invalid(tmp_path: Path, run_verb: Verbs) -> None:
    printed = run_verb(f"validate {tmp_path}", ExitCode.INVALID).out
    assert printed == f"{tmp_path}: error: contains no file with the suffix .yaml, .yml, .json\n"


def test_severity_has_a_colour_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    missing = tmp_path / "none.yaml"
    assert run_verb(f"validate {missing}", ExitCode.INVALID).out.startswith(
        f"{missing}: \x1b[31merror:\x1b[0m cannot be read"
    )
