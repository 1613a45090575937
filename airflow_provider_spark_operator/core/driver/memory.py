"""Byte strings and numbers as Spark reads and writes them."""

import re
from decimal import Decimal

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError

_BYTE_STRING = re.compile(r"([0-9]{1,19})([a-z]*)", re.ASCII)
_MIB = 1 << 20
_UNITS = {
    "b": 1,
    "k": 1 << 10,
    "kb": 1 << 10,
    "m": _MIB,
    "mb": _MIB,
    "g": 1 << 30,
    "gb": 1 << 30,
    "t": 1 << 40,
    "tb": 1 << 40,
    "p": 1 << 50,
    "pb": 1 << 50,
}
_LARGEST_LONG = (1 << 63) - 1
_POSITIONAL_FROM, _POSITIONAL_BELOW = 1e-3, 1e7


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
    """Whether a size is more than nothing, even where it is less than a MiB; errors as `memory_mib`."""
    return _parsed(key, value)[0] > 0


def _parsed(key: str, value: str) -> tuple[int, int]:
    """The number and how many bytes its unit has."""
    match = _BYTE_STRING.fullmatch(value.strip().lower())
    unit = match and _UNITS.get(match[2] or "m")
    if not match or not unit:
        raise DriverBuildError(
            key, f"{value!r} is no memory size: give a whole number with a unit b, k, m, g, t or p, as in 2g"
        )
    return int(match[1]), unit


def java_double(value: float) -> str:
    """A finite number as Java's `Double.toString` writes it: `0.1`, `0.0`, `1.0E-5`."""
    if value == 0 or _POSITIONAL_FROM <= abs(value) < _POSITIONAL_BELOW:
        return repr(float(value))
    number = Decimal(repr(value)).normalize()
    digits = "".join(map(str, number.as_tuple().digits))
    return f"{'-' if value < 0 else ''}{digits[0]}.{digits[1:] or '0'}E{number.adjusted()}"
