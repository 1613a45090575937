"""Read the logs of task instances, which have one JSON object per line."""

import json
from pathlib import Path
from typing import Any

from demo.dag_run import RUN_ID


def find_log(airflow_home: Path, dag_id: str, task_id: str) -> Path:
    """Return the newest log file of a task in the demo's run, or the path for its first try if there is none."""
    folder = airflow_home / "logs" / f"dag_id={dag_id}" / f"run_id={RUN_ID}" / f"task_id={task_id}"
    # The folder also contains the logs of triggers, for example attempt=1.log.trigger.2.log.
    attempts = sorted(path for path in folder.glob("attempt=*.log") if ".trigger." not in path.name)
    return attempts[-1] if attempts else folder / "attempt=1.log"


def read_failure(log: Path) -> str:
    """Return the message of the last exception in the log, or an empty string."""
    message = ""
    if log.exists():
        for line in log.read_text(errors="replace").splitlines():
            message = _read_exception(line) or message
    return message


def _read_exception(line: str) -> str:
    try:
        record: dict[str, Any] = json.loads(line)
    except ValueError:
        return ""
    details = record.get("error_detail") or []
    return str(details[-1].get("exc_value", "")) if details else ""
