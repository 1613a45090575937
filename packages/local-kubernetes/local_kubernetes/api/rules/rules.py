"""Rules that many fields share: names, choices, ranges, paths; with the messages of the API server."""

import json
import re
from collections.abc import Collection, Iterable, Iterator

from ..kinds.status import Cause

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_CONFIG_KEY = r"[-._a-zA-Z0-9]+"
_USED = "regex used for validation is"
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    f"with an alphanumeric character (e.g. 'my-name',  or '123-abc', {_USED} '{_LABEL}')"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    f"and end with an alphanumeric character (e.g. 'example.com', {_USED} '{_SUBDOMAIN}')"
)
_NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', {_USED} '{_NAME}')"
)
_LABEL_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', {_USED} '({_NAME})?')"
)
_CONFIG_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  "
    f"or 'key-name', {_USED} '{_CONFIG_KEY}')"
)
NOT_NEGATIVE = "must be greater than or equal to 0"
_LARGEST_MODE = 0o777
_LARGEST_PORT = 65535


def build_invalid_cause(place: str, value: object, why: str) -> Cause:
    """Return the error of an invalid value."""
    shown = json.dumps(value, ensure_ascii=False)
    return Cause(place, f"Invalid value: {shown}: {why}")


def build_required_cause(place: str, why: str = "") -> Cause:
    """Return the error of a missing value."""
    return Cause(place, f"Required value: {why}" if why else "Required value", "FieldValueRequired")


def build_forbidden_cause(place: str, why: str) -> Cause:
    """Return the error of a value that is not allowed."""
    return Cause(place, f"Forbidden: {why}", "FieldValueForbidden")


def build_duplicate_cause(place: str, value: object) -> Cause:
    """Return the error of a duplicate value."""
    return Cause(place, f"Duplicate value: {json.dumps(value)}", "FieldValueDuplicate")


def build_not_found_cause(place: str, value: object) -> Cause:
    """Return the error of a reference to something that does not exist."""
    return Cause(place, f"Not found: {json.dumps(value)}", "FieldValueNotFound")


def find_choice_causes(value: object, choices: Iterable[str], place: str) -> Iterator[Cause]:
    """Return the errors in a value that must be one of several."""
    if value not in tuple(choices):
        supported = ", ".join(f'"{choice}"' for choice in choices)
        detail = f'Unsupported value: "{value}": supported values: {supported}'
        yield Cause(place, detail, "FieldValueNotSupported")


def find_range_causes(value: int, least: int, most: int, place: str) -> Iterator[Cause]:
    """Return the errors in a number that must be within a range."""
    if not least <= value <= most:
        yield build_invalid_cause(place, value, f"must be between {least} and {most}, inclusive")


def find_natural_causes(value: int, place: str) -> Iterator[Cause]:
    """Return the errors in a number that must not be negative."""
    if value < 0:
        yield build_invalid_cause(place, value, NOT_NEGATIVE)


def find_port_causes(port: int, place: str) -> Iterator[Cause]:
    """Return the errors in a port number."""
    yield from find_range_causes(port, 1, _LARGEST_PORT, place)


def find_named_port_causes(port: int | str, place: str) -> Iterator[Cause]:
    """Return the errors in a port that is a number or a name."""
    if isinstance(port, int):
        yield from find_port_causes(port, place)
    else:
        yield from (build_invalid_cause(place, port, why) for why in find_port_name_problems(port))


def find_mode_causes(mode: int | None, place: str) -> Iterator[Cause]:
    """Return the errors in the mode of a file."""
    if mode is not None and not 0 <= mode <= _LARGEST_MODE:
        yield build_invalid_cause(place, mode, "must be a number between 0 and 0777 (octal), both inclusive")


def find_inner_path_causes(path: str, place: str, *, reserved: bool = False) -> Iterator[Cause]:
    """Return the errors in a path that must stay within a volume.

    Args:
        path: The path.
        place: Its field.
        reserved: Whether names that begin with two dots are reserved.
    """
    if path.startswith("/"):
        yield build_invalid_cause(place, path, "must be a relative path")
    elif ".." in path.split("/"):
        yield build_backstep_cause(place, path)
    elif reserved and path.startswith(".."):
        yield build_invalid_cause(place, path, "must not start with '..'")


