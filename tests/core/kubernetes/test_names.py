import string

import pytest

from airflow_provider_spark_operator.core.kubernetes.names import (
    build_application_id,
    build_master_pod_name,
    can_label,
    compute_task_identity,
)


@pytest.mark.parametrize(
    ("name", "attempt", "expected"),
    [
        pytest.param("pi", 0, "pi-0", id="short"),
        pytest.param("x" * 44, 3, "x" * 44 + "-3", id="maximum length"),
        pytest.param(
            "a-very-long-application-name-that-exceeds-the-limit-x1",
            0,
            "a-very-lo-3via6l8k2bnnzxfokmh79w1acy2gf6tlj5nq",
            id="too long",
        ),
    ],
)
def test_application_id_equals_that_of_the_apache_operator(name: str, attempt: int, expected: str) -> None:
    assert build_application_id("ns1", name, attempt) == expected


def test_task_identity_is_a_hexadecimal_label_value_that_depends_on_all_parts() -> None:
    parts = ("dag", "task", "scheduled__2026-01-01T00:00:00+00:00", -1)
    identity = compute_task_identity(*parts)
    assert len(identity) == 40
    assert set(identity) <= set(string.hexdigits)
    others = [("dag2", *parts[1:]), ("dag", "task2", *parts[2:]), (*parts[:3], 0)]
    assert identity not in [compute_task_identity(*other) for other in others]


@pytest.mark.parametrize(("length", "expected"), [(63, True), (64, False)])
def test_name_of_more_than_63_characters_cannot_be_a_label(length: int, expected: bool) -> None:
    assert can_label("n" * length) is expected


def test_master_pod_is_the_first_of_its_stateful_set() -> None:
    assert build_master_pod_name("shared") == "shared-master-0"
