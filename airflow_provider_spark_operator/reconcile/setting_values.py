"""Reading the values of settings; each reader raises ValueError with what it wants instead."""

import math
from datetime import timedelta
from typing import TypeAlias

from airflow_provider_spark_operator.core.kubernetes_names import (
    LABEL_RULE,
    NAMESPACE_RULE,
    OBJECT_RULE,
    is_label_value,
    is_namespace,
    is_object_name,
)
from airflow_provider_spark_operator.reconcile.lease import LeaseReference
from airflow_provider_spark_operator.reconcile.scope import EveryNamespace, NamedNamespaces, Scope

SettingValue: TypeAlias = str | bool | timedelta | float | int | Scope | LeaseReference


def read_text(value: object) -> str:
    """A text that is not empty, without blanks around it."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a non-empty text is wanted")
    return value.strip()


def read_namespace(value: object) -> str:
    """The name of a namespace."""
    if not is_namespace(name := read_text(value)):
        raise ValueError(f"the name of a namespace is wanted ({NAMESPACE_RULE})")
    return name


def read_object_name(value: object) -> str:
    """The name of an object."""
    if not is_object_name(name := read_text(value)):
        raise ValueError(f"the name of an object is wanted ({OBJECT_RULE})")
    return name


def read_label_value(value: object) -> str:
    """The value of a label."""
    if not is_label_value(text := read_text(value)):
        raise ValueError(f"the value of a label is wanted ({LABEL_RULE})")
    return text


def read_flag(value: object) -> bool:
    """True or false, as YAML or a word."""
    if isinstance(value, bool):
        return value
    words = {"true": True, "false": False}
    if isinstance(value, str) and value.strip().lower() in words:
        return words[value.strip().lower()]
    raise ValueError("true or false is wanted")


def read_number(value: object) -> float:
    """A finite number, or the text of one."""
    try:
        number = math.nan if isinstance(value, bool) else float(str(value).strip())
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError("a number is wanted")
    return number


def read_seconds(value: object) -> timedelta:
    """A duration; below 0 counts as 0."""
    try:
        return timedelta(seconds=max(read_number(value), 0.0))
    except OverflowError:
        raise ValueError("a number of seconds below 86400000000000 is wanted") from None


def read_positive(value: object) -> float:
    """A number of seconds above 0."""
    seconds = read_number(value)
    if seconds <= 0:
        raise ValueError("a number of seconds above 0 is wanted")
    return seconds


def read_count(value: object) -> int:
    """A whole number; 0 and below mean no limit."""
    number = read_number(value)
    if number != int(number):
        raise ValueError("a whole number is wanted")
    return int(number)


def read_workers(value: object) -> int:
    """A number of workers."""
    number = read_count(value)
    # The Apache operator has 0 and below for "no limit"; each of our workers is only a waiting task.
    return number if number > 0 else 1000


def read_namespaces(value: object) -> Scope:
    """Namespaces as a list or divided by commas; * is all."""
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("a list of namespaces is wanted, or *")
    stripped = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    if not stripped:
        raise ValueError("at least one namespace is wanted, or *")
    if "*" in stripped:
        return EveryNamespace()
    if not all(map(is_namespace, stripped)):
        raise ValueError(f"names of namespaces are wanted ({NAMESPACE_RULE})")
    return NamedNamespaces(stripped)


def read_lease(value: object) -> LeaseReference:
    """The Lease that `namespace/name` names."""
    namespace, slash, name = read_text(value).partition("/")
    if not slash or not is_namespace(namespace) or not is_object_name(name):
        raise ValueError("NAMESPACE/NAME of a Lease is wanted")
    return LeaseReference(namespace, name)
