"""`render --spark-submit` with the arguments of recorded runs of the real spark-submit."""

import json
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.spark.properties import parse_properties
from tests.core.driver.golden import CASES, FOLDER, LOADER, REFUSED_BY_THE_API, Case, normalize_documents

RECORDED_FOLDER, HERE = "/golden/", f"{FOLDER}/"
BUILT = [name for name in CASES if not Case(name).is_refused]
REFUSED = sorted({name for name in CASES if Case(name).is_refused} - REFUSED_BY_THE_API - {"volcano-file"})


@pytest.fixture
def render(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    for name in (
        "SPARK_HOME",
        "SPARK_CONF_DIR",
        "HADOOP_CONF_DIR",
        "SPARK_LOCAL_DIRS",
        "PYSPARK_PYTHON",
        "SPARK_TESTING",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_USER", "root")

    def render_arguments(case: Case) -> tuple[int, str, str]:
        for name, value in case.recorded["env"].items():
            monkeypatch.setenv(name, value.replace(RECORDED_FOLDER, HERE))
        words = [word.replace(RECORDED_FOLDER, HERE) for word in case.recorded["argv"]]
        exit_code = main(["render", "--spark-submit", "-o", "json", "--", *words])
        captured = capsys.readouterr()
        return exit_code, captured.out.replace(HERE, RECORDED_FOLDER), captured.err

    return render_arguments


@pytest.mark.parametrize("name", BUILT)
def test_recorded_submission_is_rendered_as_it_was_sent(name: str, render: Any) -> None:
    exit_code, output, _ = render(Case(name))
    assert exit_code == ExitCode.SUCCESS
    documents = json.loads(output)["items"]
    for document in documents:
        text = document.get("data", {}).get("spark.properties")
        if text is not None:
            document["data"]["spark.properties"] = parse_properties(text) | {"spark.app.submitTime": "@MS@"}
    expected = list(yaml.load_all((FOLDER / name / "normal.yaml").read_text(), Loader=LOADER))
    conf = parse_properties((FOLDER / name / "conf.properties").read_text())
    for document in (*documents, *expected):
        for owner in document["metadata"].get("ownerReferences", ()):
            owner["uid"] = "@UID@"
    assert normalize_documents(documents, conf) == normalize_documents(expected, conf)


@pytest.mark.parametrize("name", REFUSED)
def test_recorded_refusal_prints_one_sentence(name: str, render: Any) -> None:
    exit_code, output, errors = render(Case(name))
    assert (exit_code, output) == (ExitCode.INVALID, "")
    assert errors.startswith("spark-operator: error: ")
    assert errors.count("\n") == 1
