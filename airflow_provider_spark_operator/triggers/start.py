"""Submit an application in the triggerer, and wait for it: for tasks that never see a worker before their end."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_spark_operator.hooks.spark import async_access_from_connection
from airflow_provider_spark_operator.triggers import lasting
from airflow_provider_spark_operator.triggers.event import ApplicationEvent, EventKind
from airflow_provider_spark_operator.triggers.spark_application import FORMAT_VERSION, SparkApplicationTrigger
from airflow_provider_spark_operator.triggers.task_instance import Fate, fate, stamp_of

if TYPE_CHECKING:
    import jinja2
    from airflow.sdk import Context

    from airflow_provider_spark_operator.follow.stamp import TaskStamp
    from airflow_provider_spark_operator.follow.submit import Submission
    from airflow_provider_spark_operator.kube.connection import ClusterAccess

logger = logging.getLogger(__name__)

_PATH = "airflow_provider_spark_operator.triggers.start.SparkApplicationStartTrigger"


class SparkApplicationStartTrigger(BaseTrigger):
    """Create the application, or take over what an earlier run of this trigger or an earlier try has left; then wait.

    Args:
        application: The document; templates in it are rendered before `run`, as in the three that follow.
        name: Over the document's.
        namespace: Over the document's.
        kubernetes_conn_id: The connection to read where it runs.
        delete_on_kill: Delete the application when a person kills the task.
        driver_log: Tell the driver's log to the task's log.
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
        self.version = version
        self._later = later
        self._submitting: asyncio.Task[Submission] | None = None
        self._fired = False

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and its arguments, as Airflow stores them."""
        arguments = {
            "application": self.application,
            "name": self.name,
            "namespace": self.namespace,
            "kubernetes_conn_id": self.kubernetes_conn_id,
            "delete_on_kill": self.delete_on_kill,
            "driver_log": self.driver_log,
            "version": self.version,
        }
        return _PATH, self._later | arguments

    def render_template(
        self,
        content: Any,
        context: "Context",
        jinja_env: "jinja2.Environment | None" = None,
        seen_oids: set[int] | None = None,
    ) -> Any:
        """Render `content` as the operator on a worker does."""
        from airflow_provider_spark_operator.placeholders import kept

        return super().render_template(content, kept(context, jinja_env), jinja_env, seen_oids)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Submit, wait, and fire the one event."""
        event = await self._event()
        self._fired = True
        yield TriggerEvent(event.to_payload())  # type: ignore[no-untyped-call]

    async def on_kill(self) -> None:
        """Delete what this try has submitted if a person has killed the task."""
        if not self._fired and self.delete_on_kill:
            await lasting.finish(self._delete_if_killed())

    async def _event(self) -> ApplicationEvent:
        from airflow.sdk.exceptions import AirflowException, AirflowFailException

        from airflow_provider_spark_operator.core.problems import InvalidResource
        from airflow_provider_spark_operator.follow.errors import DeletionStuck, NameTaken
        from airflow_provider_spark_operator.kube.errors import ConfigurationError, KubeError

        try:
            access = await async_access_from_connection(self.kubernetes_conn_id)
            # A request that is under way takes effect even if this trigger is cancelled: `on_kill` has to wait for it.
            self._submitting = asyncio.create_task(self._submit(access))
            self._submitting.add_done_callback(lambda task: task.cancelled() or task.exception())
            submission = await asyncio.shield(self._submitting)
        except InvalidResource as error:
            return self._failed(EventKind.REFUSED, f"the application is not valid: {error}")
        except AirflowFailException as error:
            return self._failed(EventKind.REFUSED, str(error))
        except (AirflowException, ConfigurationError, DeletionStuck, KubeError, NameTaken) as error:
            return self._failed(EventKind.UNSUBMITTED, f"the application was not submitted: {error}")
        return await self._following(submission).wait(access, resumable=True)

    async def _submit(self, access: "ClusterAccess") -> "Submission":
        from airflow_provider_spark_operator.follow.submit import submit
        from airflow_provider_spark_operator.follow.watch import shared_hub

        async with shared_hub(access) as hub:
            submission = await submit(hub.client, self._document(), self._namespace(), self._stamp())
        done = "taken over" if submission.adopted else "submitted"
        logger.info("%s is %s (uid %s)", submission.reference, done, submission.reference.uid)
        return submission

    def _following(self, submission: "Submission") -> SparkApplicationTrigger:
        return SparkApplicationTrigger(
            namespace=submission.reference.namespace,
            name=submission.reference.name,
            uid=submission.reference.uid,
            api_version=submission.reference.resource.api_version,
            stamp=asdict(self._stamp()),
            driver_log=self.driver_log,
        )

    async def _delete_if_killed(self) -> None:
        from asgiref.sync import sync_to_async

        from airflow_provider_spark_operator.follow.cancel_try import cancel_try
        from airflow_provider_spark_operator.follow.reference import resource_of
        from airflow_provider_spark_operator.follow.watch import shared_hub

        try:
            stamp = self._stamp()
            if await sync_to_async(fate)(stamp) is Fate.MOVED:
                logger.info("what this task has submitted is left running: the task goes on elsewhere")
                return
            if self._submitting is not None:
                await asyncio.wait([self._submitting])
            access = await async_access_from_connection(self.kubernetes_conn_id)
            resource = resource_of(str(self.application.get("apiVersion") or ""))
            async with shared_hub(access) as hub:
                outcomes = await cancel_try(hub.client, stamp, self._namespace(), resource)
        except Exception as error:
            # Nobody waits for this task any more: what is not logged here is lost.
            logger.warning("what this task has submitted may still run: %s", error)
        else:
            for reference, outcome in outcomes.items():
                logger.info("the task was killed; %s: %s", reference, outcome)

    def _document(self) -> dict[str, Any]:
        given = {"name": self.name, "namespace": self.namespace}
        metadata = {**(self.application.get("metadata") or {}), **{key: value for key, value in given.items() if value}}
        return self.application | {"metadata": metadata}

    def _namespace(self) -> str | None:
        namespace = self._document()["metadata"].get("namespace")
        return str(namespace) if namespace else None

    def _stamp(self) -> "TaskStamp":
        # Where the task itself has not run, the triggerer makes it a task instance as a worker would.
        return stamp_of(self.task_instance)  # type: ignore[arg-type]

    def _failed(self, kind: EventKind, sentence: str) -> ApplicationEvent:
        return ApplicationEvent(kind, self.namespace or "", self.name or "", "", sentence=sentence)
