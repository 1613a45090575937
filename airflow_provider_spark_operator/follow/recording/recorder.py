"""Keep the record of one run while a process waits for the end of its application, and store it when it changes."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from math import inf
from typing import TypeAlias
from weakref import WeakKeyDictionary

from ...core.dialects.dialect import dialect_of
from ...core.dialects.progress import Phase, Progress, find_driver_period
from ...core.kubernetes.json_object import JsonObject, KubernetesObject, change_texts
from ...core.kubernetes.pods import get_uid
from ...core.report.events import find_executor_prefix
from ...core.report.executor_log import ExecutorLog
from ...core.report.executors import is_dynamic
from ...core.report.job_report import JobReport
from ...core.report.observed_pods import Absence, ObservedPods
from ...core.report.pod_spans import list_unclear_executors
from ...core.report.prices import PriceTable
from ...core.report.record_values import format_time
from ...core.report.recording import READ_SECONDS, RecordingSchedule
from ...core.report.run_record import build_record
from ...core.report.timeline import Timeline, build_timeline
from ...core.spark_metrics.metrics import SparkMetrics, build_metrics
from ...core.verdict.holds import drop_elapsed
from ...core.verdict.verdict import Verdict
from ...kube.client import KubeClient
from ..access.events import list_pod_events
from ..access.pod_lists import list_application_pods
from ..access.reference import ApplicationReference
from ..ending.evidence import Evidence
from .write_queue import get_queue

logger = logging.getLogger(__name__)

Build: TypeAlias = Callable[[], JsonObject]
Store: TypeAlias = Callable[[Build], Awaitable[None]]
"""Builds a record and stores it, both on another thread. Raises if the record could not be stored."""
Hide: TypeAlias = Callable[[str], str]
"""Removes secrets from a text."""

_LAST_READ_SECONDS = 1.0
_LAST_WRITE_SECONDS = 5.0
# More pods are packed on another thread, because a thousand take 0.2 s.
_FEW_PODS = 50
# How many causes of waits for a queue are kept. They are read every two minutes.
_CAUSES = 50
# The least bytes of a packed pod.
_PACKED_BYTES = 30
_MAX_LOGS = 10
_MAX_ASKED = 20  # pods of one application
_MAX_EVENTS = 50  # of one pod
_CONCURRENT = 5  # requests for Events of one cluster
_requests: WeakKeyDictionary[KubeClient, asyncio.Semaphore] = WeakKeyDictionary()
_UNREAD = {"events": "a task that waits does not read Events"}


async def discard(build: Build) -> None:
    """Store nothing: the record is only needed while the application runs."""


class _Stopped(Exception):
    """The recorder was stopped before a record was built: the final record follows."""


class RunRecorder:
    """The record of one run. All methods but `build` belong to the event loop, and none raises.

    Args:
        reference: The application.
        store: Stores the record while the application runs.
        hide: Removes secrets from texts. None if the texts have none.
        describe_wait: Returns what the application waits for. None if this is not known.
        prices: The prices, from which the cost is computed. None if it is not computed.
    """

    def __init__(
        self,
        reference: ApplicationReference,
        store: Store,
        hide: Hide | None = None,
        describe_wait: Callable[[], str | None] = lambda: None,
        prices: PriceTable | None = None,
    ) -> None:
        self._reference = reference
        self._store = store
        self._hide = hide or str
        self._has_secrets = hide is not None
        self._describe_wait = describe_wait
        self._prices = prices
        self._client: KubeClient | None = None
        self._schedule = RecordingSchedule()
        self._pods = ObservedPods()
        self._began: datetime | None = None  # when all pods were noted first
        self._listed = -inf  # when all pods were noted last, by the clock of the event loop
        self._packing = asyncio.Lock()
        self._resource: KubernetesObject | None = None
        self._end: tuple[Verdict, Evidence] | None = None
        self._is_running = False
        self._waiting = ""
        self._queue_causes = deque[tuple[datetime, str]](maxlen=_CAUSES)
        self._refusal: str | None = None
        self._spark: SparkMetrics | None = None
        self._spark_problem = ""
        self._report = JobReport()
        self._logs: dict[str, tuple[ExecutorLog, datetime | None]] = {}  # by Spark's id of the attempt
        self._events: list[JsonObject] = []
        self._final: Timeline | None = None
        self._gap = ""
        self._timer: asyncio.TimerHandle | None = None
        self._reading: asyncio.Task[None] | None = None
        self._is_storable = True
        self._has_failed = False

    def begin(self, client: KubeClient) -> None:
        """Set the client of the cluster."""
        self._client = client

    def update(self, seen: Progress, resource: KubernetesObject) -> None:
        """Note the content of the application.

        Args:
            seen: The progress of `resource`.
            resource: The application, which must not change.
        """
        self._resource, self._is_running = resource, seen.phase is Phase.RUNNING
        self._schedule.note_change()
        self._check()

    async def observe(self, found: Sequence[KubernetesObject], *, is_complete: bool = True) -> None:
        """Note pods of the application.

        Args:
            found: The pods.
            is_complete: Whether these are all its pods, so that the other ones were deleted.
        """
        if self._client is None:
            return
        if is_complete:
            self._listed = asyncio.get_running_loop().time()
        label = dialect_of(self._reference.resource.api_version).application_label
        async with self._packing:
            known = self._pods
            pack = partial(
                known.add, found, self._client.get_time(), label=label, is_complete=is_complete, hide=self._hide
            )
            is_long = len(found) + len(known.packed) // _PACKED_BYTES > _FEW_PODS
            self._pods = await asyncio.to_thread(pack) if is_long else pack()
        if is_complete:
            self._began = self._began or self._client.get_time()
            self._refusal = None
            self._schedule.note_read(self._listed)
        if not known.is_equal_to(self._pods):
            self._schedule.note_change()
            self._check()

    def note_spark(self, metrics: SparkMetrics | None, problem: str) -> None:
        """Note what Spark did.

        Args:
            metrics: The latest figures. None if there are none.
            problem: Why the figures are not known, or are old. Empty if they are up to date.
        """
        self._spark, self._spark_problem = metrics, problem
        self._schedule.note_change()
        self._check()

    def note_hold(self, cause: str) -> None:
        """Note why the application is not admitted to its queue now."""
        if self._client is not None:
            self._queue_causes.append((self._client.get_time(), self._hide(cause)))

    def note_report(self, report: JobReport) -> None:
        """Note what the job of the current attempt has reported."""
        self._report = report
        self._schedule.note_change()
        self._check()

    def note_executors(self, seen: Progress, log: ExecutorLog) -> None:
        """Note what the log of a driver that has ended shows about its executors.

        Args:
            seen: The progress of the application, of the attempt of the driver.
            log: The executors.
        """
        if seen.application_id and (seen.application_id in self._logs or len(self._logs) < _MAX_LOGS):
            self._logs[seen.application_id] = log, find_driver_period(seen)[1]

    async def read_pods(self, *, is_last: bool = False) -> None:
        """Read the pods of the application.

        Args:
            is_last: Whether no other read follows, so that the answer counts in any case.
        """
        if self._client is None:
            return
        began = asyncio.get_running_loop().time()
        self._schedule.note_read(began)
        try:
            found = await list_application_pods(self._client, self._reference, is_background=not is_last)
            if is_last or began >= self._listed:  # otherwise, another part has listed the pods meanwhile
                await self.observe(found)
        except Exception as error:  # the record must not fail the task
            self._refusal = self._hide(str(error) or type(error).__name__)

    async def read_last_pods(self) -> None:
        """Read the pods at the end of an attempt. The end of the task must not wait long for them."""
        try:
            async with asyncio.timeout(_LAST_READ_SECONDS):
                await self.read_pods(is_last=True)
        except TimeoutError:
            self._refusal = f"they were not listed within {_LAST_READ_SECONDS:g} s"

    async def conclude(self, verdict: Verdict, evidence: Evidence, resource: KubernetesObject) -> None:
        """Note the end of the application, and read the Events of executors that no list of pods describes exactly.

        Args:
            verdict: The judgement on it.
            evidence: The evidence about the end of its driver.
            resource: Its content.
        """
        self._resource, self._end, self._report = resource, (verdict, evidence), evidence.report
        if self._client is None:
            return
        try:
            await self._read_events(self._client, resource)
        except Exception as error:  # the record must not fail the task
            self._gap = self._hide(str(error) or type(error).__name__)

    async def _read_events(self, client: KubeClient, resource: KubernetesObject) -> None:
        # A request for Events lets the API server search all Events of the namespace, so most runs send none.
        asked, deadline = set[str](), asyncio.get_running_loop().time() + _LAST_READ_SECONDS
        has_latest = bool(self._logs) and all(log.has_latest for log, _ in self._logs.values())
        may_have_later = is_dynamic(resource) and not has_latest
        requests = _requests.setdefault(client, asyncio.Semaphore(_CONCURRENT))
        while True:
            final = self._final = await asyncio.to_thread(self._build_timeline, resource, client.get_time())
            unclear = list_unclear_executors(final.executors, may_have_later=may_have_later)
            unasked = (name for name in unclear if name not in asked)
            names = [*islice(unasked, _MAX_ASKED - len(asked))]
            asked.update(names)
            try:
                async with asyncio.timeout_at(deadline):
                    found = await asyncio.gather(*(self._list_events(client, name, requests) for name in names))
            except TimeoutError:
                self._gap = f"their Events were not read within {_LAST_READ_SECONDS:g} s"
                self._final = await asyncio.to_thread(self._build_timeline, resource, client.get_time())
                return
            if not any(found):
                break
        if next(unasked, None) is not None:
            self._gap = f"only the Events of {_MAX_ASKED} of them were read"

    async def _list_events(self, client: KubeClient, pod: str, requests: asyncio.Semaphore) -> bool:
        async with requests:
            found = await list_pod_events(client, self._reference.namespace, pod, _MAX_EVENTS)
        self._events += found
        return bool(found)

    async def close(self) -> JsonObject | None:
        """Stop storing, and return the record: the final one if the end is known. None if nothing is known."""
        await self.stop()
        if self._resource is None:
            return None
        return await asyncio.to_thread(self.build)

    async def stop(self) -> None:
        """Stop storing. Wait up to five seconds for a store in progress, so that it does not replace a later record."""
        self._is_storable = False
        if self._timer is not None:
            self._timer.cancel()
        if self._reading is not None:
            self._reading.cancel()
        await get_queue().remove(self._write, _LAST_WRITE_SECONDS)

    def build(self) -> JsonObject | None:
        """Return the record as of now. None if nothing is known, or if it cannot be built."""
        if self._resource is None or self._client is None:
            return None
        try:
            return self._build(self._resource, self._client.get_time())
        except Exception as error:  # the record must not fail the task
            logger.warning("could not build the record of %s: %s", self._reference, str(error) or type(error).__name__)
            return None

    def _check(self) -> None:
        """Store the record and read the pods if this is due, and plan the next check."""
        if not self._is_storable:
            return
        now = asyncio.get_running_loop().time()
        # Times that pass would make each record differ from the one before it.
        if (waiting := drop_elapsed(self._describe_wait() or "")) != self._waiting:
            self._waiting = waiting
            self._schedule.note_change()
        is_reading = self._reading is not None and not self._reading.done()
        if self._is_running and not is_reading and self._schedule.is_read_due(now):
            self._reading = asyncio.create_task(self.read_pods())
        if self._schedule.is_write_due(now):
            self._schedule.note_write(now)
            get_queue().add(self._write)
        if self._timer is not None:
            self._timer.cancel()
        due = self._schedule.find_next(now, is_running=self._is_running)
        self._timer = asyncio.get_running_loop().call_at(due, self._check)

    async def _write(self) -> bool:
        try:
            await self._store(self._build_or_raise)
            return True
        except _Stopped:
            return True
        except Exception as error:
            # The task stores the final record, and warns if this is not possible either.
            level = logging.DEBUG if self._has_failed else logging.INFO
            self._has_failed = True
            cause = str(error) or type(error).__name__
            logger.log(level, "could not store the record of %s while it runs: %s", self._reference, cause)
            return False

    def _build_or_raise(self) -> JsonObject:
        if not self._is_storable:
            raise _Stopped
        record = self.build()
        if record is None:
            raise ValueError("the record could not be built")
        return record

    def _build_timeline(self, resource: KubernetesObject, now: datetime) -> Timeline:
        observed, absences = self._pods, dict(self._pods.absences)
        known = observed.unpack()
        if self._end is not None and observed.seen is not None:  # the last list can be from before the end
            absences = {get_uid(pod): Absence(observed.seen, now) for pod in known} | absences
        events = [*self._events]
        for application_id, (log, end) in self._logs.items():
            events += log.build_events(find_executor_prefix(resource, application_id, known), end)
        return build_timeline(
            change_texts(resource, self._hide) if self._has_secrets else resource,
            now,
            all_pods=None if self._refusal and observed.seen is None else known,
            events=[change_texts(event, self._hide) for event in events] if self._has_secrets else events,
            absences=absences,
            queue_causes=tuple(self._queue_causes),
        )

    def _build(self, resource: KubernetesObject, now: datetime) -> JsonObject:
        unread, verdict, cause = dict(_UNREAD), None, None
        if self._refusal is not None:
            unread["pods"] = self._refusal
        if self._gap:
            unread["executors"] = self._gap
        timeline = self._final or self._build_timeline(resource, now)
        if self._began is not None and timeline.has_run_before(self._began - timedelta(seconds=READ_SECONDS)):
            since = format_time(self._began)
            unread["executors"] = f"they were not followed before {since}, so those deleted until then are unknown"
        if self._end is not None:
            judged, evidence = self._end
            verdict = replace(judged, sentence=self._hide(judged.sentence))
            cause = self._hide(evidence.find_cause(judged))
            if judged.has_cause_in_log and evidence.log_problem:
                unread["log"] = self._hide(evidence.log_problem)
        if self._spark_problem:
            unread["spark"] = self._hide(self._spark_problem)
        waiting = "" if self._end is not None else self._waiting
        record = build_record(
            timeline,
            verdict=verdict,
            cause=cause,
            waiting=self._hide(waiting) if waiting else None,
            unread=unread,
            prices=self._prices,
            spark=change_texts(build_metrics(self._spark), self._hide) if self._spark is not None else None,
            report=change_texts(self._report.to_json(), self._hide),
        )
        return record | {"live": False} if self._end is not None else record
