"""The runtime of the triggers for a SparkApplication: wait, report the result, delete after a kill.

DAG files do not import this module: it loads the Kubernetes client.
"""

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from asgiref.sync import sync_to_async

from ..airflow_compat import AirflowException
from ..core.dialects.dialect import read_progress
from ..core.kubernetes.json_object import JsonObject
from ..core.log.secret_values import SecretPlace
from ..core.report.budget import Budget
from ..core.report.stream_health import StreamGoal, read_goal
from ..core.states.capacity_wait import CapacityWait
from ..follow.access.errors import ApplicationDeleted
from ..follow.access.outage_tolerance import retry
from ..follow.access.reference import ApplicationReference, resource_of
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
from ..kube.resources import ResourceType
from ..links.link_target import build_link_target
from ..links.spark_application import LINKS
from ..links.target import LinkTarget
from .capacity import wait_for_capacity
from .event import ApplicationEvent, EventKind
from .kill import delete_and_log, delete_if_killed
from .lifecycle import LAST_READ_SECONDS
from .links import ShowLinks, build_link_storage
from .outage_memory import remember_outages
from .outcome import build_event
from .resource_secrets import ResourceSecrets
from .run_record import build_store, read_prices
from .task_instance import Fate, read_fate

logger = logging.getLogger(__name__)


def build_application_watch(
    *,
    namespace: str,
    name: str,
    uid: str,
    api_version: str,
    stamp: Mapping[str, Any] | None,
    kubernetes_conn_id: str | None,
    connection_required: bool,
    deadline: str | None,
    driver_log: bool | str,
    secret_places: Sequence[SecretPlace],
    record: bool,
    budget: Mapping[str, Any] | None,
    metrics: bool,
    capacity_wait: Mapping[str, Any] | None,
    expects: Sequence[str],
    streaming: Mapping[str, Any] | None,
) -> "ApplicationWatch":
    """Return the wait that the stored arguments of a `SparkApplicationTrigger` describe."""
    return ApplicationWatch(
        reference=ApplicationReference(namespace, name, uid, resource_of(api_version)),
        kubernetes_conn_id=kubernetes_conn_id,
        connection_required=connection_required,
        stamp=TaskStamp.from_arguments(stamp) if stamp else None,
        deadline=deadline,
        driver_log=driver_log,
        secrets=ResourceSecrets(secret_places),
        is_recorded=record,
        budget=Budget.from_arguments(budget) if budget else None,
        is_measured=metrics,
        capacity_wait=CapacityWait.from_arguments(capacity_wait) if capacity_wait else None,
        expects=expects,
        stream_goal=read_goal(streaming) if streaming else None,
    )


def build_state_watch(
    *,
    name: str,
    expects: Sequence[str],
    namespace: str | None,
    kubernetes_conn_id: str | None,
    api_version: str,
    poke_interval: float,
    stamp: Mapping[str, Any] | None,
) -> "StateWatch":
    """Return the wait that the stored arguments of a `SparkApplicationStateTrigger` describe."""
    return StateWatch(
        name=name,
        expects=expects,
        namespace=namespace,
        kubernetes_conn_id=kubernetes_conn_id,
        resource=resource_of(api_version),
        poke_interval=poke_interval,
        stamp=TaskStamp.from_arguments(stamp) if stamp else None,
    )


