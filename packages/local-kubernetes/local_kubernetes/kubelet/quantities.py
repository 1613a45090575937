"""What a reference to a container's resources gives."""

import math
from decimal import Decimal

from local_kubernetes.api.quantities import parse_quantity


def divide(quantity: str | float, divisor: str | float | None) -> str:
    """A quantity in units of a divisor (0 or none: 1), rounded up: what a resource reference gives."""
    unit = parse_quantity(divisor or 1) or Decimal(1)
    return str(math.ceil(parse_quantity(quantity) / unit))
