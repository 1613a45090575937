"""Spark properties that several packages read, as Spark reads them."""

from collections.abc import Mapping
from typing import Final

DYNAMIC_ALLOCATION_KEY: Final = "spark.dynamicAllocation.enabled"
# Java's String.trim removes these characters, but no other white space of Unicode.
JAVA_BLANKS: Final = "".join(map(chr, range(0x21)))


def uses_dynamic_allocation(conf: Mapping[str, object]) -> bool:
    """Return whether Spark chooses the number of executors."""
    return str(conf.get(DYNAMIC_ALLOCATION_KEY)).strip(JAVA_BLANKS).lower() == "true"
