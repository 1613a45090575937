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
        ("text", "s"),
        ({"type": "text"}, "s.type"),
        ({"type": ["string"]}, "s.type"),
        ({"properties": []}, "s.properties"),
        ({"properties": {"a": 1}}, "s.properties[a]"),
        ({"properties": {"a": {"items": []}}}, "s.properties[a].items"),
        ({"additionalProperties": "x"}, "s.additionalProperties"),
        ({"required": [[]]}, "s.required"),
        ({"pattern": "("}, "s.pattern"),
        ({"pattern": 1}, "s.pattern"),
        ({"minLength": -1}, "s.minLength"),
        ({"maximum": True}, "s.maximum"),
        ({"multipleOf": 0}, "s.multipleOf"),
        ({"anyOf": [{"type": 1}]}, "s.anyOf[0].type"),
        ({"not": 1}, "s.not"),
        ({"x-kubernetes-int-or-string": "yes"}, "s.x-kubernetes-int-or-string"),
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
