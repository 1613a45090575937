"""Documents as sets of fields, which field managers own.

A field is a path of elements in the format of `FieldsV1`. `f:name` is a field of an object, `k:{…}` an item of a
keyed list, `v:…` an item of a set. The schema of a kind says which lists are keyed, and which values have one owner.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..kinds.documents import JsonObject, copy_json
from ..kinds.types import LIST_KEYS, LIST_TYPE, MAP_TYPE, Schema, get_field, get_items, get_schema

Path = tuple[str, ...]

_KEY_DEFAULTS = {"protocol": "TCP"}
_SET = ("",)


def list_leaves(value: Any, schema: Schema, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Return all fields of a value with their values; an item of a keyed list is a field without a value."""
    if isinstance(value, dict) and (not value or _is_atomic(schema)):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from list_leaves(item, _get_field(schema, key, path), (*path, f"f:{key}"))
    elif isinstance(value, list) and (keys := _list_keys(value, schema)) is not None:
        for item in value:
            place = (*path, _build_element(item, keys))
            yield place, None
            if keys != _SET and not _is_atomic(get_items(schema)):
                yield from list_leaves(item, get_items(schema), place)
    else:
        yield path, value


def list_branches(value: Any, schema: Schema, path: Path = ()) -> Iterator[Path]:
    """Return the objects and keyed lists in a value that have their own fields; `list_leaves` names these fields."""
    if isinstance(value, dict) and value and not _is_atomic(schema):
        if path:
            yield path
        for key, item in value.items():
            yield from list_branches(item, _get_field(schema, key, path), (*path, f"f:{key}"))
    elif isinstance(value, list) and value and (keys := _list_keys(value, schema)) is not None:
        yield path
        if keys != _SET:
            for item in value:
                inner = list_branches(item, get_items(schema), (*path, _build_element(item, keys)))
                yield from (branch for branch in inner if len(branch) > len(path) + 1)


def merge(live: Any, config: Any, schema: Schema, path: Path = ()) -> Any:
    """Merge a configuration into a live value: objects and keyed lists are merged, everything else is replaced."""
    if isinstance(config, dict) and isinstance(live, dict) and not _is_atomic(schema):
        result = dict(live)
        for key, item in config.items():
            result[key] = merge(live.get(key), item, _get_field(schema, key, path), (*path, f"f:{key}"))
        return result
    if isinstance(config, list) and isinstance(live, list):
        keys = _list_keys(config + live, schema)
        if keys is not None:
            return _merge_lists(live, config, keys, schema)
    return copy_json(config)


def remove(document: JsonObject, paths: Iterable[Path]) -> JsonObject:
    """Return a document without some fields; objects that become empty are removed as well."""
    result = copy_json(document)
    for path in sorted(paths, key=len):  # an item of a list is removed as a whole, with its key
        _remove(result, path)
    return result


def encode(paths: Iterable[Path]) -> JsonObject:
    """Encode fields as `FieldsV1`."""
    fields: JsonObject = {}
    for path in sorted(paths):
        node = fields
        for element in path:
            node = node.setdefault(element, {})
        node["."] = {}
    return _remove_lone_dots(fields)


def decode(fields: Mapping[str, Any], path: Path = ()) -> Iterator[Path]:
    """Decode the fields of a `FieldsV1`."""
    if path and not fields:
        yield path
    for element, children in fields.items():
        if element == ".":
            yield path
        else:
            yield from decode(children, (*path, element))


def format_path(path: Path) -> str:
    """Format a path for messages: `.spec.containers[name="main"].image`."""
    text = ""
    for element in path:
        if element.startswith("f:"):
            text += f".{element[2:]}"
        elif element.startswith("k:"):
            pairs = json.loads(element[2:]).items()
            text += "[" + ",".join(f"{key}={json.dumps(value)}" for key, value in pairs) + "]"
        else:
            text += f"[={element[2:]}]"
    return text


def _merge_lists(live: list[Any], config: list[Any], keys: tuple[str, ...], schema: Schema) -> list[Any]:
    wanted = {_build_element(item, keys): item for item in config}
    present = {_build_element(item, keys) for item in live}
    result = [
        merge(item, wanted[element], get_items(schema)) if (element := _build_element(item, keys)) in wanted else item
        for item in live
    ]
    return result + [copy_json(item) for element, item in wanted.items() if element not in present]


def _is_atomic(schema: Schema) -> bool:
    """Whether an object has one owner."""
    return schema.get(MAP_TYPE) == "atomic"


def _get_field(schema: Schema, key: str, path: Path) -> Schema:
    """Return the schema of a field; that of the metadata is the same for all kinds."""
    return get_schema("meta.v1.ObjectMeta") if not path and key == "metadata" else get_field(schema, key)


def _list_keys(items: list[Any], schema: Schema) -> tuple[str, ...] | None:
    """Return the keys of a list, `_SET` for a set, or None for a list that is replaced as a whole."""
    objects = all(isinstance(item, dict) for item in items)
    if schema.get(LIST_TYPE) == "set" and not objects:
        return _SET
    return tuple(schema[LIST_KEYS]) if schema.get(LIST_TYPE) == "map" and objects and items else None


def _build_element(item: Any, keys: tuple[str, ...]) -> str:
    if keys == _SET:
        return "v:" + json.dumps(item)
    values = {key: item.get(key, _KEY_DEFAULTS.get(key)) for key in sorted(keys)}
    return "k:" + json.dumps({key: value for key, value in values.items() if value is not None}, separators=(",", ":"))


def _remove(value: Any, path: Path) -> None:
    element, rest = path[0], path[1:]
    if element.startswith("f:"):
        key = element[2:]
        if not isinstance(value, dict) or key not in value:
            return
        if rest:
            _remove(value[key], rest)
        if not rest or value[key] in ({}, []):
            del value[key]
        return
    if not isinstance(value, list):
        return
    wanted = json.loads(element[2:])
    for index, item in enumerate(value):
        if item == wanted or (element.startswith("k:") and _has(item, wanted)):
            if rest:
                _remove(item, rest)
            if not rest or item == {}:
                del value[index]
            return


def _has(item: Any, wanted: Mapping[str, Any]) -> bool:
    return isinstance(item, dict) and all(
        item.get(key, _KEY_DEFAULTS.get(key)) == value for key, value in wanted.items()
    )


def _remove_lone_dots(fields: JsonObject) -> JsonObject:
    if set(fields) == {"."}:
        return {}
    return {key: value if key == "." else _remove_lone_dots(value) for key, value in fields.items()}
