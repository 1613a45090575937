"""Link to the page of a task in the Spark view, also for users who cannot see the tabs of plugins."""

from typing import Final
from urllib.parse import quote, urlencode

from airflow.sdk import BaseOperator, BaseOperatorLink
from airflow.sdk.types import RuntimeTaskInstanceProtocol

from ..airflow_compat import TaskInstanceKey, conf
from ..provider import VIEW_PATH
from .url import push_xcoms

__all__ = ["SparkViewLink"]


class SparkViewLink(BaseOperatorLink):
    """Link to what the application of the task does, or did. Every task has it. Needs no configuration."""

    name = "Spark view"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:  # noqa: ARG002 - as Airflow calls it
        """Return the URL."""
        return _build_url(ti_key)


VIEW_LINK: Final = SparkViewLink()


def push_view_link(task_instance: RuntimeTaskInstanceProtocol) -> None:
    """Store the link while the task runs. Airflow itself stores it only when the task has left the worker."""
    push_xcoms({VIEW_LINK.xcom_key: _build_url(task_instance)}, task_instance)


def _build_url(task: TaskInstanceKey | RuntimeTaskInstanceProtocol) -> str:
    """Return the URL. If the base URL is not known here, the URL is relative to that of Airflow's user interface."""
    base = (conf.get("api", "base_url", fallback="") or "").rstrip("/")
    index = -1 if task.map_index is None else task.map_index
    ids = {"dag_id": task.dag_id, "run_id": task.run_id, "task_id": task.task_id, "map_index": str(index)}
    query = urlencode(ids, safe="", quote_via=quote)
    return f"{base}/{VIEW_PATH}/?{query}".removeprefix("/")
