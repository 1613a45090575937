"""Checks of names, label values and label selectors by the rules of Kubernetes."""

import re

OBJECT_RULE = "use lowercase letters, digits, '-' and '.', and begin and end with a letter or digit"
LABEL_RULE = "use at most 63 letters, digits, '-', '_' and '.', and begin and end with a letter or digit"
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_OBJECT = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
# RFC 1035: unlike other names, the name of a service begins with a letter.
_SERVICE = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
NAMESPACE_RULE = "use at most 63 lowercase letters, digits and '-', and begin and end with a letter or digit"
# Possessive quantifiers keep the time of the following patterns linear.
_WORD = r"[A-Za-z0-9]++(?:[-_.]++[A-Za-z0-9]++)*+"
_KEY = rf"(?:[a-z0-9][-a-z0-9.]*+/)?+{_WORD}"
_VALUE = rf"(?:{_WORD})?+"
_SET = rf"(?:in|notin)\s*+\(\s*+{_VALUE}(?:\s*+,\s*+{_VALUE})*+\s*+\)"
_REQUIREMENT = rf"\s*+(?:!\s*+{_KEY}|{_KEY}(?:\s*+(?:==?|!=)\s*+{_VALUE}|\s++{_SET}|\s*+[<>]\s*+[0-9]++)?+)\s*+"
# Few DAG files need these two. `re` compiles them at their first use, and keeps them.
_LABEL_KEY = rf"(?=(.{{1,253}}/)?[^/]{{1,63}}\Z){_KEY}"
_SELECTOR = rf"{_REQUIREMENT}(?:,{_REQUIREMENT})*+"
KEY_RULE = "use at most 63 letters, digits, '-', '_' and '.'; a domain and '/' can precede them"
DATA_KEY_RULE = "use at most 253 letters, digits, '-', '_' and '.'"
_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")


def is_namespace(name: str) -> bool:
    """Return whether the text is a valid name of a namespace."""
    return _NAMESPACE.fullmatch(name) is not None


def is_service_name(name: str) -> bool:
    """Return whether the text is a valid name of a service."""
    return _SERVICE.fullmatch(name) is not None


def is_label_selector(text: str) -> bool:
    """Return whether the text is a label selector, as for `kubectl -l`.

    The result for an empty text, which would select everything, is False.
    """
    return re.fullmatch(_SELECTOR, text) is not None


def is_data_key(name: str) -> bool:
    """Return whether the text is a valid key of a ConfigMap or Secret."""
    return _DATA_KEY.fullmatch(name) is not None


def is_object_name(name: str) -> bool:
    """Return whether the text is a valid name of a Lease or a webhook configuration."""
    return _OBJECT.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    """Return whether the text is a valid label value and is not empty."""
    return _LABEL.fullmatch(text) is not None


def is_label_key(text: str) -> bool:
    """Return whether the text is a valid key of a label or an annotation."""
    return re.fullmatch(_LABEL_KEY, text) is not None
