"""The arguments of triggers that follow from the parameters of a task, and which of them need a worker."""

import warnings
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from airflow.sdk import DAG, XComArg
from airflow.triggers.base import StartTriggerArgs

from ..core.compose.application import TaskSettings, compose_application
from ..core.compose.restarts import has_double_restarts
from ..core.driver.configuration.uris import is_local
from ..core.parameters.arguments import RESTARTS_BY_AIRFLOW, OnBudgetExceeded, OnFailedCheck, WaitFor
from ..core.parameters.parameter_types import is_template, read_seconds
from ..core.parameters.parameters import NAMES, STRUCTURED, Form, Parameters, select_names, split_list
from ..follow.submission.document import parse_manifest
from ..retry_policy import build_capacity_wait, find_spark_policy
from .checks import reject_if_invalid

if TYPE_CHECKING:
    from .spark_application import SparkApplicationOperator

# Parameters whose items are read at DAG parse time.
_LISTS = ("arguments", "cluster", *STRUCTURED)
# The values of these objects become texts of the manifest, so that the triggerer can render them.
_TEXT_VALUES = select_names(Form.MAP)
_POD_TEMPLATES = select_names(Form.FILE)
_TRIGGER = "airflow_provider_spark_operator.triggers.start.SparkApplicationStartTrigger"


# Airflow sends the whole DAG to the triggerer for each task that starts there. For 100 of 100 tasks, this takes 9 s of
# CPU time, for 200 of 200 tasks 32 s. Without a heartbeat for 30 s, a triggerer loses its triggers.
MAX_COPIED_TASKS = 100 * 100

# By identity: the hash of a DAG changes with its tasks.
_large_dags: WeakValueDictionary[int, DAG] = WeakValueDictionary()


def warn_if_too_many(dag: DAG | None) -> None:
    """Warn once for a DAG in which too many tasks start in the triggerer.

    Args:
        dag: The DAG of a task that starts in the triggerer. None if the task has no DAG yet.
    """
    if dag is None or _large_dags.get(id(dag)) is dag:
        return
    number = sum(bool(getattr(task, "start_from_trigger", False)) for task in dag.tasks)
    if number * len(dag.tasks) > MAX_COPIED_TASKS:
        _large_dags[id(dag)] = dag
        warnings.warn(
            f"DAG {dag.dag_id} has {number} or more tasks with start_from_trigger=True among {len(dag.tasks)} tasks. "
            "Airflow sends the whole DAG to the triggerer for each of them, which can stop the heartbeat of the "
            "triggerer. Use deferrable=True instead, or divide the DAG",
            stacklevel=5,
        )


def build_start_arguments(task: "SparkApplicationOperator", parameters: Parameters) -> StartTriggerArgs:
    """Return the trigger that the scheduler starts in place of the task.

    The triggerer renders the arguments `application`, `name`, `namespace` and `kubernetes_conn_id`.

    Args:
        task: The task.
        parameters: The parameters that override the document.

    Raises:
        ValueError: A parameter of the task needs a worker.
    """
    problems = [problem for problem in _find_problems(task) if problem]
    if problems:
        raise ValueError(f"start_from_trigger: {'; '.join(problems)}")
    with reject_if_invalid():
        document = parse_manifest(task.application, task.api_version)
        settings = TaskSettings(
            task.ttl,
            task.keep_failed_driver,
            keep_driver=task.keep_driver,
            restarts=task.restarts != RESTARTS_BY_AIRFLOW,
            metrics=bool(task.spark_metrics),
        )
        document = compose_application(document, parameters, settings)
    if task.restarts is None and has_double_restarts(document, task.retries or 0):
        raise ValueError(
            "start_from_trigger: both the application's restart policy and the task's retries would repeat a failure. "
            'Set restarts to "cluster" to keep both, or to "airflow" to keep only the task\'s retries'
        )
    return StartTriggerArgs(
        trigger_cls=_TRIGGER,
        next_method="execute_complete",
        trigger_kwargs={
            "application": document,
            "name": task.name,
            "namespace": task.namespace,
            "kubernetes_conn_id": task.kubernetes_conn_id,
            "delete_on_kill": task.delete_on_kill,
            "driver_log": task.get_logs and (task.driver_log_level or True),
            "if_exists": task.if_exists,
            "record": task.do_xcom_push,
            "budget": build_budget(task),
            "metrics": bool(task.spark_metrics),
            "capacity_wait": asdict(wait) if (wait := build_capacity_wait(task.retry_policy)) else None,
        },
    )


