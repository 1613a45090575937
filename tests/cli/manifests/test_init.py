import re
import runpy
from pathlib import Path

import pytest
import yaml
from airflow.sdk import DAG

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.convert.document import convert_document
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from tests.cli.verbs import Verbs


@pytest.mark.parametrize("options", [[], ["--kubeflow"]], ids=["apache", "kubeflow"])
def test_written_manifest_is_valid_without_warnings(options: list[str], tmp_path: Path, run_verb: Verbs) -> None:
    file = tmp_path / "app.yaml"
    captured = run_verb(["init", str(file), "--name", "on", *options])
    assert (captured.out, captured.err) == ("", f"spark-operator: wrote {file}\n")
    assert yaml.safe_load(file.read_text())["metadata"] == {"name": "on"}
    assert main(["validate", "--strict", str(file)]) == ExitCode.SUCCESS


def print_starter(run_verb: Verbs, *options: str) -> str:
    return run_verb(["init", *options]).out


def test_image_is_that_of_the_tutorial(run_verb: Verbs) -> None:
    tutorial = Path(__file__).parents[3] / "docs" / "get-started" / "tutorial.md"
    documented = set(re.findall(r'image="([^"]+)"', tutorial.read_text()))
    choices = ((), ("--kubeflow",), ("--dag",), ("--dag", "--kubeflow"))
    starters = "".join(print_starter(run_verb, *options) for options in choices)
    assert set(re.findall(r"""\S*spark:[\d.]+""", starters.replace('"', " "))) == documented


def test_printed_manifest_renders(tmp_path: Path, run_verb: Verbs) -> None:
    file = tmp_path / "app.yaml"
    file.write_text(print_starter(run_verb))
    captured = run_verb(f"render {file}")
    assert captured.err == ""
    kinds = [document["kind"] for document in yaml.safe_load_all(captured.out)]
    assert kinds.count("Pod") == 1


def test_manifest_of_kubeflow_is_that_of_apache(run_verb: Verbs) -> None:
    (conversion,) = convert_document(yaml.safe_load(print_starter(run_verb, "--kubeflow")))
    converted = conversion.document
    assert converted is not None
    conf = converted["spec"]["sparkConf"]
    expected = yaml.safe_load(print_starter(run_verb))["spec"]
    assert {key: conf[key] for key in expected["sparkConf"]} == expected["sparkConf"]
    assert converted["spec"]["pyFiles"] == expected["pyFiles"]


@pytest.mark.parametrize("options", [[], ["--kubeflow"]], ids=["apache", "kubeflow"])
def test_dag_is_parsed_with_one_task(options: list[str], tmp_path: Path) -> None:
    file = tmp_path / "dag.py"
    assert main(["init", "--dag", str(file), "--name", "daily-report", *options]) == ExitCode.SUCCESS
    dag = runpy.run_path(str(file))["dag"]
    assert isinstance(dag, DAG)
    (task,) = dag.tasks
    assert isinstance(task, SparkApplicationOperator)
    assert (dag.dag_id, task.task_id) == ("spark_daily_report", "daily-report")
    assert task.api_version == ("sparkoperator.k8s.io/v1beta2" if options else None)


def test_existing_file_is_kept(tmp_path: Path, run_verb: Verbs) -> None:
    file = tmp_path / "app.yaml"
    file.write_text("mine")
    assert f"could not write {file}: it exists" in run_verb(f"init {file}", ExitCode.INVALID).err
    assert file.read_text() == "mine"


def test_folder_that_does_not_exist_is_named(tmp_path: Path, run_verb: Verbs) -> None:
    assert "No such file or directory" in run_verb(["init", str(tmp_path / "none" / "app.yaml")], ExitCode.INVALID).err


def test_dag_runs_the_given_script(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    script, dag = tmp_path / "jobs" / "daily_report.py", tmp_path / "dag.py"
    script.write_text("print(1)\n")
    assert main(["init", "--dag", str(dag), "--py-file", str(script)]) == ExitCode.SUCCESS
    (task,) = runpy.run_path(str(dag))["dag"].tasks
    assert (task.task_id, task.py_file, task.arguments) == ("daily-report", "jobs/daily_report.py", None)
    other = tmp_path / "dags"
    other.mkdir()
    assert main(["init", "--dag", str(other / "dag.py"), "--py-file", str(script), "--name", "a"]) == ExitCode.SUCCESS
    (task,) = runpy.run_path(str(other / "dag.py"))["dag"].tasks
    assert (task.task_id, task.py_file) == ("a", str(script))


@pytest.mark.parametrize("options", [[], ["--kubeflow"]], ids=["apache", "kubeflow"])
def test_dag_runs_a_script_with_a_uri(options: list[str], tmp_path: Path) -> None:
    dag = tmp_path / "dag.py"
    words = ["init", "--dag", str(dag), "--py-file", "s3a://jobs/report.py", *options]
    assert main(words) == ExitCode.SUCCESS
    assert "ships this file" not in dag.read_text()
    (task,) = runpy.run_path(str(dag))["dag"].tasks
    assert (task.task_id, task.py_file) == ("report", "s3a://jobs/report.py")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--py-file", "report.py"],
            "--py-file: requires --dag. To run a script without a DAG, use `spark-operator submit`",
        ),
        (["--dag", "--py-file", "none.py"], "--py-file: none.py does not exist"),
        (["--dag", "--kubeflow", "--py-file", "report.py"], "Give a URI, for example s3a://jobs/a.py"),
    ],
    ids=["manifest", "missing", "kubeflow"],
)
def test_unusable_script_is_refused(
    options: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run_verb: Verbs,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.py").write_text("print(1)\n")
    captured = run_verb(["init", *options], ExitCode.INVALID)
    assert captured.out == ""
    assert message in captured.err
