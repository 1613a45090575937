"""The values of `--set`: text for fields that are strings, otherwise YAML."""

import re

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.cli.options.assignment import parse_assignment, read_value, read_value_at
from tests.cli.verbs import Verbs
from tests.cluster import Cluster

APACHE = {"apiVersion": "spark.apache.org/v1", "kind": "SparkApplication"}
CLUSTER = {"apiVersion": "spark.apache.org/v1", "kind": "SparkCluster"}
KUBEFLOW = {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication"}
CONTAINER = "spec.driverSpec.podTemplateSpec.spec.containers[0]"


@pytest.mark.parametrize(
    ("document", "assignment", "expected"),
    [
        (APACHE, 'spec.sparkConf["spark.ui.port"]=4050', "4050"),
        (APACHE, "spec.sparkConf={a: 1, b: null, c: yes}", {"a": "1", "b": None, "c": "yes"}),
        (APACHE, "spec.sparkConf={<<: {b: 2}}", {"b": "2"}),
        (APACHE, "spec.sparkConf=null", None),
        (APACHE, "spec.driverArgs=[1, 2.50, no]", ["1", "2.50", "no"]),
        (APACHE, "spec.driverArgs[0]=010", "010"),
        (APACHE, "spec.runtimeVersions.sparkVersion=4.0", "4.0"),
        (APACHE, "metadata.labels.team=1", "1"),
        (APACHE, f"{CONTAINER}.env[0].value=on", "on"),
        (APACHE, f"{CONTAINER}.ports[0].containerPort=80", 80),
        (APACHE, "spec.suspend=true", True),
        (APACHE, "spec.mainClass='1'", "1"),
        (APACHE, "spec.mainClass=2026-01-01 # a comment", "2026-01-01"),
        (APACHE, "spec.mainClass=", ""),
        (APACHE, "spec.unknown=1", 1),
        (CLUSTER, "spec.workerSpec.statefulSetSpec.replicas=3", 3),
        (CLUSTER, "spec.sparkConf.a=1", "1"),
        (KUBEFLOW, "spec.sparkConf.a=1", "1"),
        (KUBEFLOW, "spec.arguments[1]=1", "1"),
        (KUBEFLOW, "spec.driver.cores=1", 1),
    ],
)
def test_value_has_the_type_of_the_field(document: dict[str, object], assignment: str, expected: object) -> None:
    path, text = parse_assignment(assignment)
    assert read_value_at(document, path, text) == expected


def test_text_that_is_not_yaml_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the value .* is not YAML; put it in quotes"):
        read_value("{")


def test_example_of_the_message_is_accepted(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.create("pi")
    example = re.search(
        r"for example (\S+=\S+)", run_verb("restart pi --set spec", ExitCode.INVALID).err.replace("\n", " ")
    )
    assert example is not None
    assert main(["restart", "pi", "--set", example[1].rstrip(".")]) == ExitCode.SUCCESS
    assert scripted_cluster.application()["spec"]["sparkConf"]["spark.ui.port"] == "4050"