def build_streaming(task: "SparkApplicationOperator", *, replaces: bool) -> dict[str, Any] | None:
    """Return what a task expects of its streaming queries as plain values, for its trigger. None if it has none.

    Args:
        task: The task.
        replaces: Whether the application replaces an earlier version.
    """
    if task.streaming is None:
        return None
    return {
        "ends_at_progress": task.streaming.wait_for == WaitFor.PROGRESS,
        "stalled_seconds": read_seconds(task.streaming.stalled_after),
        "ends_stalled": task.streaming.on_stall == OnFailedCheck.FAIL,
        "continues": replaces,
    }


def build_budget(task: "SparkApplicationOperator") -> dict[str, Any] | None:
    """Return the budget of a task as plain values, for its trigger. None if the task has no budget."""
    if task.max_core_hours is None and task.max_cost is None:
        return None
    return {
        "max_core_hours": task.max_core_hours,
        "max_cost": task.max_cost,
        "ends_application": task.on_budget_exceeded == OnBudgetExceeded.FAIL,
    }


def _find_problems(task: "SparkApplicationOperator") -> list[str | None]:
    files = [uri for name in select_names(Form.FILES) for uri in split_list(_select_text(getattr(task, name)))]
    local = [uri for uri in [*files, *split_list(_select_text(task.py_file))] if is_local(uri)]
    given = {name: getattr(task, name) for name in (*NAMES, "application", "name", "namespace")}
    pending = sorted(name for name, value in given.items() if isinstance(value, XComArg))
    whole = sorted(name for name in _LISTS if is_template(given[name]))
    inner = sorted(name for name in STRUCTURED if name not in (*_TEXT_VALUES, *whole) and _has_template(given[name]))
    texts = [name for name in _POD_TEMPLATES if isinstance(given[name], str)]
    policy = find_spark_policy(task.retry_policy)
    grows = policy is not None and policy.memory_growth is not None
    lineage = task.openlineage_inject_parent_job_info or task.openlineage_inject_transport_info
    return [
        "the parameter `application` must be a dict or a model: only a worker can read a file or YAML text"
        if isinstance(task.application, str)
        else None,
        f"{', '.join(local)}: only a worker can ship local files. Use local:// or another URL" if local else None,
        "sql: only a worker can ship SQL statements" if task.sql is not None else None,
        f"{', '.join(pending)}: only a worker can read results of tasks" if pending else None,
        f"{', '.join(whole)}: the entire value must not be one template, because only a worker can render it"
        if whole
        else None,
        f"{', '.join(inner)}: only a worker can render templates in these parameters" if inner else None,
        f"{', '.join(texts)}: only a worker can read a file or YAML text. Use an object (dict)" if texts else None,
        "memory_growth: only a worker can read how much memory earlier tries had. Remove memory_growth, or "
        "start_from_trigger"
        if grows
        else None,
        "openlineage_inject_...: these parameters need a worker. Remove them, or remove start_from_trigger"
        if lineage
        else None,
        None
        if task.wait_for_completion
        else "wait_for_completion must be True: the triggerer always waits for the end of the application",
    ]


def _select_text(value: object) -> list[str] | str | None:
    return value if isinstance(value, (list, str)) else None


def _has_template(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_template, value.values()))
    return any(map(_has_template, value)) if isinstance(value, (list, tuple)) else is_template(value)
