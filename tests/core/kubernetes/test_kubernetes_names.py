import pytest

from airflow_provider_spark_operator.core.kubernetes.kubernetes_names import (
    is_label_selector,
    is_label_value,
    is_namespace,
    is_object_name,
)


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
