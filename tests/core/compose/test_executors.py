"""Executors on spot nodes, in recovery mode, and resized in place, in both dialects."""

from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.compose.application import apply_parameters
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource
from airflow_provider_spark_operator.core.parameters.parameter_problems import find_problems
from airflow_provider_spark_operator.core.parameters.parameters import Parameters
from airflow_provider_spark_operator.core.spark.spot import SPOT_LABELS

APACHE = {"apiVersion": "spark.apache.org/v1"}
KUBEFLOW = {"apiVersion": "sparkoperator.k8s.io/v1beta2"}
BOTH = pytest.mark.parametrize("document", [APACHE, KUBEFLOW], ids=["apache", "kubeflow"])
PLUGIN = "org.apache.spark.scheduler.cluster.k8s.ExecutorResizePlugin"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def write(document: dict[str, Any], **parameters: Any) -> dict[str, Any]:
    spec: dict[str, Any] = apply_parameters(document, Parameters(**parameters))["spec"]
    return spec


def get_pod(spec: dict[str, Any], role: str) -> dict[str, Any]:
    template = spec[f"{role}Spec"]["podTemplateSpec"] if f"{role}Spec" in spec else spec[role]["template"]
    pod: dict[str, Any] = template["spec"]
    return pod


def forbid(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "operator": "NotIn", "values": [value]}


@BOTH
@pytest.mark.parametrize(
    ("given", "key", "value"),
    [
        *((name, *label) for name, label in SPOT_LABELS.items()),
        ({"example.com/spot": True}, "example.com/spot", "true"),
    ],
    ids=[*SPOT_LABELS, "own label"],
)
def test_executors_run_on_spot_nodes_and_the_driver_on_others(
    document: dict[str, Any], given: Any, key: str, value: str
) -> None:
    spec = write(document, executors_on_spot=given)
    conf = spec["sparkConf"]
    assert conf[f"spark.kubernetes.executor.node.selector.{key}"] == value
    assert f"spark.kubernetes.driver.node.selector.{key}" not in conf
    assert conf["spark.decommission.enabled"] == conf["spark.storage.decommission.enabled"] == "true"
    toleration = {"key": key, "operator": "Equal", "value": value, "effect": "NoSchedule"}
    assert get_pod(spec, "executor")["tolerations"] == [toleration]
    driver = get_pod(spec, "driver")
    assert "tolerations" not in driver
    (term,) = driver["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    assert term == {"matchExpressions": [forbid(key, value)]}


def test_requirement_of_the_driver_is_added_to_each_alternative_of_its_template() -> None:
    zones = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]} for zone in "ab"]
    own = {"podAffinity": {}, "nodeAffinity": {"preferred": [], REQUIRED: {"nodeSelectorTerms": zones}}}
    spec = write(APACHE, executors_on_spot="gke", driver_template={"spec": {"affinity": own}})
    affinity = get_pod(spec, "driver")["affinity"]
    spot = forbid("cloud.google.com/gke-spot", "true")
    assert affinity["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] == [
        {"matchExpressions": [*zone["matchExpressions"], spot]} for zone in zones
    ]
    assert affinity["podAffinity"] == {}
    assert affinity["nodeAffinity"]["preferred"] == []


@BOTH
def test_given_properties_and_tolerations_are_kept(document: dict[str, Any]) -> None:
    own = {"key": "team", "operator": "Exists"}
    conf = {"spark.storage.decommission.enabled": False, "spark.plugins": "com.example.Plugin"}
    spec = write(document, executors_on_spot="eks", tolerations=[own], conf=conf, executor_resize=60)
    assert spec["sparkConf"]["spark.storage.decommission.enabled"] == "false"
    assert spec["sparkConf"]["spark.plugins"] == f"com.example.Plugin,{PLUGIN}"
    assert own in get_pod(spec, "executor")["tolerations"]
    assert get_pod(spec, "driver")["tolerations"] == [own]


@BOTH
@pytest.mark.parametrize("value", [timedelta(minutes=1), 60, 59.2, "60"], ids=repr)
def test_resize_registers_the_plugin_with_its_interval(document: dict[str, Any], value: Any) -> None:
    conf = write(document, executor_resize=value)["sparkConf"]
    assert conf == {"spark.plugins": PLUGIN, "spark.kubernetes.executor.resizeInterval": "60s"}


@BOTH
@pytest.mark.parametrize(("value", "text"), [(0, "0s"), (0.3, "1s")])
def test_only_an_interval_of_zero_disables_the_resize(document: dict[str, Any], value: float, text: str) -> None:
    assert write(document, executor_resize=value)["sparkConf"]["spark.kubernetes.executor.resizeInterval"] == text


@BOTH
@pytest.mark.parametrize(("value", "text"), [(True, "true"), (False, "false"), ("True", "true")], ids=repr)
def test_recovery_mode_is_a_property(document: dict[str, Any], value: Any, text: str) -> None:
    conf = write(document, executor_recovery=value)["sparkConf"]
    assert conf == {"spark.kubernetes.allocation.recoveryMode.enabled": text}


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"executors_on_spot": "azure"}, "executors_on_spot: must be one of aks, eks, gke, karpenter"),
        ({"executors_on_spot": {"a": "1", "b": "2"}}, "executors_on_spot: must be one label"),
        ({"executors_on_spot": {}}, "executors_on_spot: must be one label"),
        ({"executors_on_spot": {"a": "b c"}}, "must be a label value"),
        (
            {"executors_on_spot": "gke", "node_selector": {"cloud.google.com/gke-spot": "false"}},
            "node_selector: sets the label of executors_on_spot for all pods",
        ),
        (
            {"executors_on_spot": {"pool": "spot"}, "node_selector": {"pool": "big"}},
            "node_selector: sets the label of executors_on_spot for all pods",
        ),
        ({"executors_on_spot": "gke", "cluster": "shared"}, "executors_on_spot: cannot be set together with cluster"),
        ({"executor_recovery": "maybe"}, "executor_recovery: must be True or False"),
        ({"executor_resize": "often"}, "executor_resize: must be a number of seconds or a timedelta"),
        ({"executor_resize": 60, "image": "spark:4.1.2"}, "executor_resize: requires Spark 4.2, not 4.1.2"),
        ({"executor_recovery": True, "spark_version": "3.5.7"}, "executor_recovery: requires Spark 4.2, not 3.5.7"),
    ],
    ids=repr,
)
def test_invalid_value_is_reported(parameters: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidResource) as caught:
        write(APACHE, **parameters)
    assert problem in str(caught.value)


@pytest.mark.parametrize("image", [None, "spark", "spark:4.2.0", "spark:10.0.0", "{{ var.value.image }}"])
def test_version_that_is_new_or_unknown_is_accepted(image: str | None) -> None:
    assert find_problems(Parameters(executor_resize=60, executor_recovery=True, image=image)) == []
