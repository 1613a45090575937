"""The memory of an application after earlier tries of its task ran out of memory."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ..kubernetes.names import ROLE_DRIVER, ROLE_EXECUTOR

ROLES: Final[tuple[str, ...]] = (ROLE_DRIVER, ROLE_EXECUTOR)
_DEFAULT: Final = "1g"
_SIZE: Final = re.compile(r"([1-9][0-9]*)([kmgt])b?\Z", re.IGNORECASE)
_KIBIBYTES: Final = {"k": 1, "m": 1024, "g": 1024**2, "t": 1024**3}


@dataclass(frozen=True)
class MemoryGrowth:
    """How much more memory an application gets than its document requests.

    Attributes:
        factors: Factor by role, "driver" or "executor", of each role that ran out of memory.
        limit: The largest memory after an increase, for example "32g". If None, there is no limit.
    """

    factors: Mapping[str, float] = field(default_factory=dict)
    limit: str | None = None


def is_size(text: str) -> bool:
    """Return whether `text` is a memory size with a unit, for example "32g"."""
    return _SIZE.match(text.strip()) is not None


def grow_memory(memory: Mapping[str, str], growth: MemoryGrowth) -> dict[str, str]:
    """Return the memory of the roles that grow, by Spark property. It never shrinks.

    A size that cannot be parsed is left out.

    Args:
        memory: The memory that the document requests, by Spark property.
        growth: The growth.
    """
    limit = _read_limit(growth)
    grown: dict[str, str] = {}
    for role, factor in growth.factors.items():
        for key, size in _list_sizes(memory, role).items():
            wanted = int(size * factor)
            grown[key] = f"{max(size, min(wanted, limit or wanted))}m"
    return grown


def find_limits(memory: Mapping[str, str], growth: MemoryGrowth) -> dict[str, bool]:
    """Return whether each role that grows has reached the limit. A role without a size that can be parsed is left out.

    Args:
        memory: The memory after the increase, by Spark property.
        growth: The growth.
    """
    limit = _read_limit(growth)
    sizes = {role: _list_sizes(memory, role).values() for role in growth.factors}
    return {role: limit is not None and min(found) >= limit for role, found in sizes.items() if found}


def _read_limit(growth: MemoryGrowth) -> int | None:
    return parse_mebibytes(growth.limit) if growth.limit else None


def _list_sizes(memory: Mapping[str, str], role: str) -> dict[str, int]:
    """Return the sizes of a role in MiB, by Spark property."""
    requested = {f"spark.{role}.memory": memory.get(f"spark.{role}.memory", _DEFAULT)}
    overhead = f"spark.{role}.memoryOverhead"
    # Without this property, Spark calculates the overhead from the memory, so that it grows too.
    if overhead in memory:
        requested[overhead] = memory[overhead]
    return {key: size for key, text in requested.items() if (size := parse_mebibytes(text)) is not None}


def parse_mebibytes(text: str) -> int | None:
    """Return a size in MiB, rounded up, or None if it is not a size. A number without a unit is MiB, as in Spark."""
    if text.strip().isdecimal():
        return int(text)
    match = _SIZE.match(text.strip())
    return -(-int(match[1]) * _KIBIBYTES[match[2].lower()] // 1024) if match else None
