from typing import Any

import pytest

from airflow_provider_spark_operator.follow.submission.prepare import find_dropped_fields


@pytest.mark.parametrize(
    ("sent", "stored", "dropped"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, []),
        ({"a": 1}, {"a": 2}, []),
        ({"a": 1, "b": 2}, {"a": 1}, ["spec.b"]),
        ({"a": None}, {}, []),
        ({"a": {"b": {"c": 1}}}, {"a": {}}, ["spec.a.b"]),
        ({"a": [{"b": 1}, {"c": 1}]}, {"a": [{"b": 1}, {}]}, ["spec.a[1].c"]),
        ({"a": [1, 2]}, {"a": [1]}, []),
        ({"a": {"b": 1}}, {"a": "text"}, []),
    ],
    ids=["added", "changed", "removed", "null", "only the outermost", "in a list", "a shorter list", "another type"],
)
def test_only_dropped_fields_are_returned(sent: dict[str, Any], stored: dict[str, Any], dropped: list[str]) -> None:
    assert find_dropped_fields({"spec": sent}, {"spec": stored}) == dropped
