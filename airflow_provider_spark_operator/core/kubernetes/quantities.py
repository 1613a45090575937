"""Quantities of Kubernetes, such as `500m` and `1.5Gi`: read them and write them for people."""

import re
from decimal import Decimal
from typing import Final

_QUANTITY: Final = re.compile(
    r"([+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30}))(?:[eE]([+-]?\d{1,2})|([KMGTPE]i|[numkMGTPE]))?", re.ASCII
)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_STEP: Final = 1024


def is_quantity(value: object) -> bool:
    """Return whether the API server accepts `value` as a quantity."""
    return _QUANTITY.fullmatch(str(value).strip(" ")) is not None


def parse_quantity(value: object) -> Decimal:
    """Return the number of a quantity; 0 if `value` is not a quantity."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return Decimal()
    match = _QUANTITY.fullmatch(str(value).strip())
    if match is None:
        return Decimal()
    number, exponent, unit = Decimal(match[1]), match[2], match[3] or ""
    if unit in _BINARY:
        return number * Decimal(_STEP) ** (_BINARY.index(unit) + 1)
    return number.scaleb(int(exponent) if exponent else _DECIMAL[unit])


def format_cores(cores: Decimal) -> str:
    """Format a number of cores with up to three decimals: `2`, `0.5`."""
    return f"{cores.quantize(Decimal('0.001')).normalize():f}"


def format_bytes(size: Decimal) -> str:
    """Format a number of bytes with the largest fitting binary unit and up to one decimal: `1.4Gi`, `512Mi`."""
    unit = ""
    for larger in _BINARY:
        if abs(size) < _STEP:
            break
        size, unit = size / _STEP, larger
    return f"{size.quantize(Decimal('0.1')).normalize():f}{unit}"
