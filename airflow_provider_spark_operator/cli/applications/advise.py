"""`spark-operator advise`: suggest smaller requests, from what the last runs of each task used."""

import json
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, TypeAlias

from ...core.kubernetes.json_object import JsonObject
from ...core.report.record_values import cut_text
from ...core.spark_metrics.advice import LEAST_RUNS, MAX_RUNS, advise, measure_run
from ..airflow_api.client import TOKEN_VARIABLE, open_airflow, require_address
from ..airflow_api.recorded_runs import list_recorded_runs
from ..base.ages import check_age, parse_duration
from ..base.errors import print_error, print_note
from ..base.exit_codes import ExitCode
from ..base.signals import GRACE_SECONDS, run_until_signal
from ..options.declaration import Parameter
from ..options.options import DagId

EXAMPLES = f"""
# What each task of Airflow could request less. {TOKEN_VARIABLE} contains a token
spark-operator advise --airflow https://airflow.example.com

# The suggestions for one DAG as JSON
spark-operator advise --airflow https://airflow.example.com --dag sales -o json
"""

_LONGEST_ID = 256
_Tasks: TypeAlias = dict[tuple[str, str], list[JsonObject | None]]


class AdviceOutput(StrEnum):
    """The formats of the output."""

    TEXT = "text"
    JSON = "json"


def run(
    airflow: Annotated[
        str,
        Parameter(
            "--airflow URL",
            f"read what tasks recorded from Airflow's API, with the token in {TOKEN_VARIABLE} (required)",
            check=require_address,
        ),
    ],
    since: Annotated[
        str, Parameter("--since AGE", "only runs whose record was stored more recently than this", check=check_age)
    ] = "30d",
    dag: DagId = None,
    output: Annotated[AdviceOutput, Parameter("-o --output text|json", "format of the output")] = AdviceOutput.TEXT,
) -> ExitCode:
    """Suggest smaller requests of memory and executors, from what the last runs of each task used.

    Tasks with the parameter spark_metrics record what Spark used. A suggestion contains the figures and the parameter
    to change. It follows from at least three successful runs, and is never below the measured peak plus 25 %.

    The cluster does not contain these figures, so the command reads the records that tasks stored in Airflow.
    """
    period = min(parse_duration(since), timedelta(days=365 * 100))
    return run_until_signal(
        lambda: _advise(airflow, dag, period, output), after_sigterm=ExitCode.INTERRUPTED, grace_seconds=GRACE_SECONDS
    )


async def _advise(address: str, dag: str | None, period: timedelta, output: AdviceOutput) -> ExitCode:
    tasks, problems = await _read_tasks(address, dag, datetime.now(UTC) - period)
    rows = [_build_row(*name, runs) for name, runs in sorted(tasks.items())]
    if output is AdviceOutput.JSON:
        print(json.dumps({"tasks": rows}, indent=2))
    else:
        for row in rows:
            sentences = [each["text"] for each in row["advice"]] or [row["reason"]]
            print(f"{row['dag']}/{row['task']}", *(f"  {sentence}" for sentence in sentences), sep="\n")
        if not rows:
            print_note("no task recorded a run in this time")
    if problems:
        print_error(f"records that could not be read: {len(problems)}, for example: {problems[0]}")
    return ExitCode.API_FAILED if problems else ExitCode.SUCCESS


async def _read_tasks(address: str, dag: str | None, since: datetime) -> tuple[_Tasks, list[str]]:
    """Return what the latest runs of each task used, the newest first, and why records could not be read."""
    tasks, problems = _Tasks(), list[str]()
    async with open_airflow(address) as client, aclosing(list_recorded_runs(client, dag, since)) as pages:
        async for page in pages:
            for one in page:
                measured = measure_run(one.value) if isinstance(one.value, dict) else None
                runs = tasks.setdefault((one.dag, one.task), [])
                if len(runs) < MAX_RUNS and (measured is not None or not runs):
                    runs.append(measured)
                if one.problem:
                    problems.append(one.problem)
    return tasks, problems


def _build_row(dag: str, task: str, found: list[JsonObject | None]) -> JsonObject:
    runs = [run for run in reversed(found) if run is not None]
    suggestions = [{"parameter": each.parameter, "text": each.text} for each in advise(runs)]
    reason = "nothing to change" if runs else "not measured: set spark_metrics in the task"
    if 0 < len(runs) < LEAST_RUNS:
        reason = f"measured runs: {len(runs)}. At least {LEAST_RUNS} are required"
    names = {"dag": cut_text(dag, _LONGEST_ID), "task": cut_text(task, _LONGEST_ID)}
    return {**names, "runs": len(runs), "advice": suggestions, "reason": "" if suggestions else reason}
