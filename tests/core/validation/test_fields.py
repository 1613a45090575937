import re
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.problems import Severity
from airflow_provider_spark_operator.core.validation.application import validate_application
from airflow_provider_spark_operator.core.validation.cluster import validate_cluster
from airflow_provider_spark_operator.core.validation.kubernetes_fields import KUBERNETES_FIELDS, KUBERNETES_VERSION
from airflow_provider_spark_operator.core.validation.validate import validate, validate_without_status
from local_kubernetes.api.server import discovery
from tests.builders import build_application_document
from tests.core.cluster_resources.clusters import build_cluster_document
from tests.core.validation.kubernetes_types import find_types

VERSION = f"{discovery.VERSION['major']}.{discovery.VERSION['minor']}"


def find_errors(**spec: Any) -> list[str]:
    return [str(each) for each in validate_application(build_application_document(**spec)) if each.is_error]


def find_warnings(**spec: Any) -> list[str]:
    return [str(each) for each in validate_application(build_application_document(**spec)) if not each.is_error]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"sparkConfs": {}}, "spec.sparkConfs: is not a field of spec: did you mean sparkConf?"),
        ({"spark_conf": {}}, "spec.spark_conf: is not a field of spec: did you mean sparkConf?"),
        ({"mainclass": "A"}, "spec.mainclass: is not a field of spec: did you mean mainClass?"),
        ({"colour": "red"}, "spec.colour: is not a field of spec: remove it"),
        (
            {"driverSpec": {"podTemplat": {"spec": {}}}},
            "spec.driverSpec.podTemplat: is not a field of spec.driverSpec: did you mean podTemplateSpec?",
        ),
        (
            {"configMapSpecs": [{"name": "a"}, {"name": "b", "date": {}}]},
            "spec.configMapSpecs[1].date: is not a field of spec.configMapSpecs[1]: did you mean data?",
        ),
        (
            {"restart": {"restartPolic": "Never"}},
            "spec.applicationTolerations.restartConfig.restartPolic: is not a field of "
            "spec.applicationTolerations.restartConfig: did you mean restartPolicy?",
        ),
        (
            {
                "driverServiceIngressList": [
                    {
                        "serviceMetadata": {"name": "ui"},
                        "serviceSpec": {"ports": [{"port": 4040}]},
                        "ingressMetadata": {"name": "ui"},
                        "ingresSpec": {},
                    }
                ]
            },
            "spec.driverServiceIngressList[0].ingresSpec: is not a field of spec.driverServiceIngressList[0]: "
            "did you mean ingressSpec?",
        ),
    ],
)
def test_unknown_field_is_an_error_with_a_suggestion(spec: dict[str, Any], problem: str) -> None:
    assert find_errors(**spec) == [problem]


def test_unknown_field_at_the_top_is_an_error() -> None:
    document = build_application_document() | {"foo": 1, "metdata": {}}
    assert [str(each) for each in validate_application(document)] == [
        "foo: is not a field of SparkApplication: remove it",
        "metdata: is not a field of SparkApplication: did you mean metadata?",
    ]


def test_unknown_field_of_the_metadata_is_an_error() -> None:
    document = build_application_document()
    document["metadata"]["lables"] = {}
    (problem,) = validate_application(document)
    assert problem.path == "metadata.lables"
    assert problem.message.endswith("did you mean labels?")
    assert problem.is_error


def test_unknown_field_does_not_stop_an_operator_from_running_the_resource() -> None:
    (problem,) = validate_application(build_application_document(sparkConfs={}))
    assert problem.is_error
    assert not problem.is_refused


TEMPLATE = "spec.driverSpec.podTemplateSpec"


@pytest.mark.parametrize(
    ("template", "path", "suggestion"),
    [
        pytest.param({"spec": {"nodeSelectr": {}}}, f"{TEMPLATE}.spec.nodeSelectr", "nodeSelector", id="pod"),
        pytest.param(
            {"spec": {"containers": [{"name": "a", "env": [{"name": "A", "nam": "A"}]}]}},
            f"{TEMPLATE}.spec.containers[0].env[0].nam",
            "name",
            id="list",
        ),
        pytest.param(
            {"metadata": {"annotation": {}}, "spec": {}},
            f"{TEMPLATE}.metadata.annotation",
            "annotations",
            id="metadata",
        ),
    ],
)
def test_unknown_field_of_a_pod_template_is_a_warning_with_a_suggestion(
    template: dict[str, Any], path: str, suggestion: str
) -> None:
    (problem,) = validate_application(build_application_document(driverSpec={"podTemplateSpec": template}))
    assert problem.severity is Severity.WARNING
    assert problem.path == path
    assert f"in Kubernetes {KUBERNETES_VERSION}" in problem.message
    assert re.match(r"is not a field of (core|meta)\.v1\.\w+ in ", problem.message)
    assert problem.message.endswith(f"did you mean {suggestion}?")


