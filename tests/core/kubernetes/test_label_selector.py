from typing import Any

import pytest

from airflow_provider_spark_operator.core.kubernetes.label_selector import parse_label_selector, read_label_selector
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource

LABELS = {"team": "sales", "stage": "live", "example.com/priority": "7", "empty": ""}


@pytest.mark.parametrize(
    "selector",
    [
        "",
        "team",
        "team=sales",
        "team == sales",
        "team!=research",
        "missing!=research",
        "!missing",
        "stage in (test, live)",
        "stage notin (test,dev)",
        "missing notin (test)",
        "example.com/priority>6",
        "example.com/priority < 8",
        "empty=",
        "team=sales,stage in (test,live),!missing",
    ],
)
def test_matching_selector_selects_labels(selector: str) -> None:
    assert parse_label_selector(selector, "label_selector").matches(LABELS)


@pytest.mark.parametrize(
    "selector",
    [
        "missing",
        "team=research",
        "team!=sales",
        "!team",
        "stage in (test, dev)",
        "stage notin (test,live)",
        "example.com/priority>7",
        "example.com/priority<7",
        "team>1",
        "missing>1",
        "team=sales,stage in (test,dev)",
        "stage in (test,live),team=research",
    ],
)
def test_selector_with_unmet_requirement_rejects_labels(selector: str) -> None:
    assert not parse_label_selector(selector, "label_selector").matches(LABELS)


@pytest.mark.parametrize("selector", ["=a", "team=a,", "team in a", "team=a b"])
def test_invalid_selector_is_rejected(selector: str) -> None:
    with pytest.raises(InvalidResource, match=r"^label_selector: invalid label selector"):
        parse_label_selector(selector, "label_selector")


@pytest.mark.parametrize(
    ("selector", "is_match"),
    [
        ({}, True),
        ({"matchLabels": None, "matchExpressions": None}, True),
        ({"matchLabels": {"team": "sales"}}, True),
        ({"matchLabels": {"team": "sales", "stage": "test"}}, False),
        ({"matchExpressions": [{"key": "stage", "operator": "NotIn", "values": ["test"]}]}, True),
        ({"matchExpressions": [{"key": "missing", "operator": "Exists"}]}, False),
        ({"matchLabels": {"team": "sales"}, "matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}, False),
    ],
)
def test_selector_of_a_resource_needs_all_labels_and_expressions(selector: dict[str, Any], is_match: bool) -> None:
    assert read_label_selector(selector).matches(LABELS) is is_match
