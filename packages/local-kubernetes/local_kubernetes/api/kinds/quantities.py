"""Kubernetes quantities (`500m`, `1.5Gi`, `1e3`) as numbers, and in the canonical form of Kubernetes."""

import re
from decimal import ROUND_UP, Context, Decimal, localcontext

_QUANTITY = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:([eE][+-]?\d+)|([KMGTPE]i|[numkMGTPE]))?", re.ASCII)
# No real quantity has a larger exponent, and one could fill the memory with its digits.
_LONGEST = 100
_LARGEST_EXPONENT = 100
_LARGEST_BINARY = Decimal(2**63 - 1)
_DECIMAL_UNITS = {-9: "n", -6: "u", -3: "m", 0: "", **{3 * power: unit for power, unit in enumerate("kMGTPE", 1)}}
_BINARY_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_FACTORS = {
    **{unit: Decimal(10) ** power for power, unit in _DECIMAL_UNITS.items()},
    **{unit: Decimal(1024) ** power for power, unit in enumerate(_BINARY_UNITS)},
}
_EXACT = Context(prec=300)  # enough for the longest with the largest exponent
NANO = Decimal("1e-9")
MILLI = Decimal("1e-3")


def parse_quantity(text: str | float) -> Decimal:
    """Return the number of a quantity; raises ValueError if it is not a quantity."""
    return _parse(text)[0]


def is_whole(text: str | float) -> bool:
    """Whether a quantity is a whole number; raises ValueError if it is not a quantity."""
    number = parse_quantity(text)
    return number == number.to_integral_value()


def normalize_quantity(text: str | float, smallest: Decimal = NANO) -> str:
    """Return a quantity with the largest unit or exponent that leaves a whole number.

    Args:
        text: The quantity as text or number.
        smallest: The unit to whose multiples the quantity is rounded up.

    Raises:
        ValueError: The text is not a quantity.
    """
    with localcontext(_EXACT):
        number, exponent, unit = _parse(text)
        number = number.quantize(smallest, rounding=ROUND_UP) if number % smallest else number
        whole = number == number.to_integral_value()
        if unit.endswith("i") and whole and abs(number) >= 1024:
            return _format_binary(min(number, _LARGEST_BINARY))
        return _format_decimal(number, exponential=bool(exponent))


def _parse(text: str | float) -> tuple[Decimal, str, str]:
    """Return the number, the exponent and the unit of a quantity."""
    match = _QUANTITY.fullmatch(str(text).strip(" "))
    if match is None or len(match[0]) > _LONGEST or abs(int((match[2] or "e0")[1:])) > _LARGEST_EXPONENT:
        raise ValueError(f"{text!r} is not a quantity")
    number, exponent, unit = match[1], match[2] or "", match[3] or ""
    return Decimal(number + exponent) * _FACTORS[unit], exponent, unit


def _format_binary(number: Decimal) -> str:
    power = 0
    while number % 1024 == 0 and power < len(_BINARY_UNITS) - 1:
        number, power = number // 1024, power + 1
    return f"{int(number)}{_BINARY_UNITS[power]}"


def _format_decimal(number: Decimal, *, exponential: bool) -> str:
    sign, digits, power = number.normalize().as_tuple()
    power = int(power)
    if not any(digits):
        return "0"
    most = power - power % 3 if exponential else min(power - power % 3, max(_DECIMAL_UNITS))
    mantissa = "".join(map(str, digits)) + "0" * (power - most)
    unit = _DECIMAL_UNITS[most] if not exponential else f"e{most}" if most else ""
    return f"{'-' if sign else ''}{mantissa}{unit}"
