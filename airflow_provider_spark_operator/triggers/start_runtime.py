"""The runtime of `SparkApplicationStartTrigger`: submit, wait, delete after a kill.

DAG files do not import this module: it loads the Kubernetes client.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from airflow.sdk.exceptions import AirflowRuntimeError
from airflow.sdk.types import RuntimeTaskInstanceProtocol
from asgiref.sync import sync_to_async

from ..airflow_compat import AirflowException, AirflowFailException, mask_secrets
from ..core.log.secrets import find_secret_places
from ..core.parameters.arguments import IfExists
from ..exceptions import SparkApplicationError
from ..follow.access.reference import ApplicationReference, resource_of
from ..follow.submission.cancel import CancelOutcome, cancel_try
from ..follow.submission.stamp import TaskStamp
from ..follow.submission.submit import Submission, submit
from ..follow.watching.shared_watch import share_hub
from ..hooks.connection import async_read_access
from ..hooks.errors import fail_if_invalid, translate_errors
from ..hooks.task_stamp import stamp_of
from ..kube.connection import ClusterAccess
from .event import ApplicationEvent, EventKind
from .kill import delete_if_killed
from .lifecycle import find_runner
from .run_record import require_prices
from .shared_access import share_access
from .spark_application import SparkApplicationTrigger
from .spark_application_runtime import ApplicationWatch
from .task_instance import is_deferred

if TYPE_CHECKING:
    from .start import SparkApplicationStartTrigger

logger = logging.getLogger(__name__)


class SubmissionAbandoned(Exception):
    """The application is not submitted, because the task was stopped."""


class SubmissionWatch:
    """The submission of an application and the wait for its end.

    Args:
        trigger: The trigger, whose templates are rendered.
        task_instance: The task instance.
    """

    def __init__(self, trigger: "SparkApplicationStartTrigger", task_instance: RuntimeTaskInstanceProtocol) -> None:
        given = {key: value for key, value in {"name": trigger.name, "namespace": trigger.namespace}.items() if value}
        metadata = {**(trigger.application.get("metadata") or {}), **given}
        self._trigger = trigger
        self._document = {**trigger.application, "metadata": metadata}
        self._namespace = str(metadata["namespace"]) if metadata.get("namespace") else None
        self._task_instance = task_instance
        self._submitting: asyncio.Task[Submission] | None = None
        self._is_sending = False

    async def run(self) -> ApplicationEvent:
        """Submit and wait. Whatever happens to the application or to the API becomes an event."""
        try:
            with fail_if_invalid("application"), translate_errors("submit the application"):
                require_prices(self._trigger.budget.get("max_cost") if self._trigger.budget else None)
                access = await share_access(self._trigger.kubernetes_conn_id)
                # A creation that was sent takes effect even if this trigger is cancelled: a kill has to wait for it.
                # Before it is sent, a cancelled trigger abandons the submission.
                self._submitting = asyncio.create_task(self._submit(access))
                self._submitting.add_done_callback(lambda task: task.cancelled() or task.exception())
                submission = await asyncio.shield(self._submitting)
        except asyncio.CancelledError:
            if self._submitting is not None and not self._is_sending:
                self._submitting.cancel()
            raise
        except AirflowFailException as error:
            return self._build_event(EventKind.REFUSED, str(error))
        except SparkApplicationError as error:
            return self._build_event(EventKind.UNSUBMITTED, str(error))
        except (AirflowException, AirflowRuntimeError, SubmissionAbandoned) as error:
            return self._build_event(EventKind.UNSUBMITTED, f"could not submit the application: {error}")
        return await ApplicationWatch(self._create_trigger(submission)).wait(access, resumable=True)

    async def delete_if_killed(self) -> None:
        """Delete the application of this try if a user has stopped the task. Log a problem instead of raising."""
        await delete_if_killed(self._build_stamp(), self._cancel, "the resources of this task", logger)

    async def _submit(self, access: ClusterAccess) -> Submission:
        # After a restart of the triggerer the application may run already: an outage must not end the wait.
        async with share_hub(access, waiting_for="submission") as hub:
            if_exists = IfExists(self._trigger.if_exists)
            submission = await submit(
                hub.client,
                self._document,
                self._namespace,
                self._build_stamp(),
                if_exists=if_exists,
                guard=self._guard_creation,
            )
        logger.info("%s", submission.sentence)
        return submission

    @asynccontextmanager
    async def _guard_creation(self) -> AsyncIterator[None]:
        """Check right before the creation that the task still waits for it: a user may have stopped the run.

        A busy triggerer starts triggers minutes after the scheduler has created them.

        Raises:
            SubmissionAbandoned: The task was stopped.
            AirflowRuntimeError: Airflow did not report the state of the task.
        """
        # Outside of a triggerer, Airflow does not report the state.
        if find_runner() is not None and not await sync_to_async(is_deferred)(self._build_stamp()):
            logger.warning("the application is not submitted: the task was stopped before its trigger could submit it")
            raise SubmissionAbandoned("the task does not wait for it any more")
        self._is_sending = True
        try:
            yield
        finally:
            self._is_sending = False

    async def _cancel(self) -> Mapping[ApplicationReference, CancelOutcome]:
        if self._submitting is not None:
            await asyncio.wait([self._submitting])
        resource = resource_of(str(self._document.get("apiVersion") or ""))
        async with share_hub(await async_read_access(self._trigger.kubernetes_conn_id)) as hub:
            return await cancel_try(hub.client, self._build_stamp(), self._namespace, resource)

    def _create_trigger(self, submission: Submission) -> SparkApplicationTrigger:
        """Return the trigger that waits for the application."""
        trigger, reference = self._trigger, submission.reference
        return SparkApplicationTrigger(
            namespace=reference.namespace,
            name=reference.name,
            uid=reference.uid,
            api_version=reference.resource.api_version,
            stamp=asdict(self._build_stamp()),
            driver_log=trigger.driver_log,
            secret_places=find_secret_places(submission.resource, mask_secrets),
            record=trigger.record,
            budget=trigger.budget,
            metrics=trigger.metrics,
            capacity_wait=trigger.capacity_wait,
        )

    def _build_stamp(self) -> TaskStamp:
        # The triggerer makes the task instance as a worker does, but without the real max_tries.
        return replace(stamp_of(self._task_instance), max_tries=None)

    def _build_event(self, kind: EventKind, sentence: str) -> ApplicationEvent:
        where = (self._trigger.namespace or "", self._trigger.name or "", "")
        return ApplicationEvent(kind, *where, sentence=sentence)
