"""Floating-point numbers in Java's format."""

import re
from decimal import Decimal

_DECIMAL = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?[fFdD]?", re.ASCII)
_HEXADECIMAL = re.compile(
    r"[+-]?0[xX](?:[0-9a-fA-F]++(?:\.[0-9a-fA-F]*+)?|\.[0-9a-fA-F]++)[pP][+-]?\d++[fFdD]?", re.ASCII
)
_INFINITE = re.compile(r"[+-]?Infinity")
_POSITIONAL_FROM, _POSITIONAL_BELOW = 1e-3, 1e7
_INFINITY = float("inf")


def parse_double(text: str) -> float | None:
    """Parse a number as `Double.parseDouble` does: too large a number is infinite. Return None for other text."""
    if _DECIMAL.fullmatch(text):
        return float(text.rstrip("fFdD"))
    if _HEXADECIMAL.fullmatch(text):
        mantissa, exponent = re.split("[pP]", text.rstrip("fFdD"))
        try:
            return float.fromhex(f"{mantissa}p{exponent}")
        except OverflowError:
            return -_INFINITY if text.startswith("-") else _INFINITY
    return float(text) if _INFINITE.fullmatch(text) else None


def format_double(value: float) -> str:
    """Format a number as `Double.toString` does: `0.1`, `0.0`, `1.0E-5`, `Infinity`."""
    if abs(value) == _INFINITY:
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or _POSITIONAL_FROM <= abs(value) < _POSITIONAL_BELOW:
        return repr(float(value))
    number = Decimal(repr(value)).normalize()
    digits = "".join(map(str, number.as_tuple().digits))
    return f"{'-' if value < 0 else ''}{digits[0]}.{digits[1:] or '0'}E{number.adjusted()}"
