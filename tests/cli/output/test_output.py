import json

import pytest
import yaml

from airflow_provider_spark_operator.cli.output.output import arrange, print_resource

PODS = [
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "status": {"phase": phase}}
    for name, phase in (("driver", "RunningHealthy"), ("executor-1", ""))
]


def test_resources_that_follow_each_other_can_be_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    for pod in PODS:
        print_resource(pod, "yaml")
    assert list(yaml.safe_load_all(capsys.readouterr().out)) == PODS
    print_resource(PODS[0], "name")
    assert capsys.readouterr().out == "pod/driver\n"
    print_resource(PODS[0], "json")
    assert json.loads(capsys.readouterr().out) == PODS[0]


def test_resource_is_arranged_as_kubectl_prints_it() -> None:
    resource = {
        "status": {},
        "spec": {},
        "metadata": {"name": "pi", "managedFields": []},
        "kind": "K",
        "apiVersion": "v1",
    }
    assert list(arrange(resource)) == ["apiVersion", "kind", "metadata", "spec", "status"]
    assert arrange(resource)["metadata"] == {"name": "pi"}
    assert arrange({"items": [1]}) == {"items": [1]}
