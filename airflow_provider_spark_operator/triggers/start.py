"""Submit an application in the triggerer, and wait for it: for tasks that never see a worker before their end."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_spark_operator.core.placeholders import with_placeholders
from airflow_provider_spark_operator.hooks.spark import async_access_from_connection
from airflow_provider_spark_operator.triggers import lasting
from airflow_provider_spark_operator.triggers.event import ApplicationEvent, EventKind
from airflow_provider_spark_operator.triggers.spark_application import FORMAT_VERSION, SparkApplicationTrigger
from airflow_provider_spark_operator.triggers.task_instance import LEFT_RUNNING, Fate, fate_of_deferred, stamp_of

if TYPE_CHECKING:
    import jinja2
    from airflow.sdk import Context

    from airflow_provider_spark_operator.follow.cancel import CancelOutcome
    from airflow_provider_spark_operator.follow.reference import ApplicationReference
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
            "if_exists": self.if_exists,
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
        context = with_placeholders(context, jinja_env.globals if jinja_env else ())
        return super().render_template(content, context, jinja_env, seen_oids)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Submit, wait, and fire the one event."""
        event = await self._event()
        self._fired = True
        yield TriggerEvent(event.to_payload())  # type: ignore[no-untyped-call]

    async def on_kill(self) -> None:
        """Delete what this try has submitted if a person has killed the task."""
        if not self._fired and self.delete_on_kill:
            await lasting.finish(self._delete_if_killed(), "deletion of what this task has submitted", logger)

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
        from airflow_provider_spark_operator.follow.submit import IfExists, submit
        from airflow_provider_spark_operator.follow.watch import shared_hub

        # After a restart of the triggerer the application may run already: it must not be given up at once.
        async with shared_hub(access, waiting_for="submission") as hub:
            submission = await submit(
                hub.client, self._document(), self._namespace(), self._stamp(), if_exists=IfExists(self.if_exists)
            )
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

        from airflow_provider_spark_operator.follow.patience import retry

        try:
            stamp = self._stamp()
            if await sync_to_async(fate_of_deferred)(stamp) is Fate.MOVED:
                logger.info(LEFT_RUNNING, "what this task has submitted")
                return
            if self._submitting is not None:
                await asyncio.wait([self._submitting])
            outcomes = await retry(partial(self._cancel, stamp), "deletion of what this task has submitted", logger.log)
        except Exception as error:
            # Nobody waits for this task any more: what is not logged here is lost.
            logger.warning(
                "what this task has submitted could not be deleted and may still run: %s",
                str(error) or type(error).__name__,
            )
        else:
            for reference, outcome in outcomes.items():
                logger.info("the task was killed; %s: %s", reference, outcome)

    async def _cancel(self, stamp: "TaskStamp") -> "Mapping[ApplicationReference, CancelOutcome]":
        from airflow_provider_spark_operator.follow.cancel_try import cancel_try
        from airflow_provider_spark_operator.follow.reference import resource_of
        from airflow_provider_spark_operator.follow.watch import shared_hub

        resource = resource_of(str(self.application.get("apiVersion") or ""))
        async with shared_hub(await async_access_from_connection(self.kubernetes_conn_id)) as hub:
            return await cancel_try(hub.client, stamp, self._namespace(), resource)

    def _document(self) -> dict[str, Any]:
        given = {"name": self.name, "namespace": self.namespace}
        metadata = {**(self.application.get("metadata") or {}), **{key: value for key, value in given.items() if value}}
        return self.application | {"metadata": metadata}

    def _namespace(self) -> str | None:
        namespace = self._document()["metadata"].get("namespace")
        return str(namespace) if namespace else None

    def _stamp(self) -> "TaskStamp":
        # Where the task itself has not run, the triggerer makes it a task instance as a worker would. It lacks the
        # real max_tries.
        return replace(stamp_of(self.task_instance), max_tries=None)  # type: ignore[arg-type]

    def _failed(self, kind: EventKind, sentence: str) -> ApplicationEvent:
        return ApplicationEvent(kind, self.namespace or "", self.name or "", "", sentence=sentence)
