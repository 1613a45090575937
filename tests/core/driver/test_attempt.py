import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.core.driver.attempt import AttemptResources, build_attempt, with_driver_owner
from airflow_provider_spark_operator.core.driver.configuration.configuration import DriverBuildError
from airflow_provider_spark_operator.core.driver.configuration.inputs import R_RUNNER
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.core.spark.properties import parse_properties
from tests.core.driver.attempts import OPERATOR, build_application, build_resources, read_properties

RECORDED = sorted((Path(__file__).parents[2] / "golden" / "apache_operator").glob("*.yaml"))
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def get_arguments(resources: AttemptResources) -> list[str]:
    words: list[str] = resources.pod["spec"]["containers"][-1]["args"]
    return words


def drop_defaults(value: Any) -> Any:
    """Drop values that equal their defaults, which the API server does not store."""
    if isinstance(value, dict):
        kept = {key: drop_defaults(each) for key, each in value.items()}
        empty = ("publishNotReadyAddresses", "readOnly", "subPath", "subPathExpr", "priorityClassName")
        return {key: each for key, each in kept.items() if each or key not in empty}
    return [drop_defaults(each) for each in value] if isinstance(value, list) else value


def is_within(ours: Any, recorded: Any) -> bool:
    """Return whether the recording contains everything in `ours`. It also contains the defaults of the API server."""
    if isinstance(ours, dict) and isinstance(recorded, dict):
        return all(key in recorded and is_within(value, recorded[key]) for key, value in ours.items())
    if isinstance(ours, list) and isinstance(recorded, list):
        if ours and all(isinstance(each, dict) and "name" in each for each in ours):
            ours, recorded = ({each["name"]: each for each in entries} for entries in (ours, recorded))
            return ours.keys() == recorded.keys() and is_within(ours, recorded)
        return len(ours) == len(recorded) and all(map(is_within, ours, recorded))
    return bool(ours == recorded)


def normalize(document: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = document.get("spec") or document["data"]
    spec = drop_defaults(json.loads(UUID.sub("<uuid>", json.dumps(spec))))
    if "spark.properties" in spec:
        spec["spark.properties"] = parse_properties(spec["spark.properties"])
    if "podspec-configmap-key" in spec:
        spec["podspec-configmap-key"] = json.loads(spec["podspec-configmap-key"])
    spec.pop("tolerations", None)
    return spec


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_attempt_resources_equal_those_of_the_apache_operator(path: Path) -> None:
    case = yaml.load(path.read_text(), Loader=LOADER)
    recorded = {(each["kind"], each["name"]): each for each in case["objects"]}
    resources = build_attempt(parse_application(case["application"]), 0, OPERATOR)
    built = {
        (each["kind"], each["metadata"]["name"]): each
        for each in (*resources.pre_resources, resources.pod, *resources.post_resources)
    }
    assert built.keys() == recorded.keys()
    for key, document in built.items():
        assert document["metadata"]["labels"] == recorded[key]["labels"]
        assert document["metadata"].get("annotations") == recorded[key].get("annotations")
        assert is_within(normalize(document), recorded[key]["spec"]), key


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_driver_configuration_equals_the_recorded_one(path: Path) -> None:
    case = yaml.load(path.read_text(), Loader=LOADER)
    recorded = next(each["spec"]["spark.properties"] for each in case["objects"] if "spark.properties" in each["spec"])
    # The Apache operator leaves the name of its temporary file in the configuration.
    recorded.pop("spark.kubernetes.driver.podTemplateFile", None)
    assert read_properties(build_attempt(parse_application(case["application"]), 0, OPERATOR)) == recorded


def test_application_owns_pod_and_pod_owns_other_resources() -> None:
    resources = build_resources(configMapSpecs=[{"name": "extra", "data": {"a": "1"}}], mainClass="m")
    (owner,) = resources.pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["blockOwnerDeletion"]) == ("SparkApplication", "application-uid", True)
    rest = with_driver_owner([*resources.pre_resources, *resources.post_resources], "app-0-driver", "pod-uid")
    assert {each["metadata"]["ownerReferences"][0]["uid"] for each in rest} == {"pod-uid"}
    assert rest[0]["data"] == {"a": "1"}
    assert "ownerReferences" not in resources.pre_resources[0]["metadata"]


def test_every_document_has_namespace_and_labels_of_the_driver() -> None:
    resources = build_resources()
    for document in (resources.pod, *resources.post_resources):
        assert document["metadata"]["namespace"] == "ns"
        assert document["metadata"]["labels"]["spark.operator/spark-app-name"] == "app"
        assert document["metadata"]["labels"]["spark-app-selector"] == "app-0"


