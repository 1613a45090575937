"""Validation of complete documents of every kind and dialect."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.core.kubernetes.problems import Severity, filter_errors, filter_warnings
from airflow_provider_spark_operator.core.validation.validate import validate, validate_without_status
from tests.builders import build_application_document
from tests.core.cluster_resources.clusters import build_cluster_document

GOLDEN = Path(__file__).parents[2] / "golden" / "apache_operator"
IMAGE = "spec.sparkConf['spark.kubernetes.container.image']"
# The Apache operator cannot run it either: see docs/internals/differences.md.
REFUSED_BY_KUBERNETES = {"cluster-min-zero.yaml"}


def list_recorded_documents() -> list[Any]:
    found = []
    for path in sorted([*GOLDEN.glob("*.yaml"), *GOLDEN.glob("clusters/*.yaml"), *GOLDEN.glob("documents/*.yaml")]):
        content = yaml.safe_load(path.read_text())
        document = next((content[key] for key in ("app", "application", "cluster") if key in content), content)
        found.append(pytest.param(document, path.name in REFUSED_BY_KUBERNETES, id=path.name))
    return found


@pytest.mark.parametrize(("document", "is_invalid"), list_recorded_documents())
def test_recorded_documents_of_apache_operator_have_no_errors(document: dict[str, Any], is_invalid: bool) -> None:
    assert bool(filter_errors(validate(document))) is is_invalid


def build_kubeflow_document(**changes: Any) -> dict[str, Any]:
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": "pi", "namespace": "jobs"},
        "spec": {
            "type": "Python",
            "sparkVersion": "4.0.0",
            "mainApplicationFile": "local:///a.py",
            "driver": {},
            "executor": {},
        },
    } | changes


@pytest.mark.parametrize(
    "document", [build_application_document(), build_cluster_document(), build_kubeflow_document()]
)
def test_valid_document_of_each_kind_has_no_problems(document: dict[str, Any]) -> None:
    assert validate(document) == []


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ([], ""),
        ({}, "kind"),
        ({"kind": ["SparkApplication"]}, "kind"),
        (build_application_document() | {"kind": "Spork"}, "kind"),
        (build_kubeflow_document(kind="Spork"), "kind"),
        (build_kubeflow_document(metadata={"name": "pi", "namespace": "A_B"}), "metadata.namespace"),
        (build_kubeflow_document(metadata={"name": "pi", "day": {1, 2}}), "metadata.day"),
    ],
)
def test_invalid_document_of_each_kind_has_problem_with_path(document: dict[str, Any] | list[Any], path: str) -> None:
    (problem,) = validate(document)
    assert problem.path == path
    assert problem.is_refused


@pytest.mark.parametrize("namespace", ["A_B", "a.b", "-a", "x" * 64, 7])
@pytest.mark.parametrize("build", [build_application_document, build_cluster_document])
def test_invalid_namespace_is_an_error(build: Callable[..., dict[str, Any]], namespace: int | str) -> None:
    document = build()
    document["metadata"]["namespace"] = namespace
    (problem,) = validate(document)
    assert problem.path == "metadata.namespace"
    assert problem.is_refused


@pytest.mark.parametrize(
    ("spec", "path", "expected"),
    [
        (
            {"pyFiles": "main.py"},
            "spec.pyFiles",
            "main.py is a path on a local disk, and an operator does not upload files: add the file to the image",
        ),
        ({"pyFiles": "/opt/main.py"}, "spec.pyFiles", "use local://"),
        ({"jars": "app.jar", "mainClass": "A"}, "spec.jars", "app.jar is a path on a local disk"),
        (
            {"mainClass": "A", "sparkConf": {"spark.kubernetes.driver.label.spark-role": "x"}},
            "spec.sparkConf['spark.kubernetes.driver.label.spark-role']",
            "is reserved",
        ),
    ],
)
def test_problem_of_driver_build_is_an_error(spec: dict[str, Any], path: str, expected: str) -> None:
    document = build_application_document()
    del document["spec"]["mainClass"], document["spec"]["jars"]
    image = document["spec"]["sparkConf"]
    document["spec"] |= spec
    document["spec"]["sparkConf"] |= image
    (problem,) = validate(document)
    assert problem.path == path
    assert expected in problem.message
    assert problem.is_error


def test_missing_image_is_a_warning() -> None:
    document = build_application_document()
    document["spec"]["sparkConf"] = {"spark.kubernetes.driver.container.image": ""}
    (problem,) = validate(document)
    assert (problem.path, problem.severity) == (IMAGE, Severity.WARNING)
    document["spec"]["sparkConf"] = {"spark.kubernetes.driver.container.image": "spark"}
    assert validate(document) == []


def test_ignored_setting_of_driver_is_a_warning() -> None:
    template = {"spec": {"containers": [{"name": "main"}]}}
    document = build_application_document(
        conf={"spark.kubernetes.driver.podTemplateContainerName": "other"}, driverSpec={"podTemplateSpec": template}
    )
    (problem,) = filter_warnings(validate(document))
    assert "no container of the template is named 'other'" in str(problem)


def test_document_without_name_and_namespace_is_built() -> None:
    document = build_application_document(pyFiles="main.py", mainClass=None, jars=None)
    document["metadata"] = {"generateName": "pi-"}
    assert [problem.path for problem in validate(document)] == ["spec.pyFiles"]


RUNNER = "org.apache.spark.deploy.PythonRunner"


@pytest.mark.parametrize(
    ("spec", "conf", "message"),
    [
        (
            {"mainClass": RUNNER, "pyFiles": "local:///a.py,local:///b.py", "jars": "local:///x.jar"},
            {"spark.jars": "local:///y.jar"},
            "spec.sparkConf['spark.jars']: replaces spec.jars but does not contain local:///x.jar. "
            "Add the missing entries to this property",
        ),
        (
            {"mainClass": RUNNER, "pyFiles": "local:///a.py,local:///b.py, local:///c.py", "jars": None},
            {"spark.submit.pyFiles": "local:///c.py"},
            "spec.sparkConf['spark.submit.pyFiles']: replaces the modules in spec.pyFiles but does not contain "
            "local:///b.py. "
            "Add the missing entries to this property",
        ),
        (
            {"files": "local:///x,local:///y"},
            {"spark.files": "local:///z"},
            "spec.sparkConf['spark.files']: replaces spec.files but does not contain local:///x, "
            "local:///y. Add the missing entries to this property",
        ),
    ],
)
def test_dependency_replaced_by_property_is_a_warning(spec: dict[str, Any], conf: dict[str, str], message: str) -> None:
    assert [str(problem) for problem in filter_warnings(validate(build_application_document(conf=conf, **spec)))] == [
        message
    ]


def test_property_with_all_dependencies_is_valid() -> None:
    document = build_application_document(
        conf={"spark.jars": "local:///y.jar, local:///x.jar"},
        mainClass=RUNNER,
        pyFiles="local:///a.py",
        jars="local:///x.jar",
    )
    assert validate(document) == []


@pytest.mark.parametrize("name", ["A_B", "", "a..b", "x" * 254])
def test_invalid_config_map_name_is_an_error(name: str) -> None:
    (problem,) = validate(build_application_document(configMapSpecs=[{"name": "a.b-1"}, {"name": name}]))
    assert str(problem).startswith(f"spec.configMapSpecs[1].name: {name!r} is not a valid ConfigMap name")
    assert problem.is_refused


@pytest.mark.parametrize("build", [build_application_document, build_cluster_document])
@pytest.mark.parametrize(("version", "is_odd"), [("abc", True), ("4", True), ("4.3", False), ("4.4.0-SNAPSHOT", False)])
def test_malformed_spark_version_is_a_warning(build: Callable[..., dict[str, Any]], version: str, is_odd: bool) -> None:
    problems = validate(build(runtimeVersions={"sparkVersion": version}))
    assert [problem.path for problem in problems] == ["spec.runtimeVersions.sparkVersion"] * is_odd
    assert filter_errors(problems) == []


@pytest.mark.parametrize(
    ("part", "instead"), [("master", "a cluster has one master"), ("worker", "instanceConfig.initWorkers instead")]
)
def test_ignored_replicas_are_a_warning(part: str, instead: str) -> None:
    modifiers: dict[str, Any] = {part: {"statefulSetSpec": {"replicas": 1000000000}}}
    (problem,) = validate(build_cluster_document(**modifiers))
    assert problem.path == f"spec.{part}Spec.statefulSetSpec.replicas"
    assert problem.message.startswith("is ignored: ")
    assert problem.message.endswith(instead)
    assert not problem.is_error


def test_values_of_valid_parts_are_checked_although_the_structure_is_invalid() -> None:
    document = build_application_document(conf={"spark.driver.memory": "3 gigs"})
    document["spec"]["sparkConf"]["spark.executor.instances"] = 2
    document["spec"] |= {
        "mainClas": "X",
        "runtimeVersions": {"sparkVersion": "four"},
        "applicationTolerations": {"instanceConfig": {"initExecutors": 3, "maxExecutors": 1}},
    }
    assert [problem.path for problem in validate(document)] == [
        "spec.mainClas",
        "spec.sparkConf['spark.executor.instances']",
        "spec.sparkConf['spark.driver.memory']",
        "spec.runtimeVersions.sparkVersion",
        "spec.applicationTolerations.instanceConfig.initExecutors",
    ]


@pytest.mark.parametrize("part", ["sparkConf", "runtimeVersions", "applicationTolerations"])
def test_part_with_an_invalid_structure_is_reported_once(part: str) -> None:
    document = build_application_document()
    document["spec"][part] = 7
    assert [problem.path for problem in validate(document)] == [f"spec.{part}"]


def test_fields_that_the_cluster_writes_are_not_checked() -> None:
    document = build_application_document(status={"unknown": 1})
    document["metadata"]["managedFields"] = [{"unknown": {}}]
    assert validate_without_status(document) == []
    assert document["metadata"]["managedFields"]
