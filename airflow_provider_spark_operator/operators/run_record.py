"""Store the final record of a run as an XCom of its task, and keep a summary of it for later tries."""

import logging
from collections.abc import Mapping
from typing import Any

from airflow.sdk import Context

from ..airflow_compat import HAS_RETRY_POLICIES, TaskInstanceKey, read_xcom
from ..airflow_version import INSTALLED
from ..core.kubernetes.json_object import JsonObject
from ..core.kubernetes.pods import list_objects
from ..core.report.recording import MAX_TRIES, add_tries, close_record, summarize_try
from ..core.verdict.verdict import FailureKind
from ..links.url import push_xcoms
from ..triggers.run_record import XCOM_KEY

logger = logging.getLogger(__name__)

_STORE_KEY = "spark_run_tries"


def store_final_record(
    context: Context, record: Mapping[str, Any] | None, failure: str | None, kind: FailureKind | None = None
) -> None:
    """Store the record of a run at the end of a try. A problem is only logged.

    Args:
        context: The context of the task.
        record: The record. If None, the one that the task has stored while the application ran.
        failure: Why the try fails, if the outcome of the application is not known. None if the record shows it.
        kind: The kind of the failure, if the task has ended the application for this reason.
    """
    record = record or _read_stored(context)
    if record is None:
        return
    final = dict(record) if failure is None else close_record(record, failure, kind)
    push_xcoms({XCOM_KEY: _add_earlier_tries(final, context)}, context["ti"])


def _read_stored(context: Context) -> Mapping[str, Any] | None:
    task_instance = context["ti"]
    key = TaskInstanceKey(
        dag_id=task_instance.dag_id,
        task_id=task_instance.task_id,
        run_id=task_instance.run_id,
        try_number=task_instance.try_number,
        map_index=-1 if task_instance.map_index is None else task_instance.map_index,
    )
    try:
        stored = read_xcom(XCOM_KEY, key)
    except Exception as error:  # nothing was stored, or the store does not answer
        logger.debug("could not read the XCom %s: %s", XCOM_KEY, error)
        return None
    return stored if isinstance(stored, dict) else None


def _add_earlier_tries(record: JsonObject, context: Context) -> JsonObject:
    """Return the record with the earlier tries of the task, and keep a summary of this try."""
    try_number, store = context["ti"].try_number, context.get("task_state_store")
    if store is None:
        problem = "" if HAS_RETRY_POLICIES else f"Airflow {INSTALLED} does not keep earlier tries, Airflow 3.3 does"
        return add_tries(record, (), try_number, problem)
    try:
        earlier = [each for each in list_objects(store.get(_STORE_KEY)) if each.get("tryNumber") != try_number]
        kept: list[Any] = [*earlier, summarize_try(record, try_number)][-MAX_TRIES:]
        store.set(_STORE_KEY, kept)
    except Exception as error:
        logger.warning("could not keep the record of this try for later tries: %s", error)
        return add_tries(record, (), try_number)
    return add_tries(record, earlier, try_number)
