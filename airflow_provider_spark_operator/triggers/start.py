"""Submit an application in the triggerer and wait for it, for tasks that start without a worker."""

from collections.abc import AsyncIterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow.sdk import Context
from airflow.triggers.base import BaseTrigger, TriggerEvent

from ..core.parameters.parameter_types import with_placeholders
from .lifecycle import FORMAT_VERSION, Lifecycle

if TYPE_CHECKING:
    import jinja2

    from .start_runtime import SubmissionWatch

__all__ = ["SparkApplicationStartTrigger"]


class SparkApplicationStartTrigger(BaseTrigger):
    """Fires once: submits the application, and waits until it has ended or was deleted.

    If an earlier try, or an earlier run of this trigger, left an application running, the trigger adopts that
    application. Airflow stores the arguments in its database in plain text. The event is an `ApplicationEvent`.

    Args:
        application: The manifest of the application, as a dict. Templates in it, and in the next three arguments, are
            rendered.
        name: Name of the application. Overrides `metadata.name`. If neither is set, the name is derived from the DAG
            id, the task id and the run id.
        namespace: Namespace of the application. Overrides `metadata.namespace`. If neither is set, the namespace of the
            connection is used.
        kubernetes_conn_id: Id of the connection to the cluster. If None, the default cluster is used.
        delete_on_kill: Whether to delete the application if a user stops the task.
        driver_log: Whether to add the log of the driver to the task log. The name of a level, for example "WARNING",
            adds it without Spark's own lines below this level.
        if_exists: What to do if an application of another run of the task has the same name: "replace_ended" (the
            default) or "fail". See `SparkApplicationOperator`.
        record: Whether to store the record of the run as the XCom `spark_run` of the task. The default is False.
        budget: The budget, see `SparkApplicationTrigger`.
        metrics: Whether to read the Spark UI of the driver while the application runs. The default is False.
        capacity_wait: How long the task may wait for capacity, see `SparkApplicationTrigger`.
        version: Version of the format of these arguments. Leave it out.
        **later: Arguments that a later release added. They are ignored.
    """

    def __init__(
        self,
        application: Mapping[str, Any],
        name: str | None = None,
        namespace: str | None = None,
        kubernetes_conn_id: str | None = None,
        delete_on_kill: bool = True,
        driver_log: bool | str = True,
        if_exists: str = "replace_ended",
        record: bool = False,
        budget: Mapping[str, Any] | None = None,
        metrics: bool = False,
        capacity_wait: Mapping[str, Any] | None = None,
        version: int = FORMAT_VERSION,
        **later: Any,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.application = dict(application)
        self.name = name
        self.namespace = namespace
        self.kubernetes_conn_id = kubernetes_conn_id
        self.delete_on_kill = delete_on_kill
        self.driver_log = driver_log
        self.if_exists = if_exists
        self.record = record
        self.budget = dict(budget) if budget else None
        self.metrics = metrics
        self.capacity_wait = dict(capacity_wait) if capacity_wait else None
        self.version = version
        self._lifecycle = Lifecycle(self, later)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class and its arguments, as Airflow stores them."""
        return self._lifecycle.serialize()

    def render_template(
        self,
        content: Any,
        context: Context,
        jinja_env: "jinja2.Environment | None" = None,
        seen_oids: set[int] | None = None,
    ) -> Any:
        """Render `content` as the operator on a worker does."""
        context = with_placeholders(context, jinja_env.globals if jinja_env else ())
        return super().render_template(content, context, jinja_env, seen_oids)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Submit, wait, and fire the event."""
        yield await self._lifecycle.fire(self._watch.run(), follows_worker=False)

    async def on_kill(self) -> None:
        """Delete the application of this try if a user has stopped the task."""
        if self.delete_on_kill:
            await self._lifecycle.kill(self._watch.delete_if_killed, "the resources of this task")

    @cached_property
    def _watch(self) -> "SubmissionWatch":
        # The templates are rendered by now, and the triggerer has set the task instance.
        from .start_runtime import SubmissionWatch

        return SubmissionWatch(self, self.task_instance)  # type: ignore[arg-type]
