"""Check how long an application, and the driver pod of a failure, stay in the cluster."""

import math
from datetime import timedelta
from typing import Final

from ..kubernetes.json_object import Problem, to_seconds
from ..parameters.arguments import KEEP

KEEP_FAILED_DRIVER: Final = timedelta(minutes=5)
# Kubernetes stores it as a 64-bit integer of milliseconds.
_LONGEST_SECONDS: Final = 2**63 // 1000


def find_ttl_problem(ttl: object) -> Problem | None:
    """Return the problem with the parameter `ttl`; None if it is valid."""
    if ttl is None or ttl == KEEP:
        return None
    seconds = to_seconds(ttl)
    if seconds is None or not seconds >= 0:
        return Problem(
            "ttl", f"must be a number of seconds, a timedelta, or {KEEP} to keep the application, not {ttl!r}"
        )
    if seconds > _LONGEST_SECONDS:
        return Problem(
            "ttl", f"must be at most {_LONGEST_SECONDS} seconds, not {ttl!r}. Use {KEEP} to keep the application"
        )
    return None


def find_retention_problem(name: str, keep: object) -> Problem | None:
    """Return the problem with the parameter `keep_driver` or `keep_failed_driver`; None if it is valid."""
    seconds = to_seconds(keep)
    if keep is None or (seconds is not None and 0 <= seconds < math.inf):
        return None
    return Problem(name, f"must be a number of seconds, a timedelta, or None, not {keep!r}")
