"""The few figures of a run that metrics and asset events show."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..kubernetes import pods
from ..kubernetes.names import ROLE_DRIVER, ROLE_EXECUTOR
from .report_rows import build_row


@dataclass(frozen=True)
class RunFigures:
    """The figures of a run. Unknown ones are None.

    Attributes:
        seconds: The time from the submission to the end.
        waiting_seconds: The time in which the program did not run.
        core_hours: The requested core-hours.
        gib_hours: The requested GiB-hours.
        cost: The cost.
        currency: The currency of the cost.
        executors: The largest number of executors at once.
        team: The label `team` of the application.
    """

    seconds: float | None = None
    waiting_seconds: float | None = None
    core_hours: float | None = None
    gib_hours: float | None = None
    cost: float | None = None
    currency: str | None = None
    executors: int | None = None
    team: str | None = None


def read_figures(record: Mapping[str, object]) -> RunFigures:
    """Return the figures of a run, as far as its record contains them. Never raises on a malformed record.

    Args:
        record: The record of the run.
    """
    row = build_row(record)
    executors = pods.get_object(record.get("totals")).get("executorsAtOnce")
    known = [[row[f"{role}{amount}"] for role in (ROLE_DRIVER, ROLE_EXECUTOR)] for amount in ("CoreHours", "GibHours")]
    core_hours, gib_hours = ([number for number in numbers if number is not None] for numbers in known)
    return RunFigures(
        seconds=row["seconds"],
        waiting_seconds=row["waitingSeconds"],
        core_hours=round(sum(core_hours), 6) if core_hours else None,
        gib_hours=round(sum(gib_hours), 6) if gib_hours else None,
        cost=row["cost"],
        currency=row["currency"],
        executors=executors if isinstance(executors, int) else None,
        team=row["team"],
    )