@pytest.mark.parametrize(
    ("spec", "tail", "py_files"),
    [
        ({"pyFiles": "local:///a.py"}, ["org.apache.spark.deploy.PythonRunner", "local:///a.py"], None),
        (
            {"pyFiles": "local:///a.py,local:///b.py,local:///c.zip"},
            ["org.apache.spark.deploy.PythonRunner", "local:///a.py"],
            "local:///b.py,local:///c.zip",
        ),
        (
            {"mainClass": "org.apache.spark.deploy.PythonRunner", "pyFiles": "local:///a.py,local:///b.py"},
            ["org.apache.spark.deploy.PythonRunner", "local:///a.py"],
            "local:///b.py",
        ),
        (
            {"mainClass": "org.apache.spark.deploy.PythonRunner", "pyFiles": "local:///a.py", "jars": "local:///j.jar"},
            ["org.apache.spark.deploy.PythonRunner", "local:///a.py"],
            None,
        ),
        ({"sparkRFiles": "local:///a.R"}, ["org.apache.spark.deploy.RRunner", "local:///a.R"], None),
        (
            {"mainClass": "Main", "jars": "local:///a.jar,local:///b.jar"},
            ["Main", "local:///a.jar,local:///b.jar"],
            None,
        ),
        ({"mainClass": "Main"}, ["Main", "spark-internal"], None),
    ],
    ids=["python", "python-files", "python-files-with-class", "python-with-jars", "r", "jars", "class-only"],
)
def test_main_resource_depends_on_fields_of_the_spec(
    spec: dict[str, str], tail: list[str], py_files: str | None
) -> None:
    resources = build_resources(**spec)
    assert get_arguments(resources)[-2:] == tail
    assert read_properties(resources).get("spark.submit.pyFiles") == py_files


def test_arguments_and_proxy_user_reach_the_driver() -> None:
    resources = build_resources(mainClass="Main", proxyUser="alice", driverArgs=["a b", "", "$HOME"])
    assert get_arguments(resources)[1:3] == ["--proxy-user", "alice"]
    assert get_arguments(resources)[-3:] == ["a b", "", "$HOME"]
    assert {"name": "SPARK_USER", "value": "alice"} in resources.pod["spec"]["containers"][-1]["env"]


def test_files_and_jars_are_dependencies_unless_configuration_replaces_them() -> None:
    resources = build_resources(
        sparkRFiles="local:///a.R", jars="local:///j.jar", files="local:///f", mainClass=R_RUNNER
    )
    assert read_properties(resources)["spark.jars"] == "local:///j.jar"
    assert read_properties(resources)["spark.files"] == "local:///f"
    replaced = build_resources({"spark.files": "local:///g"}, pyFiles="local:///a.py", files="local:///f")
    assert read_properties(replaced)["spark.files"] == "local:///g"


def test_terminated_executors_are_kept_without_restarts_and_dynamic_allocation() -> None:
    key = "spark.kubernetes.executor.deleteOnTermination"
    restarting = {"restartConfig": {"restartPolicy": "Always"}}
    assert read_properties(build_resources())[key] == "false"
    assert key not in read_properties(build_resources({"spark.dynamicAllocation.enabled": "true"}))
    assert key not in read_properties(build_resources(mainClass="Main", applicationTolerations=restarting))


def test_api_address_replaces_the_default() -> None:
    resources = build_attempt(build_application(), 0, OPERATOR, api_address="https://127.0.0.1:6443")
    assert read_properties(resources)["spark.master"] == "k8s://https://127.0.0.1:6443"


def test_template_in_resource_takes_precedence_over_named_file() -> None:
    key = "spark.kubernetes.driver.podTemplateFile"
    template = {"spec": {"containers": [{"name": "side", "image": "s"}, {"name": "main"}], "priorityClassName": "high"}}
    conf = {key: "/no/such/file", "spark.kubernetes.driver.podTemplateContainerName": "main"}
    resources = build_resources(conf, mainClass="Main", driverSpec={"podTemplateSpec": template})
    assert [each["name"] for each in resources.pod["spec"]["containers"]] == ["side", "main"]
    assert resources.pod["spec"]["priorityClassName"] == "high"
    assert key not in read_properties(resources)


def test_privilege_escalation_is_disabled_unless_set_or_required() -> None:
    containers = [
        {"name": "main"},
        {"name": "plain"},
        {"name": "set", "securityContext": {"allowPrivilegeEscalation": True}},
        {"name": "privileged", "securityContext": {"privileged": True}},
    ]
    resources = build_resources(mainClass="Main", driverSpec={"podTemplateSpec": {"spec": {"containers": containers}}})
    contexts = {each["name"]: each["securityContext"] for each in resources.pod["spec"]["containers"]}
    assert contexts["plain"] == contexts["main"] == {"allowPrivilegeEscalation": False}
    assert contexts["set"] == {"allowPrivilegeEscalation": True}
    assert contexts["privileged"] == {"privileged": True}


