"""Malformed entries are found with their paths."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.convert.normalize import find_shape_problems


@pytest.mark.parametrize(
    ("spec", "paths"),
    [
        ({"volumes": [{"emptyDir": {}}]}, ["spec.volumes[0].name"]),
        ({"driver": {"envSecretKeyRefs": {"A": {"name": "s"}}}}, ["spec.driver.envSecretKeyRefs.A.key"]),
        (
            {"driver": {"envSecretKeyRefs": {"A": "s"}}},
            ["spec.driver.envSecretKeyRefs.A.name", "spec.driver.envSecretKeyRefs.A.key"],
        ),
        ({"driver": {"envSecretKeyRefs": {"A": {"name": "s", "key": "k"}}}}, []),
        ({"executor": {"template": {"spec": {"containers": ["x"]}}}}, ["spec.executor.template.spec.containers"]),
        ({"executor": {"template": {"spec": {"containers": "x"}}}}, ["spec.executor.template.spec.containers"]),
        (
            {"driver": {"template": {"spec": {"containers": [{"env": ["x"], "resources": "x"}]}}}},
            ["spec.driver.template.spec.containers[0].env", "spec.driver.template.spec.containers[0].resources"],
        ),
    ],
)
def test_malformed_entry_is_reported_with_its_path(spec: Any, paths: list[str]) -> None:
    assert [problem.path for problem in find_shape_problems(spec)] == paths
