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
        ({"properties": {"a": {"items": {"type": "text"}}}}, "s.properties[a].items.type"),
        ({"additionalProperties": {"pattern": "("}}, "s.additionalProperties.pattern"),
        ({"pattern": "("}, "s.pattern"),
        ({"multipleOf": 0}, "s.multipleOf"),
        ({"anyOf": [{"type": "text"}]}, "s.anyOf[0].type"),
    ],
)
def test_schema_errors_have_their_path(schema: Any, field: str) -> None:
    assert [cause.field for cause in find_schema_causes(schema, "s", typed=False)] == [field]


@pytest.mark.parametrize(
    ("schema", "fields"),
    [
        ({"properties": {"a": {}}}, ["s.type", "s.properties[a].type"]),
        ({"type": "object", "additionalProperties": {}}, ["s.additionalProperties.type"]),
        ({"type": "integer", "anyOf": [{"minimum": 1}], "not": {"minimum": 5}}, []),
        ({"x-kubernetes-int-or-string": True}, []),
        ({"x-kubernetes-preserve-unknown-fields": True}, []),
    ],
)
def test_schema_without_type_is_rejected(schema: Any, fields: list[str]) -> None:
    assert [cause.field for cause in find_schema_causes(schema, "s")] == fields