def test_known_fields_of_a_pod_template_are_no_problem() -> None:
    pod = {
        "nodeSelector": {"disk": "ssd"},
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}},
        "containers": [{"name": "a", "resources": {"limits": {"nvidia.com/gpu": 1}}, "volumeMounts": []}],
        "volumes": [{"name": "v", "projected": {"sources": [{"configMap": {"name": "c"}}]}}],
    }
    template = {"metadata": {"labels": {"any": "thing"}}, "spec": pod}
    assert find_warnings(driverSpec={"podTemplateSpec": template}) == []


def test_fields_of_the_gateway_api_are_not_checked() -> None:
    route = {
        "serviceMetadata": {"name": "ui"},
        "serviceSpec": {"ports": [{"port": 4040}]},
        "httpRouteMetadata": {"name": "ui"},
        "httpRouteSpec": {"parentRefs": [{"name": "gateway"}], "novelty": 1},
    }
    assert find_errors(driverHttpRouteList=[route]) == []
    assert find_warnings(driverHttpRouteList=[route]) == []


def test_unknown_status_field_is_an_error_unless_status_is_dropped() -> None:
    document = build_application_document(status={"novelty": 1})
    assert [str(problem) for problem in validate(document)] == ["status.novelty: is not a field of status: remove it"]
    assert validate_without_status(document) == []
    history = {"0": {"currentStateSummary": "Submitted", "lastTransitionTime": "2026-01-01T00:00:00Z", "novelty": 1}}
    document = build_application_document(status={"currentState": history["0"], "stateTransitionHistory": history})
    assert [problem.path for problem in validate(document)] == [
        "status.currentState.novelty",
        "status.stateTransitionHistory['0'].novelty",
    ]
    assert [str(problem) for problem in validate_without_status([])] == ["a resource must be an object, not a list"]


def test_fields_of_the_wrong_type_are_reported_once() -> None:
    assert find_errors(configMapSpecs={"name": "a"}) == ["spec.configMapSpecs: must be a list, not an object"]
    assert find_errors(driverSpec=["a"]) == ["spec.driverSpec: must be an object (key: value pairs), not a list"]
    assert find_errors(driverHttpRouteList=["a"]) == [
        "spec.driverHttpRouteList[0]: must be an object (key: value pairs), not a string"
    ]


def test_unknown_field_of_a_peer_in_the_network_policy_is_a_warning() -> None:
    peers: list[dict[str, object]] = [{"podSelector": {}}, {"namespaceSelectors": {}}]
    document = build_cluster_document(worker={"networkPolicy": {"metricsPort": 8081, "metricsIngress": peers}})
    (problem,) = validate_cluster(document)
    assert problem.severity is Severity.WARNING
    assert problem.path == "spec.workerSpec.networkPolicy.metricsIngress[1].namespaceSelectors"


def test_unknown_field_of_a_cluster_is_an_error() -> None:
    document = build_cluster_document()
    document["spec"]["workerSpec"] = {"statefulSetSpecs": {}}
    (problem,) = validate_cluster(document)
    assert str(problem) == (
        "spec.workerSpec.statefulSetSpecs: is not a field of spec.workerSpec: did you mean statefulSetSpec?"
    )


def test_long_unknown_field_is_reported_with_a_short_path() -> None:
    (problem,) = find_errors(**{"f" * 10_000: 1})
    assert problem == f"spec.{'f' * 245}…{'f' * 249}: is not a field of spec: remove it"


def test_kubernetes_fields_match_local_api() -> None:
    # If this fails: python -m tests.core.validation.kubernetes_types
    assert {name: dict(fields) for name, fields in KUBERNETES_FIELDS.items()} == find_types()
    assert KUBERNETES_VERSION == VERSION
