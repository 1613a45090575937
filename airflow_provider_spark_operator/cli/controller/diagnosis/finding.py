"""The result of one check."""

from dataclasses import dataclass
from enum import StrEnum

from ....kube.errors import Forbidden, KubeError, NotFound

_NOT_IMPLEMENTED = 501
_RETRY = "Run the checks again. If the API still fails, ask the administrator of the cluster"


class Status(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        check: What was checked.
        status: How the check ended.
        result: What was found. For a skipped check, the reason.
        fix: What to do about a failure or a warning.
        is_access: Whether the check is about the connection or a permission of the client.
    """

    check: str
    status: Status
    result: str = ""
    fix: str = ""
    is_access: bool = False


def report_error(check: str, error: KubeError) -> Finding:
    """Return the result of a check whose request failed: skipped if the client cannot send it in this cluster."""
    if isinstance(error, Forbidden):
        needed = f"you need {error.verb} on {error.resource} {error.place}" if error.advice else str(error)
        return Finding(check, Status.SKIPPED, needed)
    if isinstance(error, NotFound) or error.status == _NOT_IMPLEMENTED:
        return Finding(check, Status.SKIPPED, str(error))
    return Finding(check, Status.FAILED, str(error), _RETRY)
