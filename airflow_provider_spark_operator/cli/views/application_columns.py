"""The table of applications: its columns, and which applications it shows."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from ...core.dialects.progress import Phase, is_driver_refused
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.times import format_duration
from ...core.report.summary import ApplicationSummary, has_ended, summarize
from ...core.states.reasons import OUT_OF_MEMORY
from ...core.verdict.verdict import Outcome
from ..base.styles import style_state
from ..options.selection import TaskFilter
from ..output.tables import Column, Table
from .pod_census import PodCensus

# Parentheses after a state that name no obstacle.
_HARMLESS: Final = frozenset({"", "deleting", "deleted", "held", "queued"})
# In the messages of `core.lifecycle.application`.
_COUNT: Final = "(executors ready: "


def list_columns(*, with_namespace: bool) -> list[Column[ApplicationSummary]]:
    """Return the columns, among them those of `-o wide`.

    Args:
        with_namespace: Whether to show the namespace.
    """
    return [_NAMESPACE, *_COLUMNS] if with_namespace else [*_COLUMNS]


def describe_outcome(summary: ApplicationSummary) -> str:
    """Return how an application ended: `Succeeded`, `Failed (application)`; empty if it has not ended."""
    verdict = summary.verdict
    if verdict.outcome is Outcome.WAITING:
        return ""
    return f"{verdict.outcome} ({verdict.failure_kind})" if verdict.failure_kind else str(verdict.outcome)


def _describe_cause(summary: ApplicationSummary) -> str:
    """Return the outcome, with the reason in place of the kind of failure if the driver was out of memory."""
    verdict = summary.verdict
    return f"{verdict.outcome} ({verdict.reason})" if verdict.reason == OUT_OF_MEMORY else describe_outcome(summary)


def _measure_end(summary: ApplicationSummary) -> timedelta | None:
    """Return the time since the end; since the creation if only the end is unknown, like `spark-operator cleanup`."""
    if summary.progress.phase is not Phase.ENDED or summary.age is None:
        return None
    return summary.age - (summary.duration or timedelta())


def describe_state(summary: ApplicationSummary) -> str:
    """Return the state, and whether the application is being deleted, held, queued, or what it waits for."""
    if summary.is_deleting:
        return f"{summary.state} (deleting)"
    if not summary.is_held:
        return f"{summary.state} ({summary.obstacle})" if summary.obstacle else summary.state
    return f"{summary.state} (queued)" if summary.queue and not summary.is_suspended else f"{summary.state} (held)"


def describe_message(summary: ApplicationSummary) -> str:
    """Return the message of the current state; empty if it only counts the executors at the begin of the state."""
    message = summary.progress.message or ""
    return "" if summary.progress.phase is Phase.RUNNING and _COUNT in message else message


def describe_executors(summary: ApplicationSummary, condition: str = "running") -> str:
    """Return `2 of 3 running`, and why a running application has no executors."""
    absence = summary.executors.absence if summary.progress.phase is Phase.RUNNING else ""
    count = f"{str(summary.executors).replace('/', ' of ')} {condition}"
    return f"{count} ({absence})" if absence else count


def format_optional(duration: timedelta | None) -> str:
    """Return a duration; empty if it is unknown."""
    return "" if duration is None else format_duration(duration)


def style_cell(cell: str) -> str:
    """Return the colour of a state with its obstacle in parentheses, as `paint` names it; empty for no colour."""
    state, _, obstacle = cell.partition(" (")
    style = style_state(state)
    return "yellow" if obstacle.rstrip(")") not in _HARMLESS and style != "red" else style


_NAMESPACE: Final[Column[ApplicationSummary]] = Column("NAMESPACE", lambda summary: summary.namespace, 12)
_COLUMNS: Final[tuple[Column[ApplicationSummary], ...]] = (
    Column("NAME", lambda summary: summary.name, 20, is_key=True),
    Column("STATE", describe_state, 16, is_shortened=True, replaced_by="OUTCOME", style=style_cell),
    Column("OUTCOME", _describe_cause, 9, style=style_cell),
    Column("ATTEMPTS", lambda summary: str(summary.attempts), drop_rank=3),
    Column("EXECUTORS", lambda summary: _count_executors(summary), drop_rank=2),
    Column("AGE", lambda summary: format_optional(summary.age), 6),
    Column("DURATION", lambda summary: format_optional(summary.duration), 6, drop_rank=1),
    Column("TASK", lambda summary: str(summary.task or "")),
    Column("ENDED", lambda summary: format_optional(_measure_end(summary)), is_wide=True),
    Column("REASON", lambda summary: _read_reason(summary), is_wide=True),
    Column("DRIVER", lambda summary: _get_driver(summary), is_wide=True),
    Column("QUEUE", lambda summary: summary.queue, is_wide=True),
    Column("RUN", lambda summary: summary.task.run_id if summary.task else "", is_wide=True),
    Column("API VERSION", lambda summary: summary.api_version, is_wide=True),
)


def _count_executors(summary: ApplicationSummary) -> str:
    """Return `2/3`; empty after the end unless executors still run. Spark deletes the others, so 0 would mislead."""
    return str(summary.executors) if summary.executors.running or not has_ended(summary.progress) else ""


def _get_driver(summary: ApplicationSummary) -> str:
    return "" if is_driver_refused(summary.progress) else summary.progress.driver_name or ""


def _read_reason(summary: ApplicationSummary) -> str:
    return "" if summary.verdict.outcome is Outcome.WAITING else summary.verdict.reason


@dataclass(frozen=True)
class ApplicationFilter:
    """The applications that a list shows. Every criterion that is set must hold.

    Attributes:
        states: Words in lower case. A state, the phase or the outcome must be one of them. Empty for all applications.
        failure: The kind of the failure. None for all applications.
        task: The task of Airflow that submitted them.
        older_than: Applications older than this.
        younger_than: Applications younger than this.
    """

    states: Sequence[str] = ()
    failure: str | None = None
    task: TaskFilter = field(default_factory=TaskFilter)
    older_than: timedelta | None = None
    younger_than: timedelta | None = None

    @property
    def needs_verdict(self) -> bool:
        """Whether a criterion depends on how an application ended."""
        return bool(self.states or self.failure)

    def accepts(self, summary: ApplicationSummary) -> bool:
        """Return whether the list shows an application. The age of an application without a time is unknown."""
        words = {summary.state.lower(), summary.progress.phase.lower()}
        if summary.progress.phase is Phase.ENDED:  # before, the outcome is Waiting, which is also a phase
            words.add(summary.verdict.outcome.lower())
        return (
            (not self.states or not words.isdisjoint(self.states))
            and self.task.accepts(summary.task)
            and (self.failure is None or summary.verdict.failure_kind == self.failure)
            and (self.older_than is None or (summary.age is not None and summary.age > self.older_than))
            and (self.younger_than is None or (summary.age is not None and summary.age < self.younger_than))
        )

    def __str__(self) -> str:
        """Return the criteria as on the command line, for messages."""
        words = [
            *(("--state", state) for state in self.states),
            ("--failure", self.failure),
            ("", str(self.task)),
            ("--older-than", format_optional(self.older_than)),
            ("--younger-than", format_optional(self.younger_than)),
        ]
        return " ".join(f"{option} {value}".strip() for option, value in words if value)


@dataclass(frozen=True)
class Query:
    """Which applications to show, and how.

    Attributes:
        namespace: Their namespace. None for all namespaces.
        selector: Selects applications by their labels. None for all applications.
        criteria: The other conditions.
        output: The value of the option `Output`.
    """

    namespace: str | None
    selector: str | None
    criteria: ApplicationFilter
    output: str

    async def select(self, applications: Sequence[JsonObject], census: PodCensus) -> list[JsonObject]:
        """Return the applications that meet the conditions now. Their driver pods are read if a condition needs them.

        Raises:
            KubeError: The API could not be reached.
        """
        if self.criteria.needs_verdict:
            await census.read_drivers(applications)
        return [item for item in applications if self.criteria.accepts(census.summarize(item))]

    def describe_conditions(self) -> str:
        """Return the conditions as on the command line, for a message. Empty if there are none."""
        return " ".join(filter(None, [str(self.criteria), f"-l {self.selector}" if self.selector else ""]))

    def describe_place(self) -> str:
        """Return the namespace for a message."""
        return f"namespace {self.namespace}" if self.namespace else "any namespace"


class ApplicationTable:
    """Prints applications as rows.

    Args:
        census: The pods of the applications.
        namespace: The namespace of the applications. None for all namespaces, which are then shown.
        is_wide: Whether to show the columns of `-o wide`.
    """

    def __init__(self, census: PodCensus, namespace: str | None, *, is_wide: bool) -> None:
        self._table = Table(list_columns(with_namespace=namespace is None), is_wide=is_wide)
        self._census = census

    async def print(self, applications: Sequence[JsonObject]) -> None:
        """Print a row for each application. The pods are read once for all of them."""
        await self._census.read(applications)
        lost = await asyncio.gather(*map(self._census.has_lost_controller, applications))
        self._table.print(
            [
                self._census.summarize(application, controller_lost=is_lost)
                for application, is_lost in zip(applications, lost, strict=True)
            ]
        )

    def print_deleted(self, application: JsonObject) -> None:
        """Print the row of an application that no longer exists, with its last state."""
        summary = summarize(application, self._census.get_time(), ())
        self._table.print([replace(summary, state=f"{summary.state} (deleted)", is_deleting=False)])
