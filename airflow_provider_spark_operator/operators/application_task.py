"""The interfaces between the operators that create resources and the modules behind them."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NoReturn, Protocol

import jinja2
from airflow.sdk import Context
from airflow.triggers.base import BaseTrigger

from ..airflow_compat import AirflowFailException, RetryPolicy
from ..core.parameters.arguments import OnBudgetExceeded, OnFailedCheck, WaitFor
from ..core.parameters.parameter_types import Streaming, read_seconds
from ..links.target import LinkTarget


class ResourceTask(Protocol):
    """The operator of a task that creates a resource. The docstring of the operator describes the parameters.

    The modules behind an operator cannot import it, because it imports them.

    Attributes:
        source_error: Why the file of the resource could not be read; None if there is no such problem.
        link_target: The resource of the task's links; None until it is created.
        resumed: Whether this process continues a try that deferred.
    """

    name: str | None
    namespace: str | None
    kubernetes_conn_id: str | None
    deferrable: bool
    delete_on_kill: bool
    if_exists: str
    retries: int | None
    retry_policy: RetryPolicy | None
    execution_timeout: timedelta | None
    do_xcom_push: bool
    source_error: AirflowFailException | None
    link_target: LinkTarget | None
    resumed: bool

    def execute(self, context: Context) -> Any:
        """Run the task from its start."""
        ...

    def get_template_env(self) -> jinja2.Environment:
        """Return the template environment of the DAG, which contains the folders of its files."""
        ...

    def defer(self, *, trigger: BaseTrigger, method_name: str, timeout: timedelta | float | None = None) -> NoReturn:
        """End this process. When the trigger fires, Airflow resumes the task with the method."""
        ...


class ApplicationTask(ResourceTask, Protocol):
    """The SparkApplicationOperator of a task."""

    application: object
    api_version: str | None
    py_file: str | None
    sql: Sequence[str] | str | None
    sql_result: bool
    start_from_trigger: bool
    wait_for_completion: bool
    ttl: timedelta | float | None
    get_logs: bool
    driver_log_level: str | None
    spark_metrics: bool | str
    keep_failed_driver: timedelta | float | None
    keep_driver: timedelta | float | None
    restarts: str | None
    openlineage_inject_parent_job_info: bool
    openlineage_inject_transport_info: bool
    upload_to: str | None
    download_from: str | None
    outlets: list[Any]
    max_core_hours: float | None
    max_cost: float | None
    on_budget_exceeded: str
    on_failed_check: str
    streaming: Streaming | None


def build_streaming(task: ApplicationTask, *, replaces: bool) -> dict[str, Any] | None:
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


def build_budget(task: ApplicationTask) -> dict[str, Any] | None:
    """Return the budget of a task as plain values, for its trigger. None if the task has no budget."""
    if task.max_core_hours is None and task.max_cost is None:
        return None
    return {
        "max_core_hours": task.max_core_hours,
        "max_cost": task.max_cost,
        "ends_application": task.on_budget_exceeded == OnBudgetExceeded.FAIL,
    }
