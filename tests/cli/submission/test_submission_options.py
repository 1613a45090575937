"""The options of the parameters."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import click
import pytest

from airflow_provider_spark_operator.cli.submission.submission_options import OPTIONS, read_parameter_values
from airflow_provider_spark_operator.core.parameters.parameter_problems import find_problems
from airflow_provider_spark_operator.core.parameters.parameters import NAMES, STRUCTURED, Form, Parameters


def test_each_parameter_has_an_option() -> None:
    # The arguments of a program are words after the file.
    assert sorted(OPTIONS) == sorted(set(NAMES) - {"arguments"})
    text = {name for name, option in OPTIONS.items() if option.form is Form.TEXT}
    assert not text & set(STRUCTURED)


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("jars", ["a.jar,b.jar", "c.jar"], ["a.jar", "b.jar", "c.jar"]),
        ("env_vars", ["A=1", "B=x=y", "C="], {"A": "1", "B": "x=y", "C": ""}),
        ("secrets", ["name=db,env.USER=user,env.PASSWORD=password"], [
            {"name": "db", "env": {"USER": "user", "PASSWORD": "password"}}]),
        ("secrets", ["{name: db, path: /etc/db}"], [{"name": "db", "path": "/etc/db"}]),
        ("volumes", ["name=v,path=/v,source.emptyDir={}", "name=w,path=/w,claim=w,read_only=true"], [
            {"name": "v", "path": "/v", "source": {"emptyDir": {}}},
            {"name": "w", "path": "/w", "claim": "w", "read_only": "true"},
        ]),
        ("tolerations", ["key=spot,operator=Exists,effect=NoExecute,tolerationSeconds=30"], [
            {"key": "spot", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}]),
        ("dynamic_allocation", "true", "true"),
        ("dynamic_allocation", "min=1,max=5", {"min": "1", "max": "5"}),
        ("restart_policy", "OnFailure", "OnFailure"),
        ("restart_policy", "policy=OnFailure,attempts=3,backoff=2m", {
            "policy": "OnFailure", "attempts": "3", "backoff": timedelta(minutes=2).total_seconds()}),
        ("timeouts", "driver_start=1h,termination=30", {"driver_start": 3600.0, "termination": 30.0}),
    ],
)  # fmt: skip
def test_value_is_read_as_a_valid_parameter(name: str, given: Any, expected: Any) -> None:
    assert read_parameter_values({name: given}) == {name: expected}
    assert find_problems(Parameters(**{name: expected})) == []


def test_template_is_the_text_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "template.yaml"
    file.write_text("spec: {hostNetwork: true}\n")
    assert read_parameter_values({"driver_template": str(file)}) == {"driver_template": file.read_text()}


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("conf", ["=1"]),
        ("secrets", ["name=db,env=x,env.USER=user"]),
        ("secrets", ["{name: [}"]),
        ("secrets", ["name"]),
        ("tolerations", ["tolerationSeconds=soon"]),
        ("timeouts", "driver_start=soon"),
    ],
)
def test_malformed_value_is_a_usage_error(name: str, given: Any) -> None:
    with pytest.raises(click.BadParameter):
        read_parameter_values({name: given})
