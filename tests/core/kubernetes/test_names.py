import string

import pytest

from airflow_provider_spark_operator.core.kubernetes.names import (
    build_application_id,
    build_master_pod_name,
    can_label,
    compute_task_identity,
    is_label_selector,
    is_label_value,
    is_namespace,
    is_object_name,
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


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("jobs", True),
        ("jobs-2", True),
        ("", False),
        ("Jobs", False),
        ("-jobs", False),
        ("a.b", False),
        ("a" * 64, False),
    ],
)
def test_namespace_must_be_a_dns_label(name: str, valid: bool) -> None:
    assert is_namespace(name) is valid


@pytest.mark.parametrize(
    ("name", "valid"),
    [("lease", True), ("a.b-c", True), ("", False), ("a..b", False), ("A", False), ("a" * 254, False)],
)
def test_object_name_must_be_a_dns_subdomain(name: str, valid: bool) -> None:
    assert is_object_name(name) is valid


@pytest.mark.parametrize(
    ("text", "valid"), [("spark", True), ("A_b.c", True), ("", False), ("-a", False), ("a b", False), ("a" * 64, False)]
)
def test_label_value_has_at_most_63_characters(text: str, valid: bool) -> None:
    assert is_label_value(text) is valid


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("team=data", True),
        ("team in (a, b),!old", True),
        ("example.com/team!=x", True),
        ("size>3", True),
        ("", False),
        ("team=", True),
        ("team in a", False),
        ("=x", False),
    ],
)
def test_label_selector_must_have_a_requirement(text: str, valid: bool) -> None:
    assert is_label_selector(text) is valid
