"""Kubernetes quantities (`500m`, `1.5Gi`, `1e3`) as numbers."""

import math
import re
from decimal import Decimal

_QUANTITY = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:([eE][+-]?\d+)|([KMGTPE]i|[numkMGTPE]))?")
# Beyond these no quantity is meant, and one would fill the memory with its digits.
_LONGEST = 100
_LARGEST_EXPONENT = 100
_FACTORS = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{unit: Decimal(1000) ** power for power, unit in enumerate("kMGTPE", 1)},
    **{f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", 1)},
}


def parse_quantity(text: str | float) -> Decimal:
    """The number that a quantity stands for; raises ValueError if it is none."""
    match = _QUANTITY.fullmatch(str(text).strip())
    if match is None or len(match[0]) > _LONGEST or abs(int((match[2] or "e0")[1:])) > _LARGEST_EXPONENT:
        message = f"{text!r} is not a quantity"
        raise ValueError(message)
    number, exponent, unit = match.groups()
    return Decimal(number + (exponent or "")) * _FACTORS.get(unit or "", Decimal(1))


def divided(quantity: str | float, divisor: str | float | None) -> str:
    """A quantity in units of a divisor (0 or none: 1), rounded up: what a resource reference gives."""
    unit = parse_quantity(divisor or 1) or Decimal(1)
    return str(math.ceil(parse_quantity(quantity) / unit))
