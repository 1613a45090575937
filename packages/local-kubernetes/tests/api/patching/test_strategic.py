from typing import Any

import pytest

from local_kubernetes.api.kinds.status import ApiStatusError
from local_kubernetes.api.kinds.types import get_schema
from local_kubernetes.api.patching.strategic import apply_strategic_merge_patch

_FIELDS = ("core.v1.PodSpec", "core.v1.Container", "meta.v1.ObjectMeta")
SCHEMA = {
    "properties": {name: field for type_ in _FIELDS for name, field in get_schema(type_)["properties"].items()}
    | {"service": get_schema("core.v1.ServiceSpec")}
}
CONTAINERS = {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [
        pytest.param(
            CONTAINERS,
            {"containers": [{"name": "b", "image": "2"}]},
            {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]},
            id="an item of a keyed list is merged by its key",
        ),
        pytest.param(
            CONTAINERS,
            {"containers": [{"name": "c"}]},
            {"containers": [{"name": "c"}, *CONTAINERS["containers"]]},
            id="an item with a new key is added",
        ),
        pytest.param(
            CONTAINERS,
            {"containers": [{"name": "a", "$patch": "delete"}]},
            {"containers": [{"name": "b", "image": "1"}]},
            id="an item can be deleted",
        ),
        pytest.param(
            CONTAINERS,
            {"containers": [{"$patch": "replace"}, {"name": "c"}]},
            {"containers": [{"name": "c"}]},
            id="a keyed list can be replaced",
        ),
        pytest.param(
            CONTAINERS,
            {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]},
            {"containers": [{"name": "b", "image": "1"}, {"name": "a", "image": "1"}]},
            id="the order of items can be set",
        ),
        pytest.param({"args": ["1", "2"]}, {"args": ["3"]}, {"args": ["3"]}, id="other lists are replaced"),
        pytest.param(
            {"finalizers": ["a", "b"]},
            {"finalizers": ["c"]},
            {"finalizers": ["c", "a", "b"]},
            id="finalizers are added",
        ),
        pytest.param(
            {"finalizers": ["a", "b"]},
            {"$deleteFromPrimitiveList/finalizers": ["a"]},
            {"finalizers": ["b"]},
            id="finalizers are removed by a directive",
        ),
        pytest.param({"a": {"b": 1}}, {"a": {"$patch": "replace", "c": 2}}, {"a": {"c": 2}}, id="replace"),
        pytest.param({"a": {"b": 1}}, {"a": {"$patch": "delete"}}, {"a": {}}, id="delete"),
        pytest.param({"a": 1, "b": 2}, {"b": None}, {"a": 1}, id="null removes"),
        pytest.param(
            {"strategy": {"type": "R", "rolling": {}}},
            {"strategy": {"$retainKeys": ["type"], "type": "X"}},
            {"strategy": {"type": "X"}},
            id="of a union only the named keys are kept",
        ),
        pytest.param(
            {"service": {"ports": [{"port": 80, "name": "a"}]}},
            {"service": {"ports": [{"port": 80, "name": "b"}]}},
            {"service": {"ports": [{"port": 80, "name": "b"}]}},
            id="a service's ports are merged by port",
        ),
        pytest.param(
            {"ports": [{"containerPort": 80}]},
            {"ports": [{"containerPort": 81}]},
            {"ports": [{"containerPort": 81}, {"containerPort": 80}]},
            id="a container's ports are merged by containerPort",
        ),
    ],
)
def test_strategic_merge_patch_merges_by_key(target: Any, patch: Any, expected: Any) -> None:
    assert apply_strategic_merge_patch(target, patch, SCHEMA) == expected


@pytest.mark.parametrize(
    ("patch", "code"), [({"$patch": "bogus"}, 500), ({"containers": [{"image": "x"}]}, 500), ([1], 400)]
)
def test_invalid_strategic_merge_patch_is_rejected(patch: Any, code: int) -> None:
    with pytest.raises(ApiStatusError) as error:
        apply_strategic_merge_patch(CONTAINERS, patch, SCHEMA)
    assert error.value.code == code
