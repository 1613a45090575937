"""The differences between the supported versions of Airflow, 3.0 to 3.4. No other module depends on the version.

Import from this module each name of Airflow whose place or existence differs between these versions. Type checkers see
the names of the newest version.
"""

import asyncio
import os
import sys
import warnings
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from airflow import sdk
from airflow.sdk import get_parsing_context

from . import airflow_version
from .airflow_version import INSTALLED, parse_version

if TYPE_CHECKING:
    from airflow.dag_processing.dagbag import DagBag
    from airflow.sdk import Connection, Context
    from sqlalchemy.orm import Session

_Answer = TypeVar("_Answer")

VERSION = parse_version(INSTALLED)
"""The major and the minor number of the installed Airflow."""

__all__ = [
    "HAS_ASSET_STATE",
    "HAS_ON_KILL",
    "HAS_RESCHEDULES",
    "HAS_RETRY_POLICIES",
    "KEEPS_DEFERRALS",
    "REPORTS_LATER_TRIES",
    "STARTS_IN_TRIGGERER",
    "VERSION",
    "AirflowException",
    "AirflowFailException",
    "AirflowNotFoundException",
    "AirflowSensorTimeout",
    "AirflowSkipException",
    "AirflowTaskTimeout",
    "BaseHook",
    "GetPreviousTI",
    "PreviousTIResult",
    "RetryAction",
    "RetryDecision",
    "RetryPolicy",
    "TaskDeferralError",
    "TaskDeferralTimeout",
    "TaskDeferred",
    "TaskInstanceKey",
    "TaskInstanceState",
    "async_get_connection",
    "async_read_extra",
    "bind_output_handler",
    "build_queue_arguments",
    "build_reschedule",
    "build_retry_arguments",
    "change_asset_state",
    "conf",
    "deserialize",
    "import_string",
    "is_of_earlier_try",
    "is_unmapped",
    "load_dag_bag",
    "load_stats",
    "mask_secrets",
    "read_asset_stores",
    "read_reschedules",
    "read_xcom",
    "serialize",
    "warn_too_old",
]

if TYPE_CHECKING or VERSION >= (3, 1):
    from airflow.sdk import BaseHook, TaskInstanceState
    from airflow.sdk._shared.secrets_masker import redact
else:
    from airflow.hooks.base import BaseHook
    from airflow.sdk.execution_time.secrets_masker import redact
    from airflow.utils.state import TaskInstanceState

if TYPE_CHECKING or VERSION >= (3, 2):
    from airflow.sdk import conf
    from airflow.sdk._shared.module_loading import import_string
    from airflow.sdk.exceptions import (
        AirflowException,
        AirflowFailException,
        AirflowNotFoundException,
        AirflowSensorTimeout,
        AirflowSkipException,
        AirflowTaskTimeout,
        TaskDeferralError,
        TaskDeferralTimeout,
        TaskDeferred,
    )
    from airflow.sdk.execution_time.comms import GetPreviousTI, PreviousTIResult
    from airflow.sdk.serde import deserialize, serialize
    from airflow.sdk.types import TaskInstanceKey
else:
    from airflow.configuration import conf
    from airflow.exceptions import (
        AirflowException,
        AirflowFailException,
        AirflowNotFoundException,
        AirflowSensorTimeout,
        AirflowSkipException,
        AirflowTaskTimeout,
        TaskDeferralError,
        TaskDeferralTimeout,
        TaskDeferred,
    )
    from airflow.models.taskinstancekey import TaskInstanceKey
    from airflow.serialization.serde import deserialize, serialize
    from airflow.utils.module_loading import import_string

    GetPreviousTI = PreviousTIResult = None

if TYPE_CHECKING or VERSION >= (3, 3):
    from airflow.sdk import RetryAction, RetryDecision, RetryPolicy
else:
    from .retry_decision import RetryAction, RetryDecision, RetryPolicy

HAS_RETRY_POLICIES = VERSION >= (3, 3)
"""Whether Airflow asks the retry policy of a task, and has a store for the state of a task."""

HAS_RESCHEDULES = VERSION >= (3, 4)
"""Whether a retry policy can run a task again without using a retry."""

HAS_ASSET_STATE = VERSION >= (3, 3)
"""Whether Airflow has a store for the state of assets."""

STARTS_IN_TRIGGERER = VERSION >= (3, 3)
"""Whether a task can start in the triggerer with its templates rendered."""

HAS_ON_KILL = VERSION >= (3, 3)
"""Whether Airflow calls `on_kill` of a trigger whose task a user has stopped.

Older versions cancel the trigger, for any reason, and call only `cleanup`.
"""

