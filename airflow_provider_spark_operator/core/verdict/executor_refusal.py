"""Judge an application whose executors the API rejected, for example because of a quota."""

from dataclasses import replace

from ..dialects.progress import SettingNames
from ..states import reasons
from .advice import QUOTA_EXCEEDED, advise_on_refusal
from .verdict import FailureKind, Verdict


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
