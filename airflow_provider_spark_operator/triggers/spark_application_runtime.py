"""The runtime of the triggers for a SparkApplication: wait, report the result, delete after a kill.

DAG files do not import this module: it loads the Kubernetes client.
"""

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async

from ..airflow_compat import AirflowException
from ..core.dialects.dialect import read_progress
from ..core.kubernetes.json_object import JsonObject
from ..core.report.budget import Budget
from ..core.report.stream_health import read_goal
from ..core.states.capacity_wait import CapacityWait
from ..follow.access.outage_tolerance import retry
from ..follow.access.reference import ApplicationDeleted, ApplicationReference, resource_of
from ..follow.access.versions import choose_served_version
from ..follow.logs.logs import LogPosition
from ..follow.narration.narrator import Narration
from ..follow.narration.obstacles import WaitState
from ..follow.recording.budget import BudgetCheck
from ..follow.recording.recorder import RunRecorder, discard
from ..follow.recording.spark_sampler import SparkSampler
from ..follow.recording.stream_check import StreamCheck
from ..follow.submission.cancel import CancelOutcome, cancel, cancel_run, describe_outcome
from ..follow.submission.stamp import TaskStamp, owner_of
from ..follow.watching.shared_watch import share_hub
from ..follow.watching.wait import (
    Conclusion,
    cancel_or_read_end,
    compute_seconds_until,
    read_end,
    wait_for_appearance,
    wait_for_end,
    wait_for_state,
)
from ..follow.watching.watch import WatchHub
from ..hooks.connection import async_read_access
from ..hooks.task_log import TaskLog, read_driver_log_options
from ..kube.connection import ClusterAccess
from ..kube.errors import ConfigurationError, KubeError, describe_error
from ..links.link_target import build_link_target
from ..links.spark_application import LINKS
from ..links.target import LinkTarget
from .capacity import wait_for_capacity
from .event import ApplicationEvent, EventKind
from .kill import delete_and_log, delete_if_killed
from .lifecycle import LAST_READ_SECONDS
from .resource_secrets import ResourceSecrets
from .run_record import build_store, read_prices
from .task_instance import Fate, read_fate
from .xcoms import ShowLinks, build_link_storage, remember_outages

if TYPE_CHECKING:
    from .spark_application import SparkApplicationStateTrigger, SparkApplicationTrigger

logger = logging.getLogger(__name__)