KEEPS_DEFERRALS = VERSION < (3, 1)
"""Whether Airflow resumes a retry in the same way as the try that failed, if that try had deferred."""

REPORTS_LATER_TRIES = VERSION >= (3, 2)
"""Whether Airflow reports the number of a try to triggers, with `GetPreviousTI`."""


def build_reschedule(delay: timedelta, timeout: timedelta, reason: str) -> RetryDecision:
    """Return the decision to run a task again without using a retry. Requires `HAS_RESCHEDULES`.

    Args:
        delay: The delay before the task runs again.
        timeout: How long after the first such decision Airflow ignores the next one, and uses a retry.
        reason: The reason, for the log.
    """
    decision: RetryDecision = RetryDecision.reschedule(delay, reschedule_timeout=timeout, reason=reason)  # type: ignore[attr-defined]
    return decision


def read_reschedules(context: "Context") -> tuple[int, datetime | None]:
    """Return how often the current try was rescheduled, and when for the first time. Requires `HAS_RESCHEDULES`.

    Args:
        context: The context of the task.
    """
    number = context.get("task_reschedule_count", 0)
    return number, context["ti"].get_first_reschedule_date(context) if number else None


def build_retry_arguments(policy: RetryPolicy | None) -> dict[str, Any]:
    """Return the arguments of an operator for its retry policy; none if Airflow does not ask policies."""
    return {"retry_policy": policy} if HAS_RETRY_POLICIES else {}


