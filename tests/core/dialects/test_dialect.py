"""The attributes of the dialects, and the supported API versions of SparkApplications."""

import pytest

from airflow_provider_spark_operator.core.dialects.base import Dialect
from airflow_provider_spark_operator.core.dialects.dialect import DIALECTS, find_api_version_problem


@pytest.mark.parametrize("api_version", ["spark.apache.org/v1", "sparkoperator.k8s.io/v1beta2"])
def test_known_api_version_is_no_problem(api_version: str) -> None:
    assert find_api_version_problem(api_version) is None


@pytest.mark.parametrize("api_version", ["spark.apache.org/v9", "sparkoperator.k8s.io/v1", "v1", "", None])
def test_unknown_api_version_is_reported_with_the_known_ones(api_version: object) -> None:
    problem = find_api_version_problem(api_version)
    assert problem is not None
    assert str(problem).endswith(f", not {api_version!r}")
    assert "spark.apache.org/v1" in str(problem)
    assert "sparkoperator.k8s.io/v1beta2" in str(problem)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.group)
def test_dialect_declares_every_attribute(dialect: Dialect) -> None:
    assert [name for name in Dialect.__annotations__ if not hasattr(dialect, name)] == []
    assert dialect.ended_states | dialect.healthy_states | dialect.failed_states <= set(dialect.states)
    assert {dialect.running, dialect.success} <= dialect.healthy_states
    assert not dialect.healthy_states & dialect.failed_states