def build_backstep_cause(place: str, path: str) -> Cause:
    """Return the error of a path with `..`."""
    return build_invalid_cause(place, path, "must not contain '..'")


def find_name_causes(name: str, place: str, taken: Collection[str] = ()) -> Iterator[Cause]:
    """Return the errors in a name that must be a unique DNS label."""
    if not name:
        yield build_required_cause(place)
    elif problems := find_label_problems(name):
        yield from (build_invalid_cause(place, name, why) for why in problems)
    elif name in taken:
        yield build_duplicate_cause(place, name)


def find_subdomain_causes(name: str, place: str) -> Iterator[Cause]:
    """Return the errors in the name of an object."""
    yield from (build_invalid_cause(place, name, why) for why in find_subdomain_problems(name))


def find_qualified_causes(name: str, place: str) -> Iterator[Cause]:
    """Return the errors in a name with an optional domain prefix."""
    yield from (build_invalid_cause(place, name, why) for why in find_qualified_name_problems(name))


def find_labels_causes(labels: Iterable[tuple[str, str]], place: str) -> Iterator[Cause]:
    """Return the errors in the keys and values of labels."""
    for key, value in labels:
        yield from find_qualified_causes(key, place)
        yield from (build_invalid_cause(place, value, why) for why in find_label_value_problems(value))


def find_label_problems(text: str) -> list[str]:
    """Return why a text is not a DNS label."""
    problems = _find_problems(text, _LABEL, _LABEL_RULE, 63)
    return ["must not contain dots" if why == _LABEL_RULE and _is_subdomain(text) else why for why in problems]


def find_subdomain_problems(text: str) -> list[str]:
    """Return why a text is not a DNS subdomain."""
    return _find_problems(text, _SUBDOMAIN, _SUBDOMAIN_RULE, 253)


def _is_subdomain(text: str) -> bool:
    return re.fullmatch(_SUBDOMAIN, text) is not None


def find_qualified_name_problems(text: str) -> list[str]:
    """Return why a text is not a name with an optional domain prefix."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return [
            f"a valid label key {_NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    problems = []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash:
        problems += [f"prefix part {why}" for why in _find_problems(prefix, _SUBDOMAIN, _SUBDOMAIN_RULE, 253, "bytes")]
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > 63:
        problems.append("name part must be no more than 63 bytes")
    if re.fullmatch(_NAME, name) is None:
        problems.append(f"name part {_NAME_RULE}")
    return problems


def find_label_value_problems(text: str) -> list[str]:
    """Return why a text is not a label value."""
    problems = ["must be no more than 63 bytes"] if len(text) > 63 else []
    return problems + ([_LABEL_VALUE_RULE] if re.fullmatch(f"({_NAME})?", text) is None else [])


def find_config_key_problems(text: str) -> list[str]:
    """Return why a text is not a key of a ConfigMap or secret."""
    problems = ["must be no more than 253 characters"] if len(text) > 253 else []
    if re.fullmatch(_CONFIG_KEY, text) is None:
        problems.append(_CONFIG_KEY_RULE)
    if text in (".", ".."):
        problems.append(f"must not be '{text}'")
    elif text.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def find_port_name_problems(text: str) -> list[str]:
    """Return why a text is not a port name."""
    problems = ["must be no more than 15 characters"] if len(text) > 15 else []
    if re.fullmatch(r"[-a-z0-9]+", text) is None:
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if re.search(r"[a-z]", text) is None:
        problems.append("must contain at least one letter (a-z)")
    if "--" in text:
        problems.append("must not contain consecutive hyphens")
    if text[:1] == "-" or text[-1:] == "-":
        problems.append("must not begin or end with a hyphen")
    return problems


def _find_problems(text: str, pattern: str, rule: str, longest: int, unit: str = "characters") -> list[str]:
    problems = [f"must be no more than {longest} {unit}"] if len(text) > longest else []
    return problems + ([rule] if re.fullmatch(pattern, text) is None else [])