class ApplicationWatch:
    """The wait of a task for the end of one application.

    Args:
        trigger: The trigger, which stores the arguments of the wait.

    Attributes:
        reference: The application, in the version that was stored.
    """

    def __init__(self, trigger: "SparkApplicationTrigger") -> None:
        self._trigger = trigger
        resource = resource_of(trigger.api_version)
        self.reference = ApplicationReference(trigger.namespace, trigger.name, trigger.uid, resource)
        self._stamp = TaskStamp.from_arguments(trigger.stamp) if trigger.stamp else None
        self._situation = WaitState()
        self._secrets = ResourceSecrets(trigger.secret_places)
        self._budget = Budget.from_arguments(trigger.budget) if trigger.budget else None

    @cached_property
    def recorder(self) -> RunRecorder | None:
        """Keeps the record of the run. None if it is neither recorded nor needed for a budget."""
        store = build_store(self._stamp) if self._trigger.record and self._stamp else discard
        if store is discard and self._budget is None:
            return None
        hide, prices = self._secrets.hide if self._secrets.exist else None, read_prices(logger)
        if self._budget is not None and self._budget.max_cost is not None and prices is None:
            logger.warning("max_cost is not checked: the configuration of this process contains no valid prices")
        return RunRecorder(self.reference, store, hide, lambda: self._situation.cause, prices)

    @cached_property
    def _budget_check(self) -> BudgetCheck | None:
        if self._budget is None or self.recorder is None:
            return None
        return BudgetCheck(self._budget, self.recorder, partial(logger.warning, "%s %s", self.reference))

    @cached_property
    def _stream_check(self) -> StreamCheck | None:
        if self._trigger.streaming is None:
            return None
        goal = read_goal(self._trigger.streaming)
        return StreamCheck(self.reference, goal, partial(logger.warning, "%s %s", self.reference))

    async def run(self) -> ApplicationEvent:
        """Read the connection and wait."""
        try:
            access = await self._read_access()
        except AirflowException as error:
            return self._build_event(EventKind.LOST, f"could not follow {self.reference}: {error}")
        return await self.wait(access, resumable=True)

    async def wait(self, access: ClusterAccess, *, resumable: bool) -> ApplicationEvent:
        """Wait for the end. Whatever happens to the application or to the API becomes an event.

        If the cluster has no room for the application, also wait until the task must submit it again.

        Args:
            access: The access to the cluster.
            resumable: Whether another triggerer may continue the wait, and with it the driver log where this one
                stopped.
        """
        event = await self._follow(access, resumable=resumable)
        if self._trigger.capacity_wait is None:
            return event
        return await wait_for_capacity(
            event, CapacityWait.from_arguments(self._trigger.capacity_wait), self._trigger.deadline
        )

    async def _follow(self, access: ClusterAccess, *, resumable: bool) -> ApplicationEvent:
        remember_outages(self._stamp)
        reader = self._stamp.task_instance_id if resumable and self._stamp else None
        driver_log = read_driver_log_options(reader, LogPosition()) if self._trigger.driver_log else None
        lowest = self._trigger.driver_log if isinstance(self._trigger.driver_log, str) else "DEBUG"
        sink = TaskLog(self.reference, self._secrets.protect(logger), lowest)
        note = self.recorder.note_spark if self.recorder else None
        sampler = SparkSampler(self.reference, note) if self._trigger.metrics else None
        narration = Narration(sink, driver_log, self._situation, recorder=self.recorder, sampler=sampler)
        try:
            return await self._add_record(self._secrets.redact(await self._wait(access, narration)))
        finally:
            if self.recorder is not None:
                await self.recorder.stop()

    async def _wait(self, access: ClusterAccess, narration: Narration) -> ApplicationEvent:
        try:
            async with (
                asyncio.timeout(compute_seconds_until(self._trigger.deadline)) as limit,
                share_hub(access, waiting_for=str(self.reference)) as hub,
                self._budget_check.limit(limit) if self._budget_check else nullcontext(),
                self._stream_check.limit(hub.client, limit) if self._stream_check else nullcontext(),
            ):
                reference = await self._choose_reference(hub)
                await self._secrets.learn(hub, reference)
                if self._trigger.expects:
                    return build_event(await wait_for_state(hub, reference, self._trigger.expects, narration))
                return build_event(await wait_for_end(hub, reference, narration))
        except ApplicationDeleted as error:
            successor = await self._find_successor(access)
            if successor is None:
                return self._build_event(EventKind.DELETED, str(error))
            sentence = f"{self.reference} was replaced by {successor} before this task had recorded its end"
            return self._build_event(EventKind.REPLACED, sentence)
        except TimeoutError:
            if not limit.expired():
                raise
            return await self._read_at_deadline(access, narration)
        except (KubeError, ConfigurationError) as error:
            return self._build_event(EventKind.LOST, f"could not follow {self.reference} any longer: {error}")

    async def delete_if_killed(self) -> None:
        """Delete the application if a user has stopped the task, and if this try still owns the application."""
        if self._stamp is not None:
            await delete_if_killed(self._stamp, self._cancel, str(self.reference), logger)

    async def delete(self) -> None:
        """Delete the application if this try still owns it. Never raises."""
        await delete_and_log(self._cancel, str(self.reference), logger)

    @property
    def timeout_sentence(self) -> str:
        """The sentence for a task that timed out: the application, its state, and what it waits for."""
        goal = f"reached {' or '.join(self._trigger.expects)}" if self._trigger.expects else "ended"
        return self._secrets.hide(f"{self.reference} had not {goal}{self._situation}")

    def _read_access(self) -> Awaitable[ClusterAccess]:
        return async_read_access(self._trigger.kubernetes_conn_id, required=self._trigger.connection_required)

    async def _read_at_deadline(self, access: ClusterAccess, narration: Narration) -> ApplicationEvent:
        """Read the application once more: it may have ended in that moment, or while no triggerer was running."""
        health = self._stream_check.health if self._stream_check else None
        if health is not None and health.reached is not None:
            return self._build_event(EventKind.REACHED, f"{self.reference} makes progress: {health.reached}")
        try:
            async with asyncio.timeout(LAST_READ_SECONDS), share_hub(access, waiting_for=str(self.reference)) as hub:
                reference = await self._choose_reference(hub)
                await self._secrets.learn(hub, reference)
                if (ended := await read_end(hub, reference, narration)) is not None:
                    return build_event(ended)
        except (KubeError, ConfigurationError, TimeoutError) as error:
            logger.warning("could not read %s again: %s", self.reference, describe_error(error, LAST_READ_SECONDS))
        if self._budget_check is not None and self._budget_check.exceeded is not None:
            check = self._budget_check
            sentence = f"{self.reference} exceeded its budget: it has used {check.exceeded}"
            return await self._end_at_limit(access, narration, sentence, EventKind.OVER_BUDGET, check.budget.advice)
        if health is not None and health.stalled is not None:
            sentence, advice = f"{self.reference} {health.stalled}", "A retry continues after the last committed batch"
            return await self._end_at_limit(access, narration, sentence, EventKind.STALLED, advice)
        return self._build_event(EventKind.TIMED_OUT, self.timeout_sentence)

    async def _end_at_limit(
        self, access: ClusterAccess, narration: Narration, sentence: str, kind: EventKind, advice: str
    ) -> ApplicationEvent:
        """Delete the application, unless it has ended meanwhile, and return an event of the given kind."""

        async def attempt() -> Conclusion | CancelOutcome:
            async with share_hub(access, waiting_for=str(self.reference)) as hub:
                return await cancel_or_read_end(hub, await self._choose_reference(hub), self._stamp, narration)

        try:
            end = await retry(attempt, f"deletion of {self.reference}", logger.log)
        except (KubeError, ConfigurationError) as error:  # a retry of the task adopts the application
            return self._build_event(EventKind.LOST, f"{sentence}; could not delete it: {error}")
        if isinstance(end, Conclusion):
            return build_event(end)
        sentence = f"{sentence}; {describe_outcome(end, 'it')}"
        if end is CancelOutcome.NOT_OURS:
            return self._build_event(EventKind.LOST, sentence)
        return self._build_event(kind, f"{sentence}. {advice}")

    async def _add_record(self, event: ApplicationEvent) -> ApplicationEvent:
        if self.recorder is None:
            return event
        record = await self.recorder.close()
        if self._budget_check is not None:
            self._budget_check.conclude(record)
        return replace(event, record=record) if self._trigger.record else event

    async def _find_successor(self, access: ClusterAccess) -> str | None:
        """Return the other run of the task that replaced the application; None if there is none or it is unknown."""
        if self._stamp is None:
            return None
        try:
            async with asyncio.timeout(LAST_READ_SECONDS), share_hub(access) as hub:
                reference = await self._choose_reference(hub)
                present = await hub.client.get(reference.resource, reference.name, reference.namespace)
        except (KubeError, ConfigurationError, TimeoutError):
            return None
        return owner_of(present) if self._stamp.is_another_run_of(present) else None

    async def _cancel(self) -> Mapping[ApplicationReference, CancelOutcome]:
        async with share_hub(await self._read_access()) as hub:
            resource = await choose_served_version(hub.client, self.reference.resource)
            return {self.reference: await cancel(hub.client, replace(self.reference, resource=resource), self._stamp)}

    async def _choose_reference(self, hub: WatchHub) -> ApplicationReference:
        """Return the reference in a version that the cluster serves: its definition may have been replaced."""
        return replace(self.reference, resource=await hub.choose_version(self.reference.resource, str(self.reference)))

    def _build_event(self, kind: EventKind, sentence: str) -> ApplicationEvent:
        where = (self.reference.namespace, self.reference.name, self.reference.uid)
        api_version = self.reference.resource.api_version
        return ApplicationEvent(kind, *where, sentence=sentence, api_version=api_version)


