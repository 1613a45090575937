import json

import pytest
import yaml

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.crds import custom_resource_definitions


def test_all_definitions_are_printed_as_yaml(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crds"]) == ExitCode.SUCCESS
    assert list(yaml.safe_load_all(capsys.readouterr().out)) == custom_resource_definitions()


def test_one_kind_can_be_chosen_whatever_its_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crds", "--kind", "sparkapplication"]) == ExitCode.SUCCESS
    (definition,) = yaml.safe_load_all(capsys.readouterr().out)
    assert definition["spec"]["names"]["kind"] == "SparkApplication"


def test_json_is_a_list_that_kubectl_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crds", "-o", "json"]) == ExitCode.SUCCESS
    document = json.loads(capsys.readouterr().out)
    assert (document["apiVersion"], document["kind"]) == ("v1", "List")
    assert document["items"] == custom_resource_definitions()