def test_ingress_without_rules_gets_default_rule_and_keeps_other_fields() -> None:
    entry: dict[str, dict[str, Any]] = {
        "serviceMetadata": {"name": "ui"},
        "serviceSpec": {"ports": [{"port": 80, "targetPort": 4040}]},
        "ingressMetadata": {"name": "ui-in"},
        "ingressSpec": {"ingressClassName": "nginx"},
    }
    service, ingress = build_resources(mainClass="Main", driverServiceIngressList=[entry]).post_resources[-2:]
    assert service["spec"]["selector"]["spark-role"] == "driver"
    assert ingress["spec"]["ingressClassName"] == "nginx"
    assert ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"] == "ui"


def test_route_without_rules_gets_default_rule_to_its_service() -> None:
    entry: dict[str, dict[str, Any]] = {
        "serviceMetadata": {"name": "ui"},
        "serviceSpec": {"ports": [{"port": 80}], "selector": {"a": "b"}},
        "httpRouteMetadata": {"name": "route", "namespace": "ns"},
        "httpRouteSpec": {"parentRefs": [{"name": "gateway"}]},
    }
    service, route = build_resources(mainClass="Main", driverHttpRouteList=[entry]).post_resources[-2:]
    assert service["spec"]["selector"] == {"a": "b"}
    assert route["spec"]["rules"][0]["backendRefs"][0]["name"] == "ui"
    assert route["metadata"]["namespace"] == "ns"


@pytest.mark.parametrize("metadata", ["serviceMetadata", "ingressMetadata"])
def test_route_in_another_namespace_is_refused(metadata: str) -> None:
    entry: dict[str, dict[str, Any]] = {
        "serviceMetadata": {"name": "ui"},
        "serviceSpec": {"ports": [{"port": 80}]},
        "ingressMetadata": {"name": "ui"},
    }
    entry[metadata]["namespace"] = "kube-system"
    field = f"spec.driverServiceIngressList[0].{metadata}.namespace"
    with pytest.raises(DriverBuildError, match=re.escape(f"{field}: must be the namespace of the application, ns")):
        build_resources(mainClass="Main", driverServiceIngressList=[entry])


@pytest.mark.parametrize(
    ("conf", "spec", "field"),
    [
        ({}, {"jars": "local:///a.jar"}, "spec.mainClass"),
        ({}, {"mainClass": "org.apache.spark.deploy.PythonRunner"}, "spec.pyFiles"),
        ({}, {"pyFiles": "/on/my/disk.py"}, "spec.pyFiles"),
        ({}, {"pyFiles": "local:///a.py,/b.py"}, "spec.pyFiles"),
        ({}, {"mainClass": "Main", "jars": "/on/my/disk.jar"}, "spec.jars"),
        ({"spark.files": "file:/f"}, {"mainClass": "Main"}, "spec.sparkConf['spark.files']"),
        ({"spark.driver.host": "h"}, {"mainClass": "Main"}, "spark.driver.host"),
        (
            {"spark.kubernetes.driver.podTemplateFile": "/t"},
            {"mainClass": "Main"},
            "spark.kubernetes.driver.podTemplateFile",
        ),
        ({}, {"mainClass": "Main", "driverSpec": {"podTemplateSpec": {}}}, "spec.driverSpec.podTemplateSpec.spec"),
        (
            {},
            {"mainClass": "Main", "driverHttpRouteList": [{"serviceMetadata": {"name": "s"}}]},
            "spec.driverHttpRouteList[0].serviceSpec",
        ),
        (
            {},
            {
                "mainClass": "Main",
                "driverGrpcRouteList": [
                    {
                        "serviceMetadata": {"name": "s"},
                        "serviceSpec": {"ports": [{"port": 1}]},
                        "grpcRouteMetadata": {"name": "r"},
                    }
                ],
            },
            "spec.driverGrpcRouteList[0].grpcRouteSpec.parentRefs",
        ),
    ],
)
def test_invalid_application_is_refused_with_its_field(conf: dict[str, Any], spec: dict[str, Any], field: str) -> None:
    with pytest.raises(DriverBuildError) as refused:
        build_resources(conf, **spec)
    assert refused.value.field == field


@pytest.mark.parametrize("version", ["3.5.7", "4.0.1", "4.1.1", "4.2.1"])
def test_older_spark_gets_same_resources_except_for_version(version: str) -> None:
    def build(number: str) -> str:
        resources = build_attempt(
            build_application(runtimeVersions={"sparkVersion": number}, mainClass="m"), 0, OPERATOR
        )
        return json.dumps([resources.pre_resources, resources.pod, resources.post_resources])

    assert build(version) == build("4.3.0").replace("4.3.0", version)
    assert f'"image": "spark:{version}"' in build(version)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"jars": "local:///a.jar," * 60_000}, "spec.jars"),
        ({"sparkConf": {"spark.files": "a," * 2000}}, r"spec.sparkConf\['spark.files'\]"),
    ],
    ids=["jars", "files"],
)
def test_list_with_too_many_entries_is_refused(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(DriverBuildError, match=f"{field}: has more than 2000 entries: pack the files into archives"):
        build_resources(**{"mainClass": "A", "jars": "local:///a.jar"} | changes)
