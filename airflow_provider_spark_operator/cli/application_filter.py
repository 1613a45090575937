"""Select applications by state, failure and age."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from airflow_provider_spark_operator.core.report.summary import ApplicationSummary


@dataclass(frozen=True)
class ApplicationFilter:
    """The applications that a list shows. Every criterion that is set must hold.

    Attributes:
        states: Words in lower case. A state, the phase or the outcome must be one of them. Empty for all applications.
        failure: The kind of the failure. None for all applications.
        older_than: Applications older than this.
        younger_than: Applications younger than this.
    """

    states: Sequence[str] = ()
    failure: str | None = None
    older_than: timedelta | None = None
    younger_than: timedelta | None = None

    @property
    def needs_verdict(self) -> bool:
        """Whether a criterion depends on how an application ended."""
        return bool(self.states or self.failure)

    def accepts(self, summary: ApplicationSummary) -> bool:
        """Return whether the list shows an application. The age of an application without a time is unknown."""
        words = {summary.state.lower(), summary.phase.lower(), summary.verdict.outcome.lower()}
        return (
            (not self.states or not words.isdisjoint(self.states))
            and (self.failure is None or summary.verdict.failure_kind == self.failure)
            and (self.older_than is None or (summary.age is not None and summary.age > self.older_than))
            and (self.younger_than is None or (summary.age is not None and summary.age < self.younger_than))
        )
