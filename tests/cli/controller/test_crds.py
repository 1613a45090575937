import json

import yaml

from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from tests.cli.verbs import Verbs


def test_crds_prints_all_definitions_as_yaml(run_verb: Verbs) -> None:
    assert list(yaml.safe_load_all(run_verb("crds").out)) == build_custom_resource_definitions()


def test_kind_option_ignores_case(run_verb: Verbs) -> None:
    (definition,) = yaml.safe_load_all(run_verb("crds --kind sparkapplication").out)
    assert definition["spec"]["names"]["kind"] == "SparkApplication"


def test_json_output_is_a_kubernetes_list(run_verb: Verbs) -> None:
    document = json.loads(run_verb("crds -o json").out)
    assert (document["apiVersion"], document["kind"]) == ("v1", "List")
    assert document["items"] == build_custom_resource_definitions()
