"""Merge patches (RFC 7386) and JSON patches (RFC 6902)."""

from typing import Any

from ..kinds.documents import copy_json
from ..kinds.status import ApiStatusError, build_bad_request

_MAX_OPERATIONS = 10_000


def apply_merge_patch(target: Any, patch: Any) -> Any:
    """Apply a merge patch: objects are merged, null removes a field, every other value replaces the field."""
    if not isinstance(patch, dict):
        return copy_json(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = apply_merge_patch(result.get(key), value)
    return result


def apply_json_patch(target: Any, operations: Any) -> Any:
    """Apply a JSON patch: all of its operations in order, or none.

    Raises:
        ApiStatusError: 400 if it is not a list of operations. 413 if there are too many. 422 if an operation cannot
            be applied or a test fails.
    """
    if not isinstance(operations, list) or not all(isinstance(item, dict) for item in operations):
        raise build_bad_request("json patch: a list of operations is expected")
    if len(operations) > _MAX_OPERATIONS:
        detail = f"The allowed maximum operations in a JSON patch is {_MAX_OPERATIONS}, got {len(operations)}"
        raise ApiStatusError(413, "RequestEntityTooLarge", f"Request entity too large: {detail}")
    document = copy_json(target)
    for operation in operations:
        document = _apply_operation(document, operation)
    return document


def _apply_operation(document: Any, operation: dict[str, Any]) -> Any:
    name = operation.get("op")
    path = _parse_pointer(operation, "path")
    if name in ("add", "replace", "test") and "value" not in operation:
        raise build_unprocessable(f'operation "{name}" of "{operation["path"]}" has no value')
    if name == "add":
        return _add(document, path, copy_json(operation["value"]))
    if name == "remove":
        return _remove(document, path)
    if name == "replace":
        _get_value(document, path)
        return _add(_remove(document, path), path, copy_json(operation["value"]))
    if name == "test":
        return _test(document, path, operation["value"])
    if name in ("move", "copy"):
        source = _parse_pointer(operation, "from")
        value = copy_json(_get_value(document, source))
        return _add(_remove(document, source) if name == "move" else document, path, value)
    raise build_unprocessable(f"unknown operation {name!r}")


def _parse_pointer(operation: dict[str, Any], key: str) -> list[str]:
    text = operation.get(key)
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise build_unprocessable(f'"{key}" must be a JSON pointer, got {text!r}')
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _get_value(document: Any, path: list[str]) -> Any:
    for part in path:
        if isinstance(document, dict) and part in document:
            document = document[part]
        elif isinstance(document, list):
            document = document[_parse_index(document, part, len(document) - 1)]
        else:
            raise _build_missing_error(path)
    return document


def _add(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent = _get_value(document, path[:-1])
    if isinstance(parent, dict):
        parent[path[-1]] = value
    elif isinstance(parent, list):
        place = len(parent) if path[-1] == "-" else _parse_index(parent, path[-1], len(parent))
        parent.insert(place, value)
    else:
        raise _build_missing_error(path)
    return document


def _remove(document: Any, path: list[str]) -> Any:
    if not path:
        return None
    parent = _get_value(document, path[:-1])
    if isinstance(parent, dict) and path[-1] in parent:
        del parent[path[-1]]
    elif isinstance(parent, list):
        del parent[_parse_index(parent, path[-1], len(parent) - 1)]
    else:
        raise _build_missing_error(path)
    return document


def _test(document: Any, path: list[str], expected: Any) -> Any:
    found = _get_value(document, path)
    if found != expected or isinstance(found, bool) != isinstance(expected, bool):
        raise build_unprocessable(f"testing value /{'/'.join(path)} failed")
    return document


def _parse_index(items: list[Any], part: str, highest: int) -> int:
    if not part.isascii() or not part.isdigit() or (len(part) > 1 and part[0] == "0") or int(part) > highest:
        raise build_unprocessable(f"invalid index {part!r} of a list of {len(items)}")
    return int(part)


def _build_missing_error(path: list[str]) -> ApiStatusError:
    return build_unprocessable(f"the path /{'/'.join(path)} does not exist")


def build_unprocessable(why: str) -> ApiStatusError:
    """Return 422: a patch cannot be applied."""
    message = f"the server rejected our request due to an error in our request: {why}"
    return ApiStatusError(422, "Invalid", message, {})
