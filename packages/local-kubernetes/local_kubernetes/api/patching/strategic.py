"""Strategic merge patches: merge patches that know the keys of lists.

The schemas of built-in kinds name the keys (`x-kubernetes-patch-merge-key`).
"""

from collections.abc import Callable
from typing import Any

from ..kinds.documents import copy_json
from ..kinds.status import ApiStatusError, build_bad_request
from ..kinds.types import PATCH_KEY, PATCH_STRATEGY, Schema, get_field, get_items

_DIRECTIVE = "$patch"
_DELETE_ITEMS = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"
_RETAIN = "$retainKeys"


def apply_strategic_merge_patch(target: Any, patch: Any, schema: Schema) -> Any:
    """Apply a strategic merge patch to an object with a schema.

    Raises:
        ApiStatusError: 400 if it is not an object; 500, as in Kubernetes, for unknown directives and items without
            their key.
    """
    if not isinstance(patch, dict):
        raise build_bad_request("strategic merge patch: an object is expected")
    return _merge(target if isinstance(target, dict) else {}, patch, schema)


def _merge(target: dict[str, Any], patch: dict[str, Any], schema: Schema) -> dict[str, Any]:
    directive = patch.get(_DIRECTIVE)
    if directive == "replace":
        return {key: copy_json(value) for key, value in patch.items() if key != _DIRECTIVE}
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise _build_unusable(f"unknown patch type: {directive}")
    result = dict(target)
    if not isinstance(patch.get(_RETAIN, []), list):
        raise build_bad_request("invalid patch format of retainKeys")
    if _RETAIN in patch:
        result = {key: value for key, value in result.items() if key in patch[_RETAIN]}
    for key, value in patch.items():
        if key.startswith("$"):
            continue
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merge_value(key, result.get(key), value, get_field(schema, key))
    return _with_list_directives(result, patch, schema)


def _merge_value(field: str, current: Any, value: Any, schema: Schema) -> Any:
    if isinstance(value, dict):
        return _merge(current if isinstance(current, dict) else {}, value, schema)
    if not isinstance(value, list):
        return value
    current = current if isinstance(current, list) else []
    if schema.get(PATCH_STRATEGY) != "merge":
        return [copy_json(item) for item in value if item != {_DIRECTIVE: "replace"}]
    if PATCH_KEY not in schema:
        return _interleave([item for item in current if item not in value], list(value), current)
    if not all(isinstance(item, dict) for item in value):
        raise _build_unusable(f"{field}: a list of objects is expected")
    return _merge_lists(current, value, schema[PATCH_KEY], get_items(schema))


def _merge_lists(current: list[Any], patch: list[dict[str, Any]], key: str, schema: Schema) -> list[Any]:
    if any(item.get(_DIRECTIVE) == "replace" and key not in item for item in patch):
        return [copy_json(item) for item in patch if item.get(_DIRECTIVE) != "replace"]
    result = list(current)
    for item in patch:
        if key not in item:
            raise _build_unusable(f"map: {item} does not contain declared merge key: {key}")
        place = next((i for i, found in enumerate(result) if found.get(key) == item[key]), None)
        if item.get(_DIRECTIVE) == "delete":
            result = [found for found in result if found.get(key) != item[key]]
        elif place is None:
            result.append(_merge({}, item, schema))
        else:
            result[place] = _merge(result[place], item, schema)
    return _arrange_items(result, [item[key] for item in patch], current, lambda item: item.get(key))


def _arrange_items(items: list[Any], asked: list[Any], present: list[Any], name: Callable[[Any], Any]) -> list[Any]:
    """Return the items of the patch in its order, with the other items between them where they fit best."""
    others = [item for item in items if name(item) not in asked]
    chosen = [item for value in asked for item in items if name(item) == value]
    return _interleave(others, chosen, [name(item) for item in present], name)


def _interleave(
    others: list[Any], asked: list[Any], present: list[Any], name: Callable[[Any], Any] = lambda item: item
) -> list[Any]:
    """Merge two lists that keep their order; an item of `others` stands before the first item that it preceded."""
    result: list[Any] = []
    left, right = list(others), list(asked)
    while left and right:
        one, other = name(left[0]), name(right[0])
        first = one in present and other in present and present.index(one) < present.index(other)
        result.append(left.pop(0) if first else right.pop(0))
    return result + left + right


def _with_list_directives(result: dict[str, Any], patch: dict[str, Any], schema: Schema) -> dict[str, Any]:
    for directive, value in patch.items():
        if directive.startswith(_DELETE_ITEMS):
            field = directive.removeprefix(_DELETE_ITEMS)
            result[field] = [item for item in result.get(field) or [] if item not in value]
    for directive, value in patch.items():
        if directive.startswith(_ORDER):
            if not isinstance(value, list):
                raise _build_unusable(f"{directive}: a list is expected")
            field = directive.removeprefix(_ORDER)
            if isinstance(result.get(field), list):
                result[field] = _order_items(get_field(schema, field).get(PATCH_KEY), result[field], value)
    return result


def _order_items(key: str | None, items: list[Any], order: list[Any]) -> list[Any]:
    """Return the items in the order that the patch requests; items that it does not name keep theirs."""

    def name(item: Any) -> Any:
        return item.get(key) if key and isinstance(item, dict) else item

    return _arrange_items(items, [name(item) for item in order], items, name)


def _build_unusable(why: str) -> ApiStatusError:
    """Return 500, as in Kubernetes: the patch is incomplete."""
    return ApiStatusError(500, "", why)
