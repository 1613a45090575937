"""Byte strings as Spark reads them."""

import re

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.text import trimmed

_BYTE_STRING = re.compile(r"([0-9]{1,19})([a-z]*)", re.ASCII)
_MIB = 1 << 20
_POWERS = {"k": 1 << 10, "m": _MIB, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
_UNITS = {"b": 1} | {f"{letter}{rest}": size for letter, size in _POWERS.items() for rest in ("", "b", "i", "ib")}
_LARGEST_LONG = (1 << 63) - 1


def memory_mib(key: str, value: str) -> int:
    """A size such as `512`, `2g` or `1500MB` in whole MiB, rounded down; without a unit it is MiB.

    Raises:
        DriverBuildError: a fraction, a sign, an unknown unit, or a number over 64 bits; `key` is named.
    """
    number, unit = _parsed(key, value)
    size = number * unit // _MIB
    if max(size, number) > _LARGEST_LONG:
        raise DriverBuildError(key, f"{value!r} is larger than Spark can count")
    return size


def is_positive_size(key: str, value: str) -> bool:
    """Whether a size is more than nothing, even where it is less than a MiB; errors as `memory_mib`.

    Without a unit it is bytes here; Spark counts these in 64 bits, too.
    """
    number, unit = _parsed(key, value, "b")
    if number * unit > _LARGEST_LONG:
        raise DriverBuildError(key, f"{value!r} is larger than Spark can count")
    return number > 0


def _parsed(key: str, value: str, default_unit: str = "m") -> tuple[int, int]:
    """The number and how many bytes its unit has."""
    match = _BYTE_STRING.fullmatch(trimmed(value).lower())
    unit = match and _UNITS.get(match[2] or default_unit)
    if not match or not unit:
        raise DriverBuildError(
            key, f"invalid memory size {value!r}: give an integer with a unit b, k, m, g, t or p, such as 2g"
        )
    return int(match[1]), unit
