"""The values of references to a container's resources."""

import math
from decimal import Decimal

from local_kubernetes.api.quantities import parse_quantity


def divide(quantity: str | float, divisor: str | float | None) -> str:
    """Return a quantity in units of a divisor (1 if it is 0 or missing), rounded up."""
    unit = parse_quantity(divisor or 1) or Decimal(1)
    return str(math.ceil(parse_quantity(quantity) / unit))
