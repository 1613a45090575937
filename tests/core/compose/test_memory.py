"""The memory of an application after earlier tries ran out of memory."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.compose.application import TaskSettings, compose_application
from airflow_provider_spark_operator.core.compose.memory import MemoryGrowth, find_limits, grow_memory, is_size
from airflow_provider_spark_operator.core.parameters.parameters import Parameters


def test_memory_grows_for_roles_with_factor() -> None:
    memory = {"spark.driver.memory": "2g", "spark.executor.memory": "1g", "spark.executor.memoryOverhead": "512"}
    assert grow_memory(memory, MemoryGrowth()) == {}
    assert grow_memory(memory, MemoryGrowth({"driver": 1.5})) == {"spark.driver.memory": "3072m"}
    assert grow_memory(memory, MemoryGrowth({"driver": 2.25, "executor": 1.5})) == {
        "spark.driver.memory": "4608m",
        "spark.executor.memory": "1536m",
        "spark.executor.memoryOverhead": "768m",
    }


def test_memory_grows_from_spark_default() -> None:
    assert grow_memory({}, MemoryGrowth({"driver": 2.0})) == {"spark.driver.memory": "2048m"}


@pytest.mark.parametrize(("size", "grown"), [("4g", "6144m"), ("8g", "8192m"), ("512m", "2048m"), ("100k", "4m")])
def test_memory_grows_up_to_limit_and_never_shrinks(size: str, grown: str) -> None:
    growth = MemoryGrowth({"driver": 4.0}, limit="6g")
    assert grow_memory({"spark.driver.memory": size}, growth) == {"spark.driver.memory": grown}


@pytest.mark.parametrize("size", ["", "abc", "1.5g"])
def test_invalid_memory_size_is_unchanged(size: str) -> None:
    memory, growth = {"spark.driver.memory": size}, MemoryGrowth({"driver": 2.0}, limit="6g")
    assert grow_memory(memory, growth) == {}
    assert find_limits(memory, growth) == {}


@pytest.mark.parametrize(
    ("memory", "reached"),
    [
        ({"spark.driver.memory": "6g"}, True),
        ({"spark.driver.memory": "8g", "spark.driver.memoryOverhead": "7g"}, True),
        ({"spark.driver.memory": "6g", "spark.driver.memoryOverhead": "1g"}, False),
        ({"spark.driver.memory": "5g"}, False),
        ({}, False),
    ],
)
def test_limit_is_reached_when_all_sizes_of_role_reach_it(memory: dict[str, str], reached: bool) -> None:
    assert find_limits(memory, MemoryGrowth({"driver": 2.0}, limit="6g")) == {"driver": reached}


def test_no_limit_is_reached_without_factor_or_limit() -> None:
    assert find_limits({"spark.driver.memory": "9t"}, MemoryGrowth({"driver": 2.0})) == {"driver": False}
    assert find_limits({"spark.driver.memory": "9t"}, MemoryGrowth(limit="6g")) == {}


@pytest.mark.parametrize(
    ("api_version", "spec"),
    [
        ("spark.apache.org/v1", {"sparkConf": {"spark.driver.memory": "3072m"}}),
        ("sparkoperator.k8s.io/v1beta2", {"driver": {"memory": "3072m", "cores": 1}}),
    ],
)
def test_grown_memory_is_written_in_fields_of_dialect(api_version: str, spec: dict[str, Any]) -> None:
    document = {"apiVersion": api_version, "kind": "SparkApplication", "spec": {}}
    settings = TaskSettings(memory=MemoryGrowth({"driver": 1.5}))
    made = compose_application(document, Parameters(driver_memory="2g"), settings)["spec"]
    for field, value in spec.items():
        assert made[field] == value


@pytest.mark.parametrize(("text", "valid"), [("32g", True), (" 512MB ", True), ("32", False), ("lots", False)])
def test_memory_size_requires_unit(text: str, valid: bool) -> None:
    assert is_size(text) is valid
