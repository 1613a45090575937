import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.reconcile.reconcilers.resources import (
    build_finalizers_patch,
    build_merge_patch,
    build_status_patch,
)

RESOURCE: JsonObject = {
    "metadata": {"name": "a", "uid": "u", "resourceVersion": "7"},
    "status": {"currentState": {"message": "old"}, "stateTransitionHistory": {"0": {"a": 1}}},
}


@pytest.mark.parametrize(
    ("old", "new", "patch"),
    [
        pytest.param({}, {}, {}, id="nothing"),
        pytest.param({"a": 1}, {"a": 1}, {}, id="equal"),
        pytest.param({"a": 1}, {"a": 2}, {"a": 2}, id="changed"),
        pytest.param({}, {"a": {}}, {"a": {}}, id="new and empty"),
        pytest.param({"a": 1}, {}, {"a": None}, id="gone"),
        pytest.param({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, {"a": {"c": 3}}, id="inside"),
        pytest.param({"a": {"b": 1}}, {"a": {}}, {"a": {"b": None}}, id="gone inside"),
        pytest.param({"a": [1, 2]}, {"a": [1]}, {"a": [1]}, id="lists are replaced"),
        pytest.param({"a": {"b": 1}}, {"a": 1}, {"a": 1}, id="another kind of value"),
    ],
)
def test_merge_patch_contains_only_changes(old: JsonObject, new: JsonObject, patch: JsonObject) -> None:
    assert build_merge_patch(old, new) == patch


def apply(target: object, patch: object) -> object:
    """Apply a merge patch with the pseudo-code of RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = apply(result.get(name), value)
    return result


values = st.recursive(
    st.booleans() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
documents = st.dictionaries(st.sampled_from("abc"), values, max_size=3)


@given(documents, documents)
def test_merge_patch_applied_to_the_old_value_gives_the_new_value(old: JsonObject, new: JsonObject) -> None:
    assert apply(old, build_merge_patch(old, new)) == new


def test_status_patch_has_the_version_of_the_resource() -> None:
    assert build_status_patch(RESOURCE, {**RESOURCE["status"], "currentState": {"message": "new"}}) == {
        "metadata": {"uid": "u", "resourceVersion": "7"},
        "status": {"currentState": {"message": "new"}},
    }


def test_equal_status_needs_no_patch() -> None:
    assert build_status_patch(RESOURCE, dict(RESOURCE["status"])) is None


def test_patch_of_the_first_status_is_complete() -> None:
    patch = build_status_patch({"metadata": {}}, {"currentState": {}})
    assert patch == {"metadata": {}, "status": {"currentState": {}}}


def test_finalizers_patch_has_the_version_of_the_resource() -> None:
    assert build_finalizers_patch(RESOURCE, ["f"]) == {
        "metadata": {"uid": "u", "resourceVersion": "7", "finalizers": ["f"]}
    }
