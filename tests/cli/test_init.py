import runpy
from pathlib import Path

import pytest
import yaml
from airflow.sdk import DAG

from airflow_provider_spark_operator.cli import main, starters
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.core.convert.document import convert_document
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator


@pytest.mark.parametrize("options", [[], ["--kubeflow"]], ids=["apache", "kubeflow"])
def test_written_manifest_is_valid_without_warnings(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "app.yaml"
    assert main(["init", str(file), "--name", "daily-report", *options]) == ExitCode.SUCCESS
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", f"spark-operator: wrote {file}\n")
    assert yaml.safe_load(file.read_text())["metadata"] == {"name": "daily-report"}
    assert main(["validate", "--strict", str(file)]) == ExitCode.SUCCESS


def test_printed_manifest_renders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == ExitCode.SUCCESS
    file = tmp_path / "app.yaml"
    file.write_text(capsys.readouterr().out)
    assert main(["render", str(file)]) == ExitCode.SUCCESS
    captured = capsys.readouterr()
    assert captured.err == ""
    kinds = [document["kind"] for document in yaml.safe_load_all(captured.out)]
    assert kinds.count("Pod") == 1


def test_manifest_of_kubeflow_is_that_of_apache() -> None:
    (conversion,) = convert_document(yaml.safe_load(starters.KUBEFLOW.replace("NAME", "pi")))
    converted = conversion.document
    assert converted is not None
    conf = converted["spec"]["sparkConf"]
    expected = yaml.safe_load(starters.APACHE)["spec"]
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


def test_existing_file_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "app.yaml"
    file.write_text("mine")
    assert main(["init", str(file)]) == ExitCode.INVALID
    assert f"could not write {file}: it exists" in capsys.readouterr().err
    assert file.read_text() == "mine"


def test_folder_that_does_not_exist_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / "none" / "app.yaml")]) == ExitCode.INVALID
    assert "No such file or directory" in capsys.readouterr().err
