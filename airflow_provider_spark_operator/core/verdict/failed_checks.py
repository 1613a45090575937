"""Judge an application whose program succeeded, but reported that a check failed."""

from collections.abc import Sequence
from dataclasses import replace

from ..states import reasons
from .verdict import FailureKind, Outcome, Verdict


def blame_checks(verdict: Verdict, failed: Sequence[str]) -> Verdict:
    """Return the verdict on an application with failed checks: a failure of the kind `check` if the program succeeded.

    Args:
        verdict: The verdict without the report of the job.
        failed: The failed checks, each with its name and what it found.
    """
    if not failed or verdict.outcome is not Outcome.SUCCEEDED:
        return verdict
    others = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
    return replace(
        verdict,
        outcome=Outcome.FAILED,
        failure_kind=FailureKind.CHECK,
        retry_worthy=False,
        reason=reasons.CHECK_FAILED,
        sentence=f"check {failed[0]}{others}; the program itself succeeded. Correct the data or the check.",
    )
