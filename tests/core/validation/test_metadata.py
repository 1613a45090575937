"""Validation of labels, annotations and finalizers in resources of every kind."""

from collections.abc import Callable
from typing import Any

import pytest

from airflow_provider_spark_operator.core.validation.validate import validate
from tests.builders import build_application_document
from tests.core.cluster_resources.clusters import build_cluster_document
from tests.core.validation.test_validate import build_kubeflow_document

KEY = "use at most 63 letters, digits, '-', '_' and '.', and begin and end with a letter or digit"
BUILDERS = [build_application_document, build_cluster_document, build_kubeflow_document]


def find_problems(build: Any, **metadata: Any) -> list[str]:
    document = build()
    document["metadata"] = document["metadata"] | metadata
    found = validate(document)
    assert all(problem.is_refused for problem in found), "the API server refuses it"
    return [str(problem) for problem in found]


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"labels": {"a b": "c"}}, f"metadata.labels['a b']: is not a valid label key: {KEY}"),
        ({"labels": {"": "c"}}, "metadata.labels['']: is not a valid label key"),
        ({"labels": {"A.b/c": "d"}}, "metadata.labels['A.b/c']: is not a valid label key"),
        ({"labels": {"a": 1}}, "metadata.labels.a: must be a string, not a number: put it in quotes"),
        ({"labels": {"a": "b c"}}, f"metadata.labels.a: 'b c' is not a valid label value: {KEY}"),
        ({"labels": {"a": "x" * 64}}, "metadata.labels.a: 'xxx"),
        ({"labels": ["a"]}, "metadata.labels: must be an object (key: value pairs), not a list"),
        ({"annotations": {"a": 1}}, "metadata.annotations.a: must be a string, not a number: put it in quotes"),
        ({"annotations": {"a/b/c": ""}}, "metadata.annotations['a/b/c']: is not a valid annotation key"),
        ({"finalizers": ["x y"]}, f"metadata.finalizers[0]: 'x y' is not a valid finalizer: {KEY}"),
        ({"finalizers": ["a.b/c", 1]}, "metadata.finalizers[1]: must be a string, not a number: put it in quotes"),
        ({"finalizers": "a"}, "metadata.finalizers: must be a list, not a string"),
    ],
)
def test_metadata_that_api_server_rejects_is_an_error(
    build: Callable[..., object], metadata: dict[str, Any], expected: str
) -> None:
    (problem,) = find_problems(build, **metadata)
    assert problem.startswith(expected)


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"a": "", "b": None, "example.com/c": "D.e_f-1"}, "annotations": None, "finalizers": None},
        {"annotations": {"Example.com/a": "any text, of any length " * 10}, "finalizers": ["example.com/a", "b"]},
    ],
)
def test_metadata_that_api_server_accepts_is_valid(build: Callable[..., object], metadata: dict[str, Any]) -> None:
    assert find_problems(build, **metadata) == []
