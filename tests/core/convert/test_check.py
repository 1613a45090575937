"""The problems of manifests of Kubeflow's operator."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.core.convert.check import check_manifest
from airflow_provider_spark_operator.core.kubernetes.problems import Severity

# spark-pi-prometheus.yaml is not valid YAML.
EXAMPLES = Path(__file__).parents[2] / "golden" / "kubeflow_examples"
SPEC: dict[str, Any] = {
    "type": "Python",
    "sparkVersion": "4.0.0",
    "mainApplicationFile": "local:///a.py",
    "driver": {"cores": 1, "env": [{"name": "A", "value": "b"}]},
    "executor": {"instances": 2, "labels": {"team": "a"}},
    "deps": {"jars": ["a.jar"]},
    "driverIngressOptions": [{"servicePort": 80, "servicePortName": "web"}],
    "volumes": None,
}


def build(**changes: Any) -> dict[str, Any]:
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": "pi"},
        "spec": {**copy.deepcopy(SPEC), **changes},
    }


def build_schedule(template: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    template = {**copy.deepcopy(SPEC), **(template or {})}
    spec = {"schedule": "@every 5m", "template": template, **changes}
    return {**build(), "kind": "ScheduledSparkApplication", "spec": spec}


def list_problems(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [(problem.path, problem.message) for problem in check_manifest(document)]


@pytest.mark.parametrize("document", [build(), build_schedule()], ids=["application", "schedule"])
def test_valid_manifest_has_no_problems(document: dict[str, Any]) -> None:
    assert check_manifest(document) == []


@pytest.mark.parametrize(
    "path", sorted({*EXAMPLES.glob("*.yaml")} - {EXAMPLES / "spark-pi-prometheus.yaml"}), ids=lambda path: path.stem
)
def test_examples_of_kubeflow_have_no_errors(path: Path) -> None:
    for document in yaml.safe_load_all(path.read_text()):
        if document["apiVersion"] == "sparkoperator.k8s.io/v1beta2":
            assert [str(one) for one in check_manifest(document) if one.severity is Severity.ERROR] == []


@pytest.mark.parametrize(
    ("changes", "path", "words"),
    [
        ({"sparkConfs": {}}, "spec.sparkConfs", "did you mean sparkConf?"),
        ({"driver": {"memroy": "1g"}}, "spec.driver.memroy", "is not a field of spec.driver in release"),
        ({"executor": {"ports": [{"protokol": 1}]}}, "spec.executor.ports[0].protokol", "did you mean protocol?"),
        ({"volumes": [{"name": "a", "emptydir": {}}]}, "spec.volumes[0].emptydir", "did you mean emptyDir?"),
        (
            {"driver": {"template": {"spec": {"nodeSelectr": {}}}}},
            "spec.driver.template.spec.nodeSelectr",
            "is not a field of core.v1.PodSpec in Kubernetes",
        ),
    ],
)
def test_unknown_field_is_a_warning_with_a_suggestion(changes: dict[str, Any], path: str, words: str) -> None:
    (problem,) = check_manifest(build(**changes))
    assert (problem.path, problem.severity) == (path, Severity.WARNING)
    assert words in problem.message
    (problem,) = check_manifest(build_schedule(changes))
    assert problem.path == path.replace("spec", "spec.template", 1)


def test_unknown_field_of_the_resource_is_found() -> None:
    ((path, message),) = list_problems({**build(), "specs": {}})
    assert path == "specs"
    assert "did you mean spec?" in message
    assert "field of the resource" in message


@pytest.mark.parametrize(
    ("changes", "path", "message"),
    [
        ({"sparkVersion": 4.0}, "spec.sparkVersion", "must be a string, not a number: put it in quotes"),
        ({"sparkConf": {"a.b": 1}}, "spec.sparkConf['a.b']", "must be a string, not a number: put it in quotes"),
        ({"sparkConf": []}, "spec.sparkConf", "must be an object with string values, not a list"),
        ({"suspend": "yes"}, "spec.suspend", "must be a boolean, not a string"),
        ({"driver": {"cores": "1"}}, "spec.driver.cores", "must be an integer, not a string"),
        ({"driver": {"affinity": []}}, "spec.driver.affinity", "must be an object, not a list"),
        ({"arguments": "a"}, "spec.arguments", "must be a list of strings, not a string"),
        ({"arguments": ["a", True]}, "spec.arguments[1]", "must be a string, not true or false: put it in quotes"),
        ({"volumes": {}}, "spec.volumes", "must be a list of objects, not an object"),
        ({"volumes": ["a"]}, "spec.volumes[0]", "must be an object, not a string"),
        ({"deps": ["a"]}, "spec.deps", "must be an object, not a list"),
        ({"driverIngressOptions": {}}, "spec.driverIngressOptions", "must be a list of objects, not an object"),
        ({"driverIngressOptions": [1]}, "spec.driverIngressOptions[0]", "must be an object, not a number"),
        ({"mode": "clustr"}, "spec.mode", "must be one of cluster, client, not 'clustr'"),
        ({"executor": {"instances": 0}}, "spec.executor.instances", "must be at least 1, not 0"),
        ({"driver": {"env": [{"value": "a"}]}}, "spec.driver.env[0].name", "is required"),
    ],
)
def test_value_that_the_definition_rejects_is_an_error(changes: dict[str, Any], path: str, message: str) -> None:
    assert list_problems(build(**changes)) == [(path, message)]
    assert list_problems(build_schedule(changes)) == [(path.replace("spec", "spec.template", 1), message)]


def test_missing_fields_are_errors() -> None:
    document = build()
    del document["spec"]["mainApplicationFile"]
    assert list_problems(document) == [("spec.mainApplicationFile", "is required")]
    assert list_problems({**document, "spec": []})[0][0] == "spec"


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        (build_schedule(schedule="@evry 5m"), ["spec.schedule"]),
        (build_schedule(schedule=None), ["spec.schedule"]),
        (build_schedule(concurrencyPolicy="Sometimes"), ["spec.concurrencyPolicy"]),
        (build_schedule(template={"type": "Pyton"}), ["spec.template.type"]),
        ({**build_schedule(), "spec": {"schedule": "@daily"}}, ["spec.template"]),
        ({**build_schedule(), "spec": {"schedule": "@daily", "template": []}}, ["spec.template"]),
        ({**build_schedule(), "spec": None}, ["spec.schedule", "spec.template"]),
        ({**build_schedule(), "metadata": {}}, ["metadata.name"]),
        ({**build_schedule(), "metadata": {"name": {1}}}, ["metadata.name"]),
    ],
)
def test_problems_of_a_schedule_have_their_paths(document: dict[str, Any], paths: list[str]) -> None:
    assert [problem.path for problem in check_manifest(document)] == paths


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"kind": "SparkConnect"}, "kind"),
        ({"apiVersion": "sparkoperator.k8s.io/v1alpha1"}, "apiVersion"),
        ({"metadata": {"name": "pi", "day": {1}}}, "metadata.day"),
    ],
)
def test_document_that_is_no_application_has_one_problem(changes: dict[str, Any], path: str) -> None:
    assert [problem.path for problem in check_manifest(build() | changes)] == [path]
