"""Submit an application in the triggerer, and wait for it: for tasks that never see a worker before their end."""

from collections.abc import AsyncIterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow.sdk import Context
from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_spark_operator.core.placeholders import with_placeholders
from airflow_provider_spark_operator.triggers.lifecycle import FORMAT_VERSION, Lifecycle

if TYPE_CHECKING:
    import jinja2

    from airflow_provider_spark_operator.triggers.start_runtime import SubmissionWatch


class SparkApplicationStartTrigger(BaseTrigger):
    """Create the application, or take over what an earlier run of this trigger or an earlier try has left; then wait.

    Args:
        application: The document; templates in it are rendered before `run`, as in the three that follow.
        name: Over the document's.
        namespace: Over the document's.
        kubernetes_conn_id: The connection to read where it runs.
        delete_on_kill: Delete the application when a person kills the task.
        driver_log: Tell the driver's log to the task's log.
        if_exists: What to do with an application of the same name: a word of `follow.replace.IfExists`.
        version: Of these arguments.
        **later: Arguments that a later release added; an older one that finds them does without.
    """

    def __init__(
        self,
        application: Mapping[str, Any],
        name: str | None = None,
        namespace: str | None = None,
        kubernetes_conn_id: str | None = None,
        delete_on_kill: bool = True,
        driver_log: bool = True,
        if_exists: str = "replace_ended",
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
        """Submit, wait, and fire the one event."""
        yield await self._lifecycle.fire(self._watch.run())

    async def on_kill(self) -> None:
        """Delete what this try has submitted if a person has killed the task."""
        if self.delete_on_kill:
            await self._lifecycle.kill(self._watch.delete_if_killed, "what this task has submitted")

    @cached_property
    def _watch(self) -> "SubmissionWatch":
        # The templates are rendered by now, and the triggerer has set the task instance.
        from airflow_provider_spark_operator.triggers.start_runtime import SubmissionWatch

        return SubmissionWatch(
            application=self.application,
            name=self.name,
            namespace=self.namespace,
            kubernetes_conn_id=self.kubernetes_conn_id,
            driver_log=self.driver_log,
            if_exists=self.if_exists,
            task_instance=self.task_instance,  # type: ignore[arg-type]
        )
