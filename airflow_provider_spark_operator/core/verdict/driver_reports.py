"""Judge an application by what its driver reports: rejected executors and failed checks."""

from collections.abc import Sequence
from dataclasses import replace

from ..dialects.progress import SettingNames
from ..states import reasons
from .advice import QUOTA_EXCEEDED, advise_on_refusal
from .verdict import FailureKind, Outcome, Verdict


def blame_refusal(verdict: Verdict, cause: str | None, refusal: str | None, settings: SettingNames) -> Verdict:
    """Return the verdict on a failure, which blames the API if it rejected the executors and nothing else failed.

    Args:
        verdict: The verdict without the driver's log.
        cause: The cause in the log, see `RootCause.sentence`.
        refusal: The latest rejection of an executor in the log, see `RootCause.refusal`.
        settings: Names of settings, for the advice.
    """
    has_ended_driver = verdict.has_cause_in_log and cause == refusal
    if refusal is None or not (has_ended_driver or verdict.reason == reasons.EXECUTORS_START_TIMED_OUT):
        return verdict
    sentence = f"{verdict.state}: {describe_refusal(refusal, settings)}."
    return replace(
        verdict,
        failure_kind=FailureKind.SCHEDULING,
        retry_worthy=True,
        reason=reasons.SCHEDULING_FAILED,
        sentence=sentence,
        lacks_capacity=QUOTA_EXCEEDED in refusal,
    )


def describe_refusal(refusal: str, settings: SettingNames) -> str:
    """Return a rejection of executors, and what to do about it.

    Args:
        refusal: The rejection, see `RootCause.refusal`.
        settings: Names of settings, for the advice.
    """
    advice = advise_on_refusal(refusal, settings.of_executors)
    return f"{refusal.rstrip('.')}; {advice}" if advice else refusal.rstrip(".")


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
