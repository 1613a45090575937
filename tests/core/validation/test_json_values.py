import json
import math
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.problems import Problem
from airflow_provider_spark_operator.core.validation.application import validate_application
from airflow_provider_spark_operator.core.validation.cluster import validate_cluster
from airflow_provider_spark_operator.core.validation.json_values import find_json_problems
from tests.builders import build_application_document
from tests.core.cluster_resources.clusters import build_cluster_document


def test_json_values_have_no_problem() -> None:
    document = {"a": [1, -1.5, True, None, "2026-01-01", (1, 2)], "b": {"c": {}}, "d": 2**80}
    assert find_json_problems(document) == []
    assert find_json_problems(MappingProxyType(document)) == []


@pytest.mark.parametrize("key", [1, 1.5, True, None], ids=str)
def test_scalar_keys_become_strings(key: float | None) -> None:
    assert find_json_problems({"a": {key: 1}}) == []
    json.dumps({"a": {key: 1}})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (date(2026, 1, 1), "must be a string, not a date: put it in quotes"),
        (datetime(2026, 1, 1, tzinfo=UTC), "must be a string, not a date: put it in quotes"),
        (b"\x00", "must be a string, a number, true or false, a list or an object, not binary data"),
        ({1, 2}, "must be a string, a number, true or false, a list or an object, not a set"),
        (math.nan, "must be a finite number"),
        (-math.inf, "must be a finite number"),
        ({date(2026, 1, 1): 1}, "has a key that is a date, not a string: put the key in quotes"),
    ],
    ids=["date", "time", "binary", "set", "nan", "infinity", "key"],
)
def test_value_that_json_cannot_represent_is_reported_with_path(value: object, message: str) -> None:
    assert find_json_problems({"spec": {"hosts": ["x", {"a.b": value}]}}) == [Problem("spec.hosts[1]['a.b']", message)]


def test_every_value_that_json_cannot_represent_is_reported() -> None:
    day = date(2026, 1, 1)
    assert [problem.path for problem in find_json_problems({"a": day, "b": [day, {"c": day}]})] == [
        "a",
        "b[0]",
        "b[1].c",
    ]


def test_value_that_contains_itself_is_reported() -> None:
    document: dict[str, Any] = {"spec": {"a": [1]}}
    document["spec"]["a"].append(document["spec"])
    assert find_json_problems(document) == [
        Problem("spec.a[1]", "contains itself: replace the YAML alias with a copy of its content")
    ]
    document = {}
    document["self"] = document
    assert [problem.path for problem in find_json_problems(document)] == ["self"]


def test_shared_value_is_checked_once() -> None:
    shared: Any = [date(2026, 1, 1)]
    for _ in range(50):  # would contain 2 ** 50 dates if written out
        shared = [shared, shared]
    assert len(find_json_problems({"a": shared})) == 1


def test_deeply_nested_document_is_a_problem() -> None:
    deep: Any = {}
    for _ in range(2000):
        deep = {"a": deep}
    (problem,) = find_json_problems(deep)
    assert problem.message.startswith("is nested more than 100 levels deep")


@pytest.mark.parametrize(
    ("validate", "document"),
    [(validate_application, build_application_document()), (validate_cluster, build_cluster_document())],
    ids=["application", "cluster"],
)
def test_resource_with_value_that_json_cannot_represent_is_invalid(
    validate: Callable[[object], Sequence[Problem]], document: dict[str, Any]
) -> None:
    document["spec"]["novelty"] = {"since": date(2026, 1, 1)}
    assert [str(problem) for problem in validate(document)] == [
        "spec.novelty.since: must be a string, not a date: put it in quotes"
    ]


@pytest.mark.parametrize(
    "spec", [{"driverArgs": ["a"] * 3001}, {"a": {str(number): {} for number in range(3001)}}], ids=["list", "object"]
)
def test_document_with_too_many_values_is_refused_in_one_sentence(spec: dict[str, Any]) -> None:
    assert find_json_problems({"spec": spec}) == [
        Problem(
            "", "the resource has more than 3000 values: move data into a file or a ConfigMap that the driver reads"
        )
    ]


def test_values_that_the_cluster_writes_are_not_limited() -> None:
    many: dict[str, Any] = {str(number): {} for number in range(3001)}
    assert find_json_problems({"metadata": {"managedFields": [many]}, "spec": {}, "status": many}) == []


def test_number_of_reported_problems_is_limited() -> None:
    assert len(find_json_problems({"spec": [date(2026, 1, 1)] * 2000})) == 100