def take_retry_policy(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a sensor or operator without a retry policy that Airflow does not know.

    Args:
        arguments: The arguments for the constructor of Airflow's class. They stay unchanged.
    """
    if HAS_RETRY_POLICIES or "retry_policy" not in arguments:
        return arguments
    effect = "Airflow retries the task after every failure, up to its number of retries"
    warn_too_old("retry_policy", effect, arguments.get("task_id"))
    return {name: value for name, value in arguments.items() if name != "retry_policy"}


def is_of_earlier_try(next_kwargs: Mapping[str, Any] | None, try_number: int) -> bool:
    """Return whether a task resumes with an event of an earlier try, so that the current try must start anew.

    Airflow 3.0 keeps the event of a try that fails, and resumes each retry with it.

    Args:
        next_kwargs: The arguments with which Airflow resumes the task.
        try_number: Number of the current try.
    """
    event = (next_kwargs or {}).get("event")
    number = event.get("try_number") if isinstance(event, Mapping) else None
    return isinstance(number, int) and number < try_number


def is_unmapped(operator: object) -> bool:
    """Return whether Airflow created the operator for one element of a mapped task.

    Args:
        operator: The operator, from the constructor of its class on.
    """
    # Airflow has no public attribute for this.
    return bool(getattr(operator, "_BaseOperator__from_mapped", False))


def build_queue_arguments(queue: str | None) -> dict[str, Any]:
    """Return the arguments of an event trigger for the queue of its triggerers; none if Airflow does not know it.

    Args:
        queue: The queue. None if any triggerer without queues may run the trigger.
    """
    if VERSION >= (3, 4):
        return {"queue": queue}
    if queue is not None:
        warn_too_old("queue", "any triggerer runs the trigger", required="3.4")
    return {}


def warn_too_old(argument: str, effect: str, task_id: str | None = None, required: str = "3.3") -> None:
    """Warn about an argument in a DAG file that the installed Airflow does not support.

    A worker parses the entire DAG file to run one of its tasks. It warns only about this task.

    Args:
        argument: Name of the argument.
        effect: What happens instead.
        task_id: Id of the task; None if no task is known. The id need not contain the ids of task groups.
        required: The oldest version of Airflow that supports the argument.
    """
    running = get_parsing_context().task_id
    if running is not None and (task_id is None or running.rpartition(".")[2] != task_id.rpartition(".")[2]):
        return
    file, line = _find_dag_file()
    subject = f"{file}, line {line}" + (f", task {task_id}" if task_id else "")
    message = f"{subject}: {argument} requires Apache Airflow {required} or newer, but found {INSTALLED}: {effect}"
    warnings.warn_explicit(message, UserWarning, file, line)


def _find_dag_file() -> tuple[str, int]:
    """Return the file and the line that call this package."""
    ours = tuple(f"{Path(module.__file__ or '').parent}{os.sep}" for module in (airflow_version, sdk))
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(ours):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


async def async_get_connection(conn_id: str) -> "Connection":
    """Return a connection, for code in an event loop.

    Args:
        conn_id: Id of the connection.

    Raises:
        AirflowNotFoundException: The connection does not exist.
    """
    if VERSION >= (3, 2):
        return await BaseHook.aget_connection(conn_id)
    if VERSION >= (3, 1):
        return await _finish(BaseHook.aget_connection(conn_id))
    from asgiref.sync import sync_to_async

    return await _finish(sync_to_async(BaseHook.get_connection)(conn_id))


async def async_read_extra(connection: "Connection") -> Any:
    """Return the decoded extra of a connection, for code in an event loop. Airflow masks its secrets in logs.

    Args:
        connection: The connection.
    """
    if VERSION >= (3, 3):
        return await connection.aextra_dejson()
    from asgiref.sync import sync_to_async

    read = sync_to_async(lambda: connection.extra_dejson)()
    return await (read if VERSION >= (3, 2) else _finish(read))


async def _finish(request: Coroutine[Any, Any, _Answer]) -> _Answer:
    """Await a request to Airflow, which continues if the caller is cancelled.

    Before Airflow 3.2, a cancelled request of a trigger ends the triggerer: the next request receives its answer.
    """
    return await asyncio.shield(asyncio.create_task(request))


def bind_output_handler(handle_output: Callable[..., Any], context: "Context") -> Callable[[Any], Any]:
    """Return the method of a decorated operator that handles the return value of its function.

    Args:
        handle_output: The method.
        context: The context of the task.
    """
    if VERSION >= (3, 1):
        return handle_output
    return partial(handle_output, context=context, xcom_push=context["ti"].xcom_push)


def mask_secrets(text: str) -> str:
    """Return `text` with `***` in place of the secrets that this process has read from connections and variables."""
    return str(redact(text))


def read_xcom(key: str, ti_key: "TaskInstanceKey", *, or_of_earlier_run: bool = False) -> Any:
    """Return an XCom of a task, or None. Before Airflow 3.2, `BaseXCom.get_one` warns if there is none.

    Args:
        key: The key of the XCom.
        ti_key: The task instance.
        or_of_earlier_run: Whether to return the XCom of the latest earlier run that has one, if this run has none.
    """
    from airflow.sdk.bases.xcom import BaseXCom
    from airflow.sdk.execution_time.comms import GetXCom, XComResult
    from airflow.sdk.execution_time.task_runner import SUPERVISOR_COMMS

    answer = SUPERVISOR_COMMS.send(
        GetXCom(
            key=key,
            dag_id=ti_key.dag_id,
            task_id=ti_key.task_id,
            run_id=ti_key.run_id,
            map_index=ti_key.map_index,
            include_prior_dates=or_of_earlier_run,
        )
    )
    found = isinstance(answer, XComResult) and answer.value is not None
    return BaseXCom.deserialize_value(answer) if found else None


def load_stats() -> Any:
    """Return the interface of Airflow for metrics, whose functions `incr`, `gauge` and `timing` send to its backend."""
    if TYPE_CHECKING or VERSION >= (3, 2):
        from airflow.sdk.observability.stats import Stats
    else:
        from airflow.stats import Stats
    return Stats


def read_asset_stores(trigger: object) -> Mapping[str, Any]:
    """Return the state stores of the assets of a trigger, by the names of the assets; none before Airflow 3.3.

    Args:
        trigger: The trigger.
    """
    # Airflow has no public way to list the assets of a trigger.
    return getattr(getattr(trigger, "asset_state_store", None), "_by_name", {})


def change_asset_state(asset_id: int, key: str, change: Callable[[str | None], str], session: "Session") -> None:
    """Change a value in the state store of an asset, in the transaction of a session. Requires `HAS_ASSET_STATE`.

    Args:
        asset_id: The id of the asset.
        key: The key of the value.
        change: Returns the new value. It receives the stored value, or None if there is none.
        session: The session.
    """
    from airflow.state import AssetScope, get_state_backend

    backend, scope = get_state_backend(), AssetScope(asset_id=asset_id)
    backend.set(scope, key, change(backend.get(scope, key, session=session)), session=session)


def load_dag_bag(file: Path, folder: Path) -> "DagBag":
    """Parse a DAG file as the DAG processor does. Loads the models of Airflow's database.

    Args:
        file: The file.
        folder: The folder of the DAG bundle, which contains the file.
    """
    if TYPE_CHECKING or VERSION >= (3, 2):
        from airflow.dag_processing.dagbag import BundleDagBag
    elif VERSION >= (3, 1):
        from airflow.models.dagbag import BundleDagBag
    else:
        from airflow.models.dagbag import DagBag

        return DagBag(dag_folder=file, include_examples=False, safe_mode=False)
    name: dict[str, Any] = {"bundle_name": "dags-folder"} if VERSION >= (3, 2) else {}
    return BundleDagBag(dag_folder=file, bundle_path=folder, safe_mode=False, **name)
