"""Spark properties that several packages read."""

import pytest

from airflow_provider_spark_operator.core.spark.spark_conf import DYNAMIC_ALLOCATION_KEY, uses_dynamic_allocation


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("true", True),
        ("TRUE", True),
        (True, True),
        ("\t true\n", True),
        ("\u00a0true", False),
        ("false", False),
        ("1", False),
        ("", False),
        (None, False),
    ],
)
def test_dynamic_allocation_is_read_as_spark_reads_booleans(value: object, expected: bool) -> None:
    assert uses_dynamic_allocation({DYNAMIC_ALLOCATION_KEY: value}) is expected


def test_dynamic_allocation_is_off_by_default() -> None:
    assert not uses_dynamic_allocation({})
