from typing import Any

import pytest

from local_kubernetes.api.rules.structural import find_schema_causes

from api.builders import build_definition


def test_valid_schema_has_no_errors() -> None:
    schema = build_definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert list(find_schema_causes(schema, "s")) == []


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ({"type": "text"}, "s.type"),
        (
            {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "text"}}}},
            "s.properties[a].items.type",
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string", "pattern": "("}},
            "s.additionalProperties.pattern",
        ),
        ({"type": "string", "pattern": "("}, "s.pattern"),
    ],
)
def test_schema_errors_have_their_path(schema: Any, field: str) -> None:
    assert [cause.field for cause in find_schema_causes(schema, "s")] == [field]


@pytest.mark.parametrize(
    ("schema", "fields"),
    [
        ({"properties": {"a": {}}}, ["s.type", "s.properties[a].type"]),
        ({"type": "object", "additionalProperties": {}}, ["s.additionalProperties.type"]),
        ({"x-kubernetes-int-or-string": True}, []),
        ({"x-kubernetes-preserve-unknown-fields": True}, []),
    ],
)
def test_schema_without_type_is_rejected(schema: Any, fields: list[str]) -> None:
    assert [cause.field for cause in find_schema_causes(schema, "s")] == fields
