"""What the pages say to those who come from Airflow's own operator for Spark on Kubernetes."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.cncf.kubernetes.operators.spark_kubernetes import SparkKubernetesOperator
from airflow.providers.cncf.kubernetes.sensors.spark_kubernetes import SparkKubernetesSensor

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.sensors.spark_application import SparkApplicationSensor

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "guides" / "kubeflow.md").read_text()
TABLES = PAGE.split("## Coming from SparkKubernetesOperator")[1]
ROWS = [row.split(" | ") for row in re.findall(r"^\| (.*) \|$", TABLES, re.MULTILINE)]


def names(cells: Iterator[Any]) -> set[str]:
    return {name for cell in cells for name in re.findall(r"`(\w+)", cell)}


def parameters(
    operator: type[SparkKubernetesOperator]
    | type[SparkKubernetesSensor]
    | type[SparkApplicationOperator]
    | type[SparkApplicationSensor],
) -> set[str]:
    return set(inspect.signature(operator.__init__).parameters) - {"self", "kwargs"}


@pytest.mark.parametrize("theirs", [SparkKubernetesOperator, SparkKubernetesSensor])
def test_every_parameter_of_the_other_operator_is_in_the_table(
    theirs: type[SparkKubernetesOperator] | type[SparkKubernetesSensor],
) -> None:
    assert parameters(theirs) - names(there for there, *_ in ROWS) == set()


@pytest.mark.parametrize("named", ["application", "py_file", "main_class", "jars", "delete_on_kill"])
def test_what_takes_its_place_is_a_parameter_of_ours(named: str) -> None:
    assert named in names(here for _, here in ROWS)
    assert named in parameters(SparkApplicationOperator)


def test_what_takes_its_place_in_the_sensor_is_a_parameter_of_ours() -> None:
    assert {"name", "api_version"} <= parameters(SparkApplicationSensor)
