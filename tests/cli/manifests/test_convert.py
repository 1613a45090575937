import io
import json
import re
from pathlib import Path

import pytest
import yaml

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.kube.yaml_text import load
from tests.cli.verbs import Verbs
from tests.core.convert.documents import build_document

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
SCHEDULED = build_document("nightly") | {
    "kind": "ScheduledSparkApplication",
    "spec": {"schedule": "@daily", "concurrencyPolicy": "Allow", "template": build_document()["spec"]},
}


def write(path: Path, *documents: object) -> str:
    path.write_text(yaml.safe_dump_all(documents))
    return str(path)


def test_documents_are_printed_and_the_report_goes_to_stderr(tmp_path: Path, run_verb: Verbs) -> None:
    file = write(tmp_path / "app.yaml", build_document(driver={"memoryLimit": "2g"}), CONFIG_MAP)
    captured = run_verb(["convert", file])
    application, config_map = yaml.safe_load_all(captured.out)
    assert application["apiVersion"] == "spark.apache.org/v1"
    assert config_map == CONFIG_MAP
    assert f"{file}:1: SparkApplication pi: fields: 8 exact, 0 changed, 1 dropped, 8 added" in captured.err
    assert re.search(r"spec\.driver\.memoryLimit +dropped  ", captured.err)
    assert re.search(r"spark\.authenticate +added +is false: Kubeflow's operator does not enable it", captured.err)
    assert "ConfigMap settings: passed through unchanged" in captured.err


def test_reasons_of_added_fields_are_printed_once(tmp_path: Path, run_verb: Verbs) -> None:
    file = write(tmp_path / "app.yaml", *(build_document(name) for name in "abc"))
    lines = run_verb(["convert", file]).err.splitlines()
    added = [line for line in lines if " added  " in line]
    assert len(added) == len(set(added)) == 8
    assert lines.count("  8 fields are added as in a document above, for the same reasons") == 2


def test_standard_input_and_json(monkeypatch: pytest.MonkeyPatch, run_verb: Verbs) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [build_document("a"), build_document("b")]})
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    captured = run_verb("convert - -o json --report json")
    assert [item["metadata"]["name"] for item in json.loads(captured.out)["items"]] == ["a", "b"]
    first, second = json.loads(captured.err)
    assert (first["resource"], second["status"]) == ("SparkApplication a", "converted")
    assert {field["outcome"] for field in first["fields"]} == {"exact", "added"}


def test_refused_document_is_reported_and_the_others_are_converted(tmp_path: Path, run_verb: Verbs) -> None:
    file = write(tmp_path / "app.yaml", build_document("bad", mode="client"), build_document("good"))
    captured = run_verb(["convert", file, str(tmp_path / "missing.yaml")], ExitCode.INVALID)
    assert yaml.safe_load(captured.out)["metadata"]["name"] == "good"
    assert "SparkApplication bad: spec.mode: client mode" in captured.err
    assert "missing.yaml: cannot be read" in captured.err


def test_folder_is_converted_to_files_and_dags(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    (tmp_path / "in" / "sub").mkdir(parents=True)
    write(tmp_path / "in" / "a.yml", build_document("a"), SCHEDULED)
    write(tmp_path / "in" / "sub" / "b.yaml", build_document("b"))
    command = ["convert", str(tmp_path / "in"), "--output-directory", str(tmp_path / "out")]
    assert main(command) == ExitCode.SUCCESS
    out = tmp_path / "out"
    assert sorted(str(file.relative_to(out)) for file in out.rglob("*.*")) == ["a.yaml", "nightly.py", "sub/b.yaml"]
    assert yaml.safe_load((out / "sub" / "b.yaml").read_text())["metadata"]["name"] == "b"
    assert "SparkApplicationOperator" in (out / "nightly.py").read_text()
    assert capsys.readouterr().out == ""
    assert "already exists" in run_verb(command, ExitCode.INVALID).err


def test_one_dag_is_printed_and_several_documents_need_a_folder(tmp_path: Path, run_verb: Verbs) -> None:
    assert run_verb(["convert", write(tmp_path / "one.yaml", SCHEDULED)]).out.startswith('"""Run the application')
    error = run_verb(["convert", write(tmp_path / "two.yaml", SCHEDULED, build_document())], ExitCode.INVALID).err
    assert "use --output-directory" in error


def test_folder_without_manifests_is_invalid(tmp_path: Path, run_verb: Verbs) -> None:
    assert "contains no file" in run_verb(f"convert {tmp_path}", ExitCode.INVALID).err


def test_control_characters_of_a_manifest_are_visible(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unknown, invalid = build_document("a"), build_document("b\x1b[31m\nc")
    unknown["spec"]["mode\x1b[31m"] = "x"
    file = write(tmp_path / "app.yaml", unknown, invalid)
    for verb in ("convert", "validate"):
        main([verb, file])
        captured = capsys.readouterr()
        text = captured.err + (captured.out if verb == "validate" else "")
        assert "\x1b" not in text
        assert "\\x1b[31m" in text


@pytest.mark.parametrize("verb", ["convert", "validate"])
def test_empty_list_is_an_error(verb: str, tmp_path: Path, run_verb: Verbs) -> None:
    file = write(tmp_path / "app.yaml", {"apiVersion": "v1", "kind": "List", "items": []})
    shown = "".join(run_verb([verb, file], ExitCode.INVALID)).replace(" error: ", " ")
    assert "app.yaml: contains no resource" in shown


def test_texts_that_parsers_read_differently_are_quoted(tmp_path: Path, run_verb: Verbs) -> None:
    driver = {"cores": 1, "memory": "512m", "env": [{"name": "A", "value": "n"}], "nodeSelector": {"y": "2"}}
    arguments = ["--overwrite", "y", "1e3", "N", "0o17"]
    document = build_document(arguments=arguments, sparkConf={"spark.x": "1e4"}, driver=driver)
    file = tmp_path / "app.json"
    file.write_text(json.dumps(document))
    out = run_verb(f"convert {file}").out
    for line in ("- --overwrite", "- 'y'", "- '1e3'", "- 'N'", "- '0o17'", "spark.x: '1e4'"):
        assert f"{line}\n" in out
    assert load(out)["spec"]["driverArgs"] == arguments
