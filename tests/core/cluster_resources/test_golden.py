"""The objects of a cluster equal those that the Apache operator created, except for the pod selectors."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.core.cluster_resources.build import build_cluster
from airflow_provider_spark_operator.core.models.cluster import parse_cluster
from tests.core.cluster_resources.clusters import OPERATOR

FOLDER = Path(__file__).parents[2] / "golden" / "apache_operator" / "clusters"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
RECORDED = {path.stem: yaml.load(path.read_text(), Loader=LOADER) for path in sorted(FOLDER.glob("*.yaml"))}
REFUSED_BY_THE_API = {"cluster-min-zero": "HorizontalPodAutoscaler/cl-worker-hpa"}
CLUSTER_LABEL = {"spark.operator/spark-cluster-name": "cl"}

cases = pytest.mark.parametrize("case", RECORDED.values(), ids=RECORDED)


def build_documents(case: dict[str, Any]) -> dict[str, dict[str, Any]]:
    documents = build_cluster(parse_cluster(case["cluster"]), OPERATOR)
    return {f"{each['kind']}/{each['metadata']['name']}": each for each in documents}


def add_server_defaults(document: dict[str, Any]) -> dict[str, Any]:
    """Return the specification as the API server stores it, in the order of the recording."""
    spec: dict[str, Any] = copy.deepcopy(document["spec"])
    DEFAULTS.get(document["kind"], dict)(spec)
    return spec


def add_service_defaults(spec: dict[str, Any]) -> None:
    for name, value in (
        ("clusterIPs", ["None"]),
        ("internalTrafficPolicy", "Cluster"),
        ("ipFamilies", ["IPv4"]),
        ("ipFamilyPolicy", "SingleStack"),
        ("sessionAffinity", "None"),
        ("type", "ClusterIP"),
    ):
        spec.setdefault(name, value)
    for port in spec["ports"]:
        port.setdefault("protocol", "TCP")
    spec["ports"].sort(key=lambda port: port["name"])


def add_stateful_set_defaults(spec: dict[str, Any]) -> None:
    spec.setdefault("persistentVolumeClaimRetentionPolicy", {"whenDeleted": "Retain", "whenScaled": "Retain"})
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("serviceName", "")
    spec.setdefault("updateStrategy", {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}})
    pod = spec["template"]["spec"]
    for name, value in (("dnsPolicy", "ClusterFirst"), ("restartPolicy", "Always"), ("securityContext", {})):
        pod.setdefault(name, value)
    for container in pod["containers"]:
        container.setdefault("imagePullPolicy", "IfNotPresent")
        container.setdefault("resources", {})
        container.setdefault("terminationMessagePath", "/dev/termination-log")
        container.setdefault("terminationMessagePolicy", "File")
        for port in container.get("ports", ()):
            port.setdefault("protocol", "TCP")
        for field in ("env", "ports"):
            if field in container:
                container[field].sort(key=lambda entry: entry["name"])


def add_autoscaler_defaults(spec: dict[str, Any]) -> None:
    if "behavior" in spec:
        spec["behavior"]["scaleDown"].setdefault("selectPolicy", "Max")
        spec["behavior"]["scaleUp"].setdefault("selectPolicy", "Max")
        spec["behavior"]["scaleUp"].setdefault("stabilizationWindowSeconds", 0)


DEFAULTS = {
    "Service": add_service_defaults,
    "StatefulSet": add_stateful_set_defaults,
    "HorizontalPodAutoscaler": add_autoscaler_defaults,
}


@cases
def test_objects_equal_the_recorded_ones_in_the_same_order(
    case: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    refused = REFUSED_BY_THE_API.get(request.node.callspec.id)
    created = [name for name in build_documents(case) if name != refused]
    assert created == case["order"]


@cases
def test_labels_annotations_and_owners_equal_the_recorded_ones(case: dict[str, Any]) -> None:
    documents = build_documents(case)
    for recorded in case["objects"]:
        metadata = documents[f"{recorded['kind']}/{recorded['name']}"]["metadata"]
        assert metadata["labels"] == recorded["labels"]
        assert metadata.get("annotations") == recorded.get("annotations")
        (owner,) = metadata["ownerReferences"]
        assert recorded["owners"] == [f"{owner['kind']}/{owner['name']} controller=False block=True"]
        assert (owner["blockOwnerDeletion"], owner.get("controller", False)) == (True, False)


@cases
def test_specifications_equal_the_recorded_ones_except_for_selectors(case: dict[str, Any]) -> None:
    documents = build_documents(case)
    for recorded in case["objects"]:
        ours = add_server_defaults(documents[f"{recorded['kind']}/{recorded['name']}"])
        if recorded["kind"] == "StatefulSet":
            ours["selector"]["matchLabels"] = {
                name: value for name, value in ours["selector"]["matchLabels"].items() if name not in CLUSTER_LABEL
            }
        assert ours == recorded["spec"]


@cases
def test_selectors_of_stateful_sets_also_contain_the_cluster_label(case: dict[str, Any]) -> None:
    recorded = [each for each in case["objects"] if each["kind"] == "StatefulSet"]
    documents = build_documents(case)
    for each in recorded:
        ours = documents[f"StatefulSet/{each['name']}"]["spec"]["selector"]
        assert ours == {"matchLabels": each["spec"]["selector"]["matchLabels"] | CLUSTER_LABEL}
