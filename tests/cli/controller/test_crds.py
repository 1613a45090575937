import json

import pytest
import yaml

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.crds import build_custom_resource_definitions


def test_crds_prints_all_definitions_as_yaml(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crds"]) == ExitCode.SUCCESS
    assert list(yaml.safe_load_all(capsys.readouterr().out)) == build_custom_resource_definitions()


def test_kind_option_ignores_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crds", "--kind", "sparkapplication"]) == ExitCode.SUCCESS
    (definition,) = yaml.safe_load_all(capsys.readouterr().out)
    assert definition["spec"]["names"]["kind"] == "SparkApplication"


def test_json_output_is_a_kubernetes_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crds", "-o", "json"]) == ExitCode.SUCCESS
    document = json.loads(capsys.readouterr().out)
    assert (document["apiVersion"], document["kind"]) == ("v1", "List")
    assert document["items"] == build_custom_resource_definitions()