@dataclass(frozen=True)
class ApplicationWatch:
    """The wait of a task for the end of one application.

    Attributes:
        reference: The application, in the version that was stored.
        kubernetes_conn_id: The connection. If None, the default cluster is used.
        connection_required: Whether the connection existed at the submission.
        stamp: The owner of the application; None if it is unknown.
        deadline: ISO 8601 time after which to stop waiting. If None, there is no limit.
        driver_log: Whether the log of the driver is added to the log of the task, or the lowest level of Spark's lines.
        situation: The state of the application and what it waits for, as far as they are known.
        secrets: The secrets of the application, which are masked in the log of the task and in the event.
        is_recorded: Whether the record of the run is stored as an XCom of the task.
        budget: What the application may use. None if its use is not limited.
        is_measured: Whether the Spark UI of the driver is read while the application runs.
        capacity_wait: How long the task may wait for capacity. None if it does not wait.
        expects: The states that also end the wait.
        stream_goal: What the task expects of streaming queries. None if the application is expected to end.
    """

    reference: ApplicationReference
    kubernetes_conn_id: str | None = None
    connection_required: bool = False
    stamp: TaskStamp | None = None
    deadline: str | None = None
    driver_log: bool | str = True
    situation: WaitState = field(default_factory=WaitState)
    secrets: ResourceSecrets = field(default_factory=ResourceSecrets)
    is_recorded: bool = False
    budget: Budget | None = None
    is_measured: bool = False
    capacity_wait: CapacityWait | None = None
    expects: Sequence[str] = ()
    stream_goal: StreamGoal | None = None

    @cached_property
    def recorder(self) -> RunRecorder | None:
        """Keeps the record of the run. None if it is neither recorded nor needed for a budget."""
        store = build_store(self.stamp) if self.is_recorded and self.stamp else discard
        if store is discard and self.budget is None:
            return None
        hide, prices = self.secrets.hide if self.secrets.exist else None, read_prices(logger)
        if self.budget is not None and self.budget.max_cost is not None and prices is None:
            logger.warning("max_cost is not checked: the configuration of this process contains no valid prices")
        return RunRecorder(self.reference, store, hide, lambda: self.situation.cause, prices)

    @cached_property
    def _budget_check(self) -> BudgetCheck | None:
        if self.budget is None or self.recorder is None:
            return None
        return BudgetCheck(self.budget, self.recorder, partial(logger.warning, "%s has used %s", self.reference))

    @cached_property
    def _stream_check(self) -> StreamCheck | None:
        if self.stream_goal is None:
            return None
        return StreamCheck(self.reference, self.stream_goal, partial(logger.warning, "%s %s", self.reference))

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
        return await wait_for_capacity(event, self.capacity_wait, self.deadline) if self.capacity_wait else event

    async def _follow(self, access: ClusterAccess, *, resumable: bool) -> ApplicationEvent:
        remember_outages(self.stamp)
        reader = self.stamp.task_instance_id if resumable and self.stamp else None
        driver_log = read_driver_log_options(reader, LogPosition()) if self.driver_log else None
        lowest = self.driver_log if isinstance(self.driver_log, str) else "DEBUG"
        sink = TaskLog(self.reference, self.secrets.protect(logger), lowest)
        note = self.recorder.note_spark if self.recorder else None
        sampler = SparkSampler(self.reference, note) if self.is_measured else None
        narration = Narration(sink, driver_log, self.situation, recorder=self.recorder, sampler=sampler)
        try:
            return await self._add_record(self.secrets.redact(await self._wait(access, narration)))
        finally:
            if self.recorder is not None:
                await self.recorder.stop()

    async def _wait(self, access: ClusterAccess, narration: Narration) -> ApplicationEvent:
        try:
            async with (
                asyncio.timeout(compute_seconds_until(self.deadline)) as limit,
                share_hub(access, waiting_for=str(self.reference)) as hub,
                self._budget_check.limit(limit) if self._budget_check else nullcontext(),
                self._stream_check.limit(hub.client, limit) if self._stream_check else nullcontext(),
            ):
                reference = await self._choose_reference(hub)
                await self.secrets.learn(hub, reference)
                if self.expects:
                    return build_event(await wait_for_state(hub, reference, self.expects, narration))
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
        if self.stamp is not None:
            await delete_if_killed(self.stamp, self._cancel, str(self.reference), logger)

    async def delete(self) -> None:
        """Delete the application if this try still owns it. Never raises."""
        await delete_and_log(self._cancel, str(self.reference), logger)

    @property
    def timeout_sentence(self) -> str:
        """The sentence for a task that timed out: the application, its state, and what it waits for."""
        goal = f"reached {' or '.join(self.expects)}" if self.expects else "ended"
        return self.secrets.hide(f"{self.reference} had not {goal}{self.situation}")

    def _read_access(self) -> Awaitable[ClusterAccess]:
        return async_read_access(self.kubernetes_conn_id, required=self.connection_required)

    async def _read_at_deadline(self, access: ClusterAccess, narration: Narration) -> ApplicationEvent:
        """Read the application once more: it may have ended in that moment, or while no triggerer was running."""
        health = self._stream_check.health if self._stream_check else None
        if health is not None and health.reached is not None:
            return self._build_event(EventKind.REACHED, f"{self.reference} makes progress: {health.reached}")
        try:
            async with asyncio.timeout(LAST_READ_SECONDS), share_hub(access, waiting_for=str(self.reference)) as hub:
                reference = await self._choose_reference(hub)
                await self.secrets.learn(hub, reference)
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
                return await cancel_or_read_end(hub, await self._choose_reference(hub), self.stamp, narration)

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
        return replace(event, record=record) if self.is_recorded else event

    async def _find_successor(self, access: ClusterAccess) -> str | None:
        """Return the other run of the task that replaced the application; None if there is none or it is unknown."""
        if self.stamp is None:
            return None
        try:
            async with asyncio.timeout(LAST_READ_SECONDS), share_hub(access) as hub:
                reference = await self._choose_reference(hub)
                present = await hub.client.get(reference.resource, reference.name, reference.namespace)
        except (KubeError, ConfigurationError, TimeoutError):
            return None
        return owner_of(present) if self.stamp.is_another_run_of(present) else None

    async def _cancel(self) -> Mapping[ApplicationReference, CancelOutcome]:
        async with share_hub(await self._read_access()) as hub:
            resource = await choose_served_version(hub.client, self.reference.resource)
            return {self.reference: await cancel(hub.client, replace(self.reference, resource=resource), self.stamp)}

    async def _choose_reference(self, hub: WatchHub) -> ApplicationReference:
        """Return the reference in a version that the cluster serves: its definition may have been replaced."""
        return replace(self.reference, resource=await hub.choose_version(self.reference.resource, str(self.reference)))

    def _build_event(self, kind: EventKind, sentence: str) -> ApplicationEvent:
        where = (self.reference.namespace, self.reference.name, self.reference.uid)
        api_version = self.reference.resource.api_version
        return ApplicationEvent(kind, *where, sentence=sentence, api_version=api_version)


