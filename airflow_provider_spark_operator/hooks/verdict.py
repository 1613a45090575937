"""The verdict on an application, with the evidence of its end and the exception of its failure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core.dialects.dialect import read_progress
from ..core.dialects.progress import had_driver
from ..core.verdict.verdict import Outcome, judge_progress
from ..exceptions import build_failure
from ..follow.access.reference import ApplicationReference
from ..follow.watching.wait import Conclusion

__all__ = ["ApplicationVerdict"]


@dataclass(frozen=True)
class ApplicationVerdict:
    """How an application ended, or that it has not ended.

    Attributes:
        reference: Reference of the application, for the methods of the hook.
        outcome: "Waiting" until the application has ended, then "Succeeded" or "Failed".
        state: The state of the application, in the words of its operator. After the end, it is the state that
            determined the outcome, for example `Failed`.
        sentence: The outcome, its cause and what to do, for users. For a failure, it contains the last lines of the
            driver log.
        reason: A constant of `core.states.reasons`, for example "OOMKilled".
        failure_kind: "application", "infrastructure", "scheduling" or "check". None unless the application has failed.
        retry_worthy: Whether another run of the same application can succeed. False if the application has not failed.
        application_id: Spark's application id of the last attempt. None if unknown.
        attempts: Number of times that the operator has started the application.
        seconds_per_state: Seconds that the application spent in each state, in the order of the states.
        out_of_memory: Which of "driver" and "executor" was out of memory. Empty if neither was.
        log_lines: The last informative lines of the driver log. Empty if the log could not be read.
        driver_message: Termination message of the driver container after a success. None if there is none.
        report: The report of the job, with `checks`, `metadata` and `progress`. None if it reported nothing.
        had_driver: Whether a driver pod existed.
        lacks_capacity: Whether the cluster had no room for the application. See `SparkApplicationError`.
        resource: The whole resource of the application, with its status, as it was last read.
    """

    reference: ApplicationReference
    outcome: str
    state: str
    sentence: str
    reason: str
    failure_kind: str | None = None
    retry_worthy: bool = False
    application_id: str | None = None
    attempts: int = 1
    seconds_per_state: Mapping[str, float] = field(default_factory=dict)
    out_of_memory: tuple[str, ...] = ()
    log_lines: tuple[str, ...] = ()
    driver_message: str | None = None
    report: Mapping[str, Any] | None = None
    had_driver: bool = True
    lacks_capacity: bool = False
    resource: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def has_ended(self) -> bool:
        """Whether the application has ended."""
        return self.outcome != Outcome.WAITING

    @property
    def has_succeeded(self) -> bool:
        """Whether the application has succeeded."""
        return self.outcome == Outcome.SUCCEEDED

    def raise_for_failure(self) -> None:
        """Raise the exception of a failed application. Do nothing if the application runs or has succeeded.

        Raises:
            SparkApplicationFailed: The application itself failed.
            SparkInfrastructureFailed: The infrastructure failed.
            SparkSchedulingFailed: The driver could not be created or scheduled.
            SparkCheckFailed: The program succeeded, but reported that a check failed.
        """
        if self.outcome == Outcome.FAILED:
            raise build_failure(
                self.failure_kind,
                self.sentence,
                state=self.state,
                reason=self.reason,
                retry_worthy=self.retry_worthy,
                out_of_memory=self.out_of_memory,
                lacks_capacity=self.lacks_capacity,
            )


def build_verdict(conclusion: Conclusion) -> ApplicationVerdict:
    """Return the verdict on an application that has ended."""
    lines = conclusion.evidence.log_lines
    values = conclusion.to_values()
    return ApplicationVerdict(conclusion.reference, resource=conclusion.resource, log_lines=lines, **values)


def build_preliminary_verdict(reference: ApplicationReference, resource: Mapping[str, Any]) -> ApplicationVerdict:
    """Return the verdict on an application that has not ended."""
    seen = read_progress(resource)
    verdict = judge_progress(seen)
    return ApplicationVerdict(
        reference=reference,
        outcome=Outcome.WAITING.value,
        state=seen.state,
        sentence=f"{reference}: {verdict.sentence}",
        reason=verdict.reason,
        application_id=verdict.application_id,
        attempts=verdict.attempts,
        seconds_per_state=verdict.seconds_per_state,
        had_driver=had_driver(seen),
        resource=resource,
    )