class StateWatch:
    """The wait of a task for a state of an application that another task or program submits.

    Args:
        trigger: The trigger, which stores the arguments of the wait.
    """

    def __init__(self, trigger: "SparkApplicationStateTrigger") -> None:
        self._trigger = trigger
        self._resource = resource_of(trigger.api_version)
        self._stamp = TaskStamp.from_arguments(trigger.stamp) if trigger.stamp else None
        self._subject = f"SparkApplication {trigger.name}"

    async def run(self) -> ApplicationEvent:
        """Read the connection and wait."""
        try:
            show_links = build_link_storage(LINKS, self._stamp)
            return await self.wait(await async_read_access(self._trigger.kubernetes_conn_id), show_links)
        except AirflowException as error:
            return self._build_event(EventKind.LOST, f"could not follow {self._subject}: {error}")

    async def wait(self, access: ClusterAccess, show_links: ShowLinks) -> ApplicationEvent:
        """Wait for the state. Whatever happens to the application or to the API becomes an event.

        Args:
            access: The access to the cluster.
            show_links: Called once, when the application exists.
        """
        remember_outages(self._stamp)
        try:
            async with share_hub(access, waiting_for=self._subject) as hub:
                namespace = self._trigger.namespace or hub.client.default_namespace
                reference, document = await wait_for_appearance(
                    hub, self._resource, self._trigger.name, namespace, self._trigger.poke_interval, logger
                )
                await sync_to_async(show_links)(self._build_link_target(reference, document))
                found = await wait_for_state(
                    hub, reference, self._trigger.expects, Narration(TaskLog(reference, logger))
                )
                return build_event(found)
        except ApplicationDeleted as error:
            return self._build_event(EventKind.DELETED, str(error))
        except (KubeError, ConfigurationError) as error:
            return self._build_event(EventKind.LOST, f"could not follow {self._subject}: {error}")

    async def delete_if_killed(self) -> None:
        """Delete the application if a user has stopped the task and if its DAG run submitted the application.

        Never raises.
        """
        try:
            if self._stamp is not None and await sync_to_async(read_fate)(self._stamp) is Fate.KILLED:
                await self.delete(await async_read_access(self._trigger.kubernetes_conn_id))
        except Exception as error:
            # No task receives an event any more: only the log can report the error.
            cause = str(error) or type(error).__name__
            logger.warning("could not delete %s, which may still be running: %s", self._subject, cause)

    async def delete(self, access: ClusterAccess) -> None:
        """Delete the application if the DAG run of the task submitted it. Tolerates an outage of the API.

        Args:
            access: The access to the cluster.

        Raises:
            KubeError: The API rejected the deletion, or could not be reached.
            ConfigurationError: The configuration of the client is not valid.
        """
        if self._stamp is None:
            return
        trigger, stamp = self._trigger, self._stamp

        async def attempt() -> CancelOutcome:
            async with share_hub(access) as hub:
                return await cancel_run(hub.client, self._resource, trigger.name, trigger.namespace, stamp)

        outcome = await retry(attempt, f"deletion of {self._subject}", logger.log)
        logger.info("the task was stopped; %s", describe_outcome(outcome, self._subject, "this DAG run"))

    def _build_link_target(self, reference: ApplicationReference, document: JsonObject) -> LinkTarget:
        return build_link_target(
            document,
            reference,
            conn_id=self._trigger.kubernetes_conn_id,
            spark_id=read_progress(document).application_id,
            created=document["metadata"].get("creationTimestamp"),
        )

    def _build_event(self, kind: EventKind, sentence: str) -> ApplicationEvent:
        return ApplicationEvent(kind, self._trigger.namespace or "", self._trigger.name, "", sentence=sentence)


def build_event(conclusion: Conclusion) -> ApplicationEvent:
    """Return the event for an application that has ended or reached a state."""
    reference, verdict, resource = conclusion.reference, conclusion.verdict, conclusion.resource
    target = build_link_target(resource, reference, spark_id=verdict.application_id)
    reached: dict[str, Any] = {
        "application_id": verdict.application_id,
        "attempts": verdict.attempts,
        "seconds_per_state": verdict.seconds_per_state,
        "state": conclusion.reached,
        "sentence": f"{reference} has reached {conclusion.reached}",
    }
    has_ended = conclusion.reached is None
    return ApplicationEvent(
        kind=EventKind.ENDED if has_ended else EventKind.REACHED,
        namespace=reference.namespace,
        name=reference.name,
        uid=reference.uid,
        api_version=reference.resource.api_version,
        created=resource["metadata"].get("creationTimestamp"),
        driver_pod=target.driver_pod,
        own_ui=target.own_ui,
        **(conclusion.to_values() if has_ended else reached),
    )