@dataclass(frozen=True)
class StateWatch:
    """The wait of a task for a state of an application that another task or program submits.

    Attributes:
        name: The name of the application, which need not exist yet.
        expects: State words.
        namespace: The namespace. If None, the namespace of the connection is used.
        kubernetes_conn_id: The connection. If None, the default cluster is used.
        resource: The kind in the version that was stored.
        poke_interval: Seconds between two reads while the application does not exist.
        stamp: The task that waits; None if it is unknown.
    """

    name: str
    expects: Sequence[str]
    namespace: str | None
    kubernetes_conn_id: str | None
    resource: ResourceType
    poke_interval: float
    stamp: TaskStamp | None

    async def run(self) -> ApplicationEvent:
        """Read the connection and wait."""
        try:
            show_links = build_link_storage(LINKS, self.stamp)
            return await self.wait(await async_read_access(self.kubernetes_conn_id), show_links)
        except AirflowException as error:
            return self._build_event(EventKind.LOST, f"could not follow SparkApplication {self.name}: {error}")

    async def wait(self, access: ClusterAccess, show_links: ShowLinks) -> ApplicationEvent:
        """Wait for the state. Whatever happens to the application or to the API becomes an event.

        Args:
            access: The access to the cluster.
            show_links: Called once, when the application exists.
        """
        remember_outages(self.stamp)
        try:
            async with share_hub(access, waiting_for=f"SparkApplication {self.name}") as hub:
                namespace = self.namespace or hub.client.default_namespace
                reference, document = await wait_for_appearance(
                    hub, self.resource, self.name, namespace, self.poke_interval, logger
                )
                await sync_to_async(show_links)(self._build_link_target(reference, document))
                found = await wait_for_state(hub, reference, self.expects, Narration(TaskLog(reference, logger)))
                return build_event(found)
        except ApplicationDeleted as error:
            return self._build_event(EventKind.DELETED, str(error))
        except (KubeError, ConfigurationError) as error:
            return self._build_event(EventKind.LOST, f"could not follow SparkApplication {self.name}: {error}")

    async def delete_if_killed(self) -> None:
        """Delete the application if a user has stopped the task and if its DAG run submitted the application.

        Never raises.
        """
        try:
            if self.stamp is not None and await sync_to_async(read_fate)(self.stamp) is Fate.KILLED:
                await self.delete(await async_read_access(self.kubernetes_conn_id))
        except Exception as error:
            # No task receives an event any more: only the log can report the error.
            cause = str(error) or type(error).__name__
            logger.warning("could not delete SparkApplication %s, which may still be running: %s", self.name, cause)

    async def delete(self, access: ClusterAccess) -> None:
        """Delete the application if the DAG run of the task submitted it. Tolerates an outage of the API.

        Args:
            access: The access to the cluster.

        Raises:
            KubeError: The API rejected the deletion, or could not be reached.
            ConfigurationError: The configuration of the client is not valid.
        """
        if self.stamp is None:
            return
        stamp, subject = self.stamp, f"{self.resource.kind} {self.name}"

        async def attempt() -> CancelOutcome:
            async with share_hub(access) as hub:
                return await cancel_run(hub.client, self.resource, self.name, self.namespace, stamp)

        outcome = await retry(attempt, f"deletion of {subject}", logger.log)
        logger.info("the task was stopped; %s", describe_outcome(outcome, subject, "this DAG run"))

    def _build_link_target(self, reference: ApplicationReference, document: JsonObject) -> LinkTarget:
        return build_link_target(
            document,
            reference,
            conn_id=self.kubernetes_conn_id,
            spark_id=read_progress(document).application_id,
            created=document["metadata"].get("creationTimestamp"),
        )

    def _build_event(self, kind: EventKind, sentence: str) -> ApplicationEvent:
        return ApplicationEvent(kind, self.namespace or "", self.name, "", sentence=sentence)
