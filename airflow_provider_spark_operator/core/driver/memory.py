"""Byte strings and numbers as Spark reads and writes them."""

import re

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError

_BYTE_STRING = re.compile(r"([0-9]+)([a-z]*)", re.ASCII)
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
        DriverBuildError: a fraction, a sign, an unknown unit, or a size over 64 bits; `key` is named.
    """
    match = _BYTE_STRING.fullmatch(value.strip().lower())
    unit = match and _UNITS.get(match[2] or "m")
    if not match or not unit:
        raise DriverBuildError(
            key, f"{value!r} is no memory size: give a whole number with a unit b, k, m, g, t or p, as in 2g"
        )
    size = int(match[1]) * unit
    if size > _LARGEST_LONG:
        raise DriverBuildError(key, f"{value!r} is larger than 64 bits of bytes can say")
    return size // _MIB


def java_double(value: float) -> str:
    """The number as Java's `Double.toString` writes it: `0.1`, `0.0`, `1.0E-5`."""
    if value == 0 or _POSITIONAL_FROM <= abs(value) < _POSITIONAL_BELOW:
        return repr(float(value))
    mantissa, _, exponent = f"{value!r}".partition("e")
    if not exponent:  # Python writes positionally up to 1e16
        digits = mantissa.removesuffix(".0").lstrip("-")
        exponent = str(len(digits.split(".")[0]) - 1)
        mantissa = ("-" if value < 0 else "") + _scientific_mantissa(digits)
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}E{int(exponent)}"


def _scientific_mantissa(digits: str) -> str:
    significant = digits.replace(".", "")
    return f"{significant[0]}.{significant[1:].rstrip('0') or '0'}"
