"""`spark-operator advise`: suggest smaller requests, from what the last runs of each task used."""

import json
from contextlib import aclosing
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.pods import list_objects
from ...core.kubernetes.times import read_time
from ...core.report.record_values import cut_text
from ...core.spark_metrics.advice import HISTORY_KEY, advise, choose_runs, explain
from ..airflow_api.client import TOKEN_VARIABLE, open_airflow, require_address
from ..airflow_api.recorded_runs import RecordedRun, list_latest
from ..base.ages import check_age, parse_duration
from ..base.errors import ExitCode, print_error, print_note
from ..base.signals import GRACE_SECONDS, run_until_signal
from ..options.declaration import Parameter
from ..options.options import DagId

_LONGEST_ID = 256


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
        str, Parameter("--since AGE", "only runs that ended more recently than this", check=check_age)
    ] = "30d",
    dag: DagId = None,
    output: Annotated[AdviceOutput, Parameter("-o --output text|json", "format of the output")] = AdviceOutput.TEXT,
) -> ExitCode:
    """Suggest smaller requests of memory and executors, from what the last runs of each task used.

    Tasks with the parameter spark_metrics record what Spark used. A suggestion contains the figures and the parameter
    to change. It follows from at least three successful runs. A size is never below the largest measured heap plus
    25 %.

    The cluster does not contain these figures, so the command reads what tasks stored in Airflow.

    Examples:
        # What each task of Airflow could request less. AIRFLOW_CLI_TOKEN contains a token
        spark-operator advise --airflow https://airflow.example.com

        # The suggestions for one DAG as JSON
        spark-operator advise --airflow https://airflow.example.com --dag sales -o json
    """
    period = min(parse_duration(since), timedelta(days=365 * 100))
    return run_until_signal(
        lambda: _advise(airflow, dag, period, output), after_sigterm=ExitCode.INTERRUPTED, grace_seconds=GRACE_SECONDS
    )


async def _advise(address: str, dag: str | None, period: timedelta, output: AdviceOutput) -> ExitCode:
    rows, problems = await _read_rows(address, dag, datetime.now(UTC) - period)
    if output is AdviceOutput.JSON:
        print(json.dumps({"tasks": rows}, indent=2))
    else:
        for row in rows:
            index = "" if row["mapIndex"] is None else f"[{row['mapIndex']}]"
            sentences = [each["text"] for each in row["advice"]] or [row["reason"]]
            print(f"{row['dag']}/{row['task']}{index}", *(f"  {sentence}" for sentence in sentences), sep="\n")
        if not rows:
            print_note("no task measured a run in this time: set spark_metrics in the tasks")
    if problems:
        print_error(f"runs that could not be read: {len(problems)}, for example: {problems[0]}")
    return ExitCode.API_FAILED if problems else ExitCode.SUCCESS


async def _read_rows(address: str, dag: str | None, since: datetime) -> tuple[list[JsonObject], list[str]]:
    """Return the suggestions for the tasks, and why their runs could not be read."""
    rows, problems = list[JsonObject](), list[str]()
    async with open_airflow(address) as client, aclosing(list_latest(client, HISTORY_KEY, dag, since)) as pages:
        async for page in pages:
            problems += [one.problem for one in page if one.problem]
            rows += [_build_row(one, since) for one in page if not one.problem]
    return sorted(rows, key=lambda row: (row["dag"], row["task"], row["mapIndex"] or 0)), problems


def _build_row(found: RecordedRun, since: datetime) -> JsonObject:
    runs = [run for run in choose_runs(list_objects(found.value)) if (end := read_time(run["end"])) and end >= since]
    advice = advise(runs)
    reason = explain(runs) if advice is None else ""
    return {
        "dag": cut_text(found.dag, _LONGEST_ID),
        "task": cut_text(found.task, _LONGEST_ID),
        "mapIndex": found.index if found.index >= 0 else None,
        "runs": len(runs),
        "advice": [asdict(advice)] if advice else [],
        "reason": reason,
    }
