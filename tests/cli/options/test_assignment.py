"""Assignments of single fields by their paths."""

from typing import Any

import pytest

from airflow_provider_spark_operator.cli.options.assignment import assign, format_path, parse_assignment, read_value_at
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("a=1", ("a",), "1"),
        ("a.b=x=y", ("a", "b"), "x=y"),
        ("a.b=", ("a", "b"), ""),
        ('a["b.c"].d=1', ("a", "b.c", "d"), "1"),
        ("a['b=c']=1", ("a", "b=c"), "1"),
        (r"a.b\.c=1", ("a", "b.c"), "1"),
        ("a[0].b[10]=1", ("a", 0, "b", 10), "1"),
    ],
)
def test_path_and_value_are_parsed(text: str, path: tuple[str | int, ...], value: str) -> None:
    assert parse_assignment(text) == (path, value)


@pytest.mark.parametrize("text", ["", "a", "=1", "a.=1", ".a=1", "a..b=1", "[0]=1", "a[x]=1", "a[0=1", "a[]=1"])
def test_malformed_assignment_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be PATH=VALUE"):
        parse_assignment(text)


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("a",), 2, {"a": 2, "l": [1]}),
        (("b", "c"), 2, {"a": 1, "l": [1], "b": {"c": 2}}),
        (("b", 0, "c"), 2, {"a": 1, "l": [1], "b": [{"c": 2}]}),
        (("l", 0), 2, {"a": 1, "l": [2]}),
        (("l", 1), 2, {"a": 1, "l": [1, 2]}),
        (("l", 0), None, {"a": 1, "l": []}),
        (("a",), None, {"l": [1]}),
        (("x",), None, {"a": 1, "l": [1]}),
    ],
)
def test_value_is_set_in_a_copy(path: tuple[str | int, ...], value: object, expected: dict[str, Any]) -> None:
    document = {"a": 1, "l": [1]}
    assert assign(document, path, value) == expected
    assert document == {"a": 1, "l": [1]}


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (("a", "b"), "a: is not an object, so b cannot be set"),
        (("a", 0), r"a: is not a list, so \[0\] cannot be set"),
        (("l", "b", "c"), "l: is not an object, so b cannot be set"),
        (("l", 3), r"l: has 1 entries, so \[3\] cannot be set"),
    ],
)
def test_path_into_another_value_is_refused(path: tuple[str | int, ...], message: str) -> None:
    with pytest.raises(InvalidResource, match=message):
        assign({"a": 1, "l": [1]}, path, 2)


def test_path_is_formatted_as_it_is_written() -> None:
    assert format_path(("a", 0, "b.c", "d")) == 'a[0]["b.c"].d'


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (
            "spec.sparkConf.spark.executor.memory=2g",
            'spec.sparkConf: is a map of strings: write spec.sparkConf["spark.executor.memory"]',
        ),
        (
            "metadata.labels.app.kubernetes.io/name=pi",
            'metadata.labels: is a map of strings: write metadata.labels["app.kubernetes.io/name"]',
        ),
        (
            "spec.driverSpec.podTemplateSpec.metadata.annotations.example.com/team=a",
            'write spec.driverSpec.podTemplateSpec.metadata.annotations["example.com/team"]',
        ),
    ],
    ids=["property", "label", "annotation of a pod"],
)
def test_key_that_was_split_at_its_dots_is_refused_with_the_right_path(text: str, advice: str) -> None:
    path, value = parse_assignment(text)
    with pytest.raises(InvalidResource) as caught:
        read_value_at({"apiVersion": "spark.apache.org/v1", "kind": "SparkApplication"}, path, value)
    assert advice in str(caught.value)
    assert "because the key contains dots" in str(caught.value)
