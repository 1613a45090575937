"""Parser for sizes in Spark's format."""

import re

from .errors import DriverBuildError
from .text import trim

_BYTE_STRING = re.compile(r"([0-9]{1,19})([a-z]*)", re.ASCII)
_MIB = 1 << 20
_POWERS = {"k": 1 << 10, "m": _MIB, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
_UNITS = {"b": 1} | {f"{letter}{rest}": size for letter, size in _POWERS.items() for rest in ("", "b", "i", "ib")}
_LARGEST_LONG = (1 << 63) - 1


def parse_memory_mib(key: str, value: str) -> int:
    """Parse a size such as `512`, `2g` or `1500MB` to MiB, rounded down. A number without a unit is in MiB.

    Raises:
        DriverBuildError: The size has a fraction, a sign or an unknown unit, or does not fit in 64 bits.
    """
    number, unit = _parse_size(key, value)
    size = number * unit // _MIB
    if max(size, number) > _LARGEST_LONG:
        raise DriverBuildError(key, f"{value!r} is too large: the size must fit in a 64-bit integer")
    return size


def parse_bytes_as_mib(key: str, value: str) -> int:
    """Parse a size to MiB, rounded down. A number without a unit is in bytes.

    Raises:
        DriverBuildError: The size is invalid, or the number of bytes does not fit in 64 bits.
    """
    number, unit = _parse_size(key, value, "b")
    if number * unit > _LARGEST_LONG:
        raise DriverBuildError(key, f"{value!r} is too large: the size must fit in a 64-bit integer")
    return number * unit // _MIB


def is_positive_size(key: str, value: str) -> bool:
    """Return whether a size is greater than 0, even if it is less than 1 MiB.

    A number without a unit is in bytes. The errors are those of `parse_memory_mib`, and the number of bytes must fit
    in 64 bits.
    """
    number, unit = _parse_size(key, value, "b")
    if number * unit > _LARGEST_LONG:
        raise DriverBuildError(key, f"{value!r} is too large: the size must fit in a 64-bit integer")
    return number > 0


def _parse_size(key: str, value: str, default_unit: str = "m") -> tuple[int, int]:
    """Return the number and the number of bytes of its unit."""
    match = _BYTE_STRING.fullmatch(trim(value).lower())
    unit = match and _UNITS.get(match[2] or default_unit)
    if not match or not unit:
        raise DriverBuildError(
            key, f"invalid memory size {value!r}: use an integer with a unit b, k, m, g, t or p, such as 2g"
        )
    return int(match[1]), unit
