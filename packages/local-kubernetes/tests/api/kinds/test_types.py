import pytest

from local_kubernetes.api.kinds.kinds import BUILT_IN_KINDS, Kind
from local_kubernetes.api.kinds.types import get_schema, get_type_name


@pytest.mark.parametrize("kind", BUILT_IN_KINDS, ids=lambda kind: kind.qualified_name)
def test_every_built_in_kind_has_a_type(kind: Kind) -> None:
    fields = get_schema(get_type_name(kind.group, kind.versions[0], kind.kind))["properties"]
    assert {"apiVersion", "kind", "metadata"} <= fields.keys()


def test_field_has_a_type_and_merge_keys() -> None:
    spec = get_schema("core.v1.PodSpec")["properties"]
    assert spec["hostNetwork"] == {"type": "boolean"}
    assert spec["activeDeadlineSeconds"] == {"type": "integer", "format": "int64"}
    assert spec["containers"]["items"]["properties"]["image"] == {"type": "string"}
    assert spec["containers"]["x-kubernetes-list-map-keys"] == ["name"]
    assert spec["containers"]["x-kubernetes-patch-merge-key"] == "name"
    assert spec["nodeSelector"]["x-kubernetes-map-type"] == "atomic"
    assert "x-kubernetes-list-type" not in spec["tolerations"]
    assert get_schema("meta.v1.ObjectMeta")["properties"]["finalizers"]["x-kubernetes-list-type"] == "set"


def test_recursive_type_has_a_schema() -> None:
    schema = get_schema("apiextensions.v1.JSONSchemaProps")
    assert schema["properties"]["properties"]["additionalProperties"] is schema
