"""Run one DAG inside the demo's Airflow, and report its states as JSON lines.

Each line on standard output is one object:

- `{"registered": …}` when the database exists and other processes can use it
- `{"task": …, "state": …}` when a task instance changes its state
- `{"run": …, "state": …}` at the end; the state of a deleted run is null

Airflow's own output goes to standard error.
"""

import contextlib
import json
import os
import sys
import time
from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

POLL_SECONDS = 0.5
REQUEST_SECONDS = 60
RUN_ID = "demo"


def main(dag_id: str) -> int:
    """Create the metadata database, run a DAG once, and report states until the run ends."""
    # Airflow logs to standard output when it is imported. Only the report uses this stream.
    with os.fdopen(os.dup(sys.stdout.fileno()), "w") as report:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        problems = register_dags()
        if problems:
            print("\n".join(problems), file=sys.stderr)
            return 1
        _write(report, {"registered": dag_id})
        _await_execution_api()
        _start(dag_id)
        _follow(dag_id, report)
    return 0


def register_dags() -> list[str]:
    """Create the database and store the DAGs of the folder. Return the import errors."""
    from airflow.cli.commands.dag_command import dag_reserialize
    from airflow.models.errors import ParseImportError
    from airflow.utils.db import initdb
    from airflow.utils.session import create_session

    Path(os.environ["AIRFLOW_HOME"]).mkdir(parents=True, exist_ok=True)  # Airflow 3.0 does not create it in time
    initdb()
    dag_reserialize(Namespace(bundle_name=None))
    with create_session() as session:
        return [f"{problem.filename}: {problem.stacktrace}" for problem in session.query(ParseImportError)]


def _await_execution_api() -> None:
    # A task that starts before the server listens fails: Airflow retries only for some seconds.
    import httpx

    from airflow_provider_spark_operator.airflow_compat import conf

    health = f"{conf.get('core', 'execution_api_server_url')}health"
    while True:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(health, timeout=REQUEST_SECONDS, trust_env=False).is_success:
                return
        time.sleep(POLL_SECONDS)


def _start(dag_id: str) -> None:
    from airflow.api.common.trigger_dag import trigger_dag
    from airflow.utils.types import DagRunTriggeredByType

    now = datetime.now(UTC)  # as for a run that a user starts in the web interface
    trigger_dag(dag_id, run_id=RUN_ID, logical_date=now, triggered_by=DagRunTriggeredByType.CLI)


def _follow(dag_id: str, report: TextIO) -> None:
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session
    from airflow.utils.state import State

    known: dict[str, str | None] = {}
    while True:
        with create_session() as session:
            run = session.query(DagRun).filter(DagRun.dag_id == dag_id, DagRun.run_id == RUN_ID).one_or_none()
            if run is None:
                _write(report, {"run": RUN_ID, "state": None})
                return
            states = {instance.task_id: instance.state for instance in run.get_task_instances(session=session)}
            ended = run.state in State.finished_dr_states
            run_state = str(run.state)
        for task_id, state in states.items():
            if task_id not in known or known[task_id] != state:
                known[task_id] = state
                _write(report, {"task": task_id, "state": state and str(state)})
        if ended:
            _write(report, {"run": RUN_ID, "state": run_state})
            return
        time.sleep(POLL_SECONDS)


def _write(report: TextIO, line: dict[str, str | None]) -> None:
    print(json.dumps(line), file=report, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
