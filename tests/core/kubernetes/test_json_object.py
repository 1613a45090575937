from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import copy_list, copy_object, is_integer
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource


def test_changes_to_copies_do_not_change_document() -> None:
    document = {"object": {"a": 1}, "list": [1]}
    copy_object(document, "object", "object")["a"] = 2
    copy_list(document, "list", "list").append(2)
    assert document == {"object": {"a": 1}, "list": [1]}


@pytest.mark.parametrize("value", [None, {}, []])
def test_missing_part_is_empty(value: Any) -> None:
    assert copy_object({"key": value or None}, "key", "key") == {}
    assert copy_list({}, "key", "key") == []


def test_part_of_another_type_is_reported_with_its_path() -> None:
    with pytest.raises(InvalidResource, match=r"^spec\.a: must be an object$"):
        copy_object({"a": []}, "a", "spec.a")
    with pytest.raises(InvalidResource, match=r"^spec\.a: must be a list$"):
        copy_list({"a": {}}, "a", "spec.a")


@pytest.mark.parametrize(("value", "expected"), [(1, True), (True, False), ("1", False), (1.0, False)])
def test_booleans_are_not_integers(value: object, expected: bool) -> None:
    assert is_integer(value) is expected
