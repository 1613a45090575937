"""Problems of pods and ConfigMaps that the API server rejects although the resource is valid."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.convert.check import check_manifest
from airflow_provider_spark_operator.core.convert.document import convert_document
from airflow_provider_spark_operator.core.driver.attempt import build_attempt
from airflow_provider_spark_operator.core.kubernetes.problems import filter_errors
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.core.validation.pod_objects import LARGEST_CONFIG_MAP
from airflow_provider_spark_operator.core.validation.validate import validate
from tests.builders import build_application_document
from tests.core.convert.documents import build_document

LONG = "x" * 64
DRIVER = "spark-kubernetes-driver"
TEMPLATE = "spec.driverSpec.podTemplateSpec"


def find_errors(**spec: Any) -> list[str]:
    problems = filter_errors(validate(build_application_document(**spec)))
    assert all(problem.admissible for problem in problems), "an admission policy can change the pod"
    return [str(problem) for problem in problems]


def build_spec(container: dict[str, Any] | None = None, **pod: Any) -> dict[str, Any]:
    return {"podTemplateSpec": {"spec": {"containers": [{"name": DRIVER, **(container or {})}], **pod}}}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (build_spec(volumes=[{"name": "a"}, {"name": "a"}]), "spec.volumes[1].name: repeats "),
        (build_spec(volumes=[{"name": LONG}]), f"spec.volumes[0].name: '{LONG}' is not valid: use at most 63 lower"),
        (build_spec(initContainers=[{"name": DRIVER, "image": "i"}]), "spec.containers[0].name: repeats "),
        (
            build_spec({"volumeMounts": [{"name": "a", "mountPath": "/x"}, {"name": "b", "mountPath": "/x"}]}),
            "spec.containers[0].volumeMounts[1].mountPath: repeats ",
        ),
        (build_spec({"ports": [{"name": "UI", "containerPort": 1}]}), "ports[0].name: 'UI' is not valid"),
        (build_spec({"env": [{"name": "A=B", "value": "1"}]}), "env[0].name: 'A=B' is not valid: use printable ASCII"),
        (
            build_spec(
                {"env": [{"name": "A", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]}
            ),
            "env[0].valueFrom: cannot be set in addition to value",
        ),
        (build_spec(nodeSelector={"a": "", "b": "c d"}), "spec.nodeSelector.b: 'c d' is not a valid label value"),
        (
            {"podTemplateSpec": {"metadata": {"labels": {"a": "b c"}}, "spec": {}}},
            "metadata.labels.a: 'b c' is not a valid label",
        ),
    ],
)
def test_invalid_pod_template_is_a_problem_with_its_path(template: dict[str, Any], expected: str) -> None:
    for field in ("driverSpec", "executorSpec"):
        (problem,) = find_errors(**{field: template})
        assert problem.startswith(f"spec.{field}.podTemplateSpec.")
        assert expected in problem


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"driverSpec": build_spec({"ports": [{"name": "spark-ui", "containerPort": 4040}]})},
            "the API server would reject the Pod pi-0-driver: spec.containers[0].ports[3].name: repeats ",
        ),
        (
            {"driverSpec": build_spec({"volumeMounts": [{"name": "b", "mountPath": "/x"}]})},
            "volumeMounts[0].name: names the volume 'b', which the pod does not have: add the volume",
        ),
        (
            {"driverSpec": build_spec({"volumeDevices": [{"name": "b", "devicePath": "/x"}]})},
            "volumeDevices[0].name: names the volume 'b', which the pod does not have: add the volume",
        ),
        (
            {"driverSpec": build_spec(initContainers=[{"image": "i"}])},
            "Pod pi-0-driver: spec.initContainers[0].name: is required: give the name of the container",
        ),
        (
            {"driverSpec": build_spec(initContainers=[{"name": "i"}])},
            "Pod pi-0-driver: spec.initContainers[0].image: is required: give the image of the container",
        ),
        (
            {"configMapSpecs": [{"name": "c", "data": {"a": "é" * (LARGEST_CONFIG_MAP // 2 + 1)}}]},
            "the API server would reject the ConfigMap c: data: has 1048578 bytes, more than the 1048576 bytes of a",
        ),
        ({"configMapSpecs": [{"name": "c", "data": {"a/b": ""}}]}, "ConfigMap c: data['a/b']: is not a valid key"),
    ],
)
def test_object_that_the_api_server_rejects_is_a_problem(spec: dict[str, Any], expected: str) -> None:
    (problem,) = find_errors(**spec)
    assert expected in problem


@pytest.mark.parametrize(
    "spec",
    [
        {"driver": {"cores": 2, "coreLimit": "1000m"}},
        {"executor": {"coreRequest": "2", "coreLimit": "1000m"}},
        {"driver": {"coreLimit": "1x"}},
        {"executor": {"labels": {"team": "a b"}}},
        {"driver": {"secrets": [{"name": "s" * 60, "path": "/s"}]}},
        {"executor": {"secrets": [{"name": "s" * 60, "path": "/s"}]}},
        {"executor": {"nodeSelector": {"disk": "a b"}}},
        {"driver": {"ports": [{"name": "ui", "containerPort": 70000, "protocol": "TCP"}]}},
        {
            "volumes": [{"name": "w", "emptyDir": {}}],
            "driver": {"volumeMounts": [{"name": "w", "mountPath": "/w"}] * 2},
        },
        {"executor": {"sidecars": [{"name": "s", "image": "i"}] * 2}},
        {"driver": {"lifecycle": {"preStop": {"exec": {}}}}},
        {"driver": {"hostAliases": [{"ip": "a.example", "hostnames": ["a"]}]}},
    ],
)
@pytest.mark.parametrize("kind", ["SparkApplication", "ScheduledSparkApplication"])
def test_validate_and_convert_agree_on_a_manifest_of_kubeflow(spec: dict[str, Any], kind: str) -> None:
    document = build_document(**spec)
    if kind == "ScheduledSparkApplication":
        template = document["spec"]
        document |= {"kind": kind, "spec": {"schedule": "@daily", "template": template}}
    errors = filter_errors(check_manifest(document))
    (converted,) = convert_document(document)
    assert errors
    assert all(problem.admissible or not problem.path for problem in errors)
    assert converted.problems


def test_manifest_that_cannot_be_converted_is_valid_for_kubeflow() -> None:
    document = build_document(mode="client")
    (converted,) = convert_document(document)
    assert converted.problems
    assert filter_errors(check_manifest(document)) == []


@pytest.mark.parametrize("key", ["spark.executor.cores", "spark.kubernetes.executor.request.cores"])
def test_request_that_refers_to_another_property_is_not_compared(key: str) -> None:
    conf = {"spark.kubernetes.container.image": "i", "spark.kubernetes.executor.limit.cores": "500m"}
    assert len(find_errors(sparkConf={**conf, key: "1"})) == 1
    assert find_errors(sparkConf={**conf, key: "${team.cores}"}) == []


def test_version_with_build_metadata_is_a_valid_label() -> None:
    document = build_application_document(runtimeVersions={"sparkVersion": "4.3.0+build.1"})
    assert filter_errors(validate(document)) == []
    pod = build_attempt(parse_application(document), 0, "operator").pod
    assert pod["metadata"]["labels"]["spark-version"] == "4.3.0_build.1"


@pytest.mark.parametrize("start", ["Pi-", "pi.", "1-"])
def test_generate_name_without_a_valid_name_is_a_problem(start: str) -> None:
    document = build_application_document()
    document["metadata"] = {"generateName": start}
    (problem,) = validate(document)
    assert problem.path == "metadata.generateName"
    assert "is not a valid name for " in problem.message


def test_conversion_mounts_a_config_map_at_two_paths() -> None:
    maps = [{"name": "a", "path": "/etc/x"}, {"name": "a", "path": "/etc/y"}]
    (converted,) = convert_document(build_document(driver={"configMaps": maps}))
    assert converted.document is not None
    pod = converted.document["spec"]["driverSpec"]["podTemplateSpec"]["spec"]
    assert pod["volumes"] == [{"name": "a-vol", "configMap": {"name": "a"}}]
    assert [mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]] == ["/etc/x", "/etc/y"]


def test_conversion_shortens_the_volume_of_the_metrics() -> None:
    monitoring = {"exposeDriverMetrics": True, "prometheus": {"jmxExporterJar": "/a.jar"}}
    (converted,) = convert_document(build_document("n" * 60, monitoring=monitoring))
    assert converted.problems == ()
    assert converted.document is not None
    (volume,) = converted.document["spec"]["driverSpec"]["podTemplateSpec"]["spec"]["volumes"]
    assert len(volume["name"]) == 63


def test_conversion_of_what_the_api_server_rejects_is_refused() -> None:
    mounts = [{"name": "w", "mountPath": "/w"}] * 2
    source = build_document(volumes=[{"name": "w", "emptyDir": {}}], driver={"volumeMounts": mounts})
    (converted,) = convert_document(source)
    assert converted.document is None
    assert [problem.path for problem in converted.problems] == [
        f"{TEMPLATE}.spec.containers[0].volumeMounts[1].mountPath"
    ]
