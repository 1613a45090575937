"""The controller: the caches, and for each kind a queue, workers and a reconciler."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from ..core.kubernetes.json_object import JsonObject
from ..core.kubernetes.ownership import LeaseReference
from ..kube.client import KubeClient
from ..kube.errors import KubeError, is_refused_content
from ..kube.failed_requests import RequestRetryPolicy
from .attempts.attempt import ReconcileLater
from .kueue.admissions import Admissions
from .kueue.queue_actions import QueueActions
from .loop.informer import Caches, Informer, ScopeWatch
from .loop.queue import Workers, WorkQueue
from .objects.cache import ObjectCache, ObjectKey
from .objects.clock import utc_now
from .objects.kinds import APPLICATION, CLUSTER, Kind
from .objects.limits import ReconcileLimiter
from .objects.scope import Scope
from .ownership.claims import RECHECK_INTERVAL, ClaimCounts, Claims, ManagedElsewhere, Standing, report_claims
from .ownership.election import Leadership, NotLeading
from .reconcilers.applications import ApplicationAdapter
from .reconcilers.clusters import ClusterAdapter
from .reconcilers.reconciler import Reconciler
from .reconcilers.resources import DefectReporter, Resources
from .reports.events import EventRecorder, find_ignored_edit
from .serving.metrics import Metrics
from .settings.settings import ControllerSettings

logger = logging.getLogger(__name__)


REPEATED_WRITES = RequestRetryPolicy(writes=True)
"""The policy for the client of a controller: a failed write is repeated before the whole reconcile is."""
# The default of the Apache operator's api.secondaryResourceCreateMaxBackoffMillis.
_LONGEST_REQUESTED_PAUSE = 40.0
# A cluster is reconciled only when it is created, suspended, resumed and deleted: two workers suffice.
_CLUSTER_WORKERS = 2


@dataclass(frozen=True)
class _Pipeline:
    """The path of one kind of resource from its queue through its reconciler.

    Attributes:
        kind: The kind.
        cache: All known resources of the kind.
        claims: The resources that this controller manages; None if no other controller can exist.
        queue: The keys to reconcile.
        limiter: Delays the keys that are reconciled too often.
        reconcile: Reconciles a key; returns the time after which to reconcile it again.
        defects: Shows on a resource why its reconcile fails.
        metrics: Count and time the reconciles.
    """

    kind: Kind
    cache: ObjectCache
    claims: Claims | None
    queue: WorkQueue[ObjectKey]
    limiter: ReconcileLimiter
    reconcile: Callable[[ObjectKey], Awaitable[timedelta | None]]
    defects: DefectReporter
    metrics: Metrics

    async def process(self, key: ObjectKey) -> None:
        """Reconcile a resource, and requeue it if it must be reconciled again."""
        if wait := self.limiter.reserve(key):
            self.queue.add_after(key, wait)
            return
        context = {self.kind.noun: str(key)}
        try:
            with self.metrics.measure_reconcile(self.kind.type.kind):
                requeue_after = await self.reconcile(key)
        except ReconcileLater as reason:
            seconds = self.queue.retry(key)
            logger.info("%s; retrying in %.1f s", reason, seconds, extra=context)
        except ManagedElsewhere:
            self.queue.add_after(key, RECHECK_INTERVAL.total_seconds())
        except NotLeading as error:
            # The next leader reconciles all resources, even if it is this process again.
            logger.info(
                "skipped a reconcile, because this replica is not the leader: %s; the next leader repeats it",
                error,
                extra=context,
            )
        except KubeError as error:
            seconds = self.queue.retry(key, at_least=_read_requested_pause(error))
            logger.warning("reconcile failed: %s; retrying in %.1f s", error, seconds, extra=context)
            if is_refused_content(error):
                await self.defects.report(key, error)
        except Exception as defect:
            # A defect that one resource reveals must not stop the others.
            seconds = self.queue.retry(key)
            logger.exception("reconcile failed; retrying in %.1f s", seconds, extra=context)
            await self.defects.report(key, defect)
        else:
            self.queue.forget_failures(key)
            if requeue_after is not None:
                self.queue.add_after(key, requeue_after.total_seconds())


class Controller:
    """Reconciles all applications and clusters in scope while this process is the leader.

    Args:
        client: The client of the API; open as long as `run` runs. Its writes pass the check of `leadership`.
        scope: The namespaces.
        settings: The settings; those of scope, requests and election are not used here.
        metrics: The metrics of this controller alone; None if they are not served.
        leadership: Whether this process is the leader. Without it, no other controller may run for the same
            operator name and namespaces.
        lease: The Lease in the claims of this controller, which `leadership` follows. Without it, the controller
            manages every resource and claims none.
        now: The clock, in UTC.
    """

    def __init__(
        self,
        client: KubeClient,
        scope: Scope,
        settings: ControllerSettings,
        *,
        metrics: Metrics | None = None,
        leadership: Leadership | None = None,
        lease: LeaseReference | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._client = client
        self._settings = settings
        self._caches = Caches.empty()
        self._leadership = leadership or Leadership.without_election()
        self._is_active = False
        self._metrics = metrics or Metrics()
        self._now = now
        self._recorder = EventRecorder(client, settings.decisions.operator_name, settings.events)
        self._lease = lease
        self._metrics.watch_states(self._caches.applications.list_documents, self._caches.clusters.list_documents)
        self._metrics.watch_leadership(self._leadership)
        applications, clusters = self._build_applications(), self._build_clusters()
        self._pipelines = {pipeline.kind.type.kind: pipeline for pipeline in (applications, clusters)}
        counts = {
            kind: partial(_count_claims, pipeline.claims, pipeline.cache)
            for kind, pipeline in self._pipelines.items()
            if pipeline.claims is not None
        }
        self._counts = counts
        for kind, count in counts.items():
            self._metrics.watch_claims(kind, count)
        self._workers = Workers(applications.queue, applications.process, settings.workers)
        self._all_workers = (self._workers, Workers(clusters.queue, clusters.process, _CLUSTER_WORKERS))
        self._watch = ScopeWatch(self._caches, scope, self._build_informer)

    def _build_applications(self) -> _Pipeline:
        claims = self._build_claims(APPLICATION)
        resources = Resources(self._client, APPLICATION, self._caches.applications, claims)
        self._caches.applications.on_replace = partial(self._report_edit, resources)
        self._applications = ApplicationAdapter(
            self._client,
            resources,
            self._settings.decisions,
            self._recorder,
            self._metrics,
            self._build_queue_actions(self._caches.application_workloads),
            self._now,
            self._caches.pods,
            self._caches.last_drivers,
        )
        reconcile = Reconciler(self._applications).reconcile
        return self._build_pipeline(resources, self._caches.applications, claims, reconcile)

    def _build_clusters(self) -> _Pipeline:
        claims = self._build_claims(CLUSTER)
        resources = Resources(self._client, CLUSTER, self._caches.clusters, claims)
        queue_actions = self._build_queue_actions(self._caches.cluster_workloads)
        self._clusters = ClusterAdapter(
            self._client, resources, self._settings.decisions, self._recorder, self._metrics, queue_actions, self._now
        )
        return self._build_pipeline(resources, self._caches.clusters, claims, Reconciler(self._clusters).reconcile)

    def _build_claims(self, kind: Kind) -> Claims | None:
        if self._lease is None:
            return None
        return Claims(self._client, self._lease, kind, self._settings.takeover, self._recorder, self._now)

    def _build_pipeline(
        self,
        resources: Resources,
        cache: ObjectCache,
        claims: Claims | None,
        reconcile: Callable[[ObjectKey], Awaitable[timedelta | None]],
    ) -> _Pipeline:
        queue = WorkQueue[ObjectKey](group_of=lambda key: key.namespace, first_retry=self._settings.first_retry)
        self._metrics.watch_queue(resources.kind.type.kind, queue)
        return _Pipeline(
            resources.kind,
            cache,
            claims,
            queue,
            ReconcileLimiter(self._settings.reconciles),
            reconcile,
            DefectReporter(resources, self._recorder, self._now),
            self._metrics,
        )

    def _build_informer(self, scope: Scope, persistent: bool) -> Informer:
        return Informer(
            self._client,
            scope,
            self._settings.decisions.operator_name,
            self._caches,
            partial(self._enqueue, APPLICATION.type.kind),
            partial(self._enqueue, CLUSTER.type.kind),
            persistent=persistent,
            kueue=self._settings.kueue,
        )

    def _build_queue_actions(self, workloads: ObjectCache) -> QueueActions:
        admissions = Admissions(self._client, workloads, self._now) if self._settings.kueue else None
        return QueueActions(admissions, self._recorder, self._now)

    @property
    def is_ready(self) -> bool:
        """Whether the caches are filled, so that reconciling can start as soon as this process is the leader."""
        return self._watch.is_synced

    def apply(self, settings: ControllerSettings, scope: Scope) -> None:
        """Use other settings and another scope from now on; the operator's name stays, and nothing is interrupted."""
        self._applications.settings = self._clusters.settings = settings.decisions
        self._recorder.settings = settings.events
        for kind, pipeline in self._pipelines.items():
            pipeline.queue.first_retry = settings.first_retry
            pipeline.limiter.limit = settings.reconciles
            if pipeline.claims is not None and pipeline.claims.settings != settings.takeover:
                pipeline.claims.settings = settings.takeover
                for key in pipeline.cache:
                    self._enqueue(kind, key)
        self._workers.resize(settings.workers)
        self._watch.rescope(scope)

    async def run(self, ready: Callable[[], None]) -> None:
        """Run until cancelled; `ready` is called once, when the caches are filled.

        Raises:
            KubeError: The resources in scope could not be listed at the start.
        """
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._watch.run())
                group.create_task(self._recorder.run())
                await self._watch.wait_until_synced()
                group.create_task(self._reconcile_while_leading())
                ready()
        except BaseExceptionGroup as failures:
            raise _find_first(failures) from None
        finally:
            self._drop_work()

    async def _reconcile_while_leading(self) -> None:
        while True:
            await self._leadership.wait_until_gained()
            self._is_active = True
            # The previous leader may have left any resource unfinished.
            for pipeline in self._pipelines.values():
                for key in pipeline.cache:
                    pipeline.queue.add(key)
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(workers.run()) for workers in self._all_workers]
                tasks.append(group.create_task(report_claims(self._counts)))
                await self._leadership.wait_until_lost()
                for task in tasks:
                    task.cancel()
            self._drop_work()
            for pipeline in self._pipelines.values():
                if pipeline.claims is not None:
                    pipeline.claims.release_all()

    def _enqueue(self, kind: str, key: ObjectKey) -> None:
        # The queue of a standby would only grow. A new leader starts with all resources that exist.
        if self._is_active:
            self._pipelines[kind].queue.add(key)

    def _report_edit(self, resources: Resources, before: JsonObject, after: JsonObject) -> None:
        event = find_ignored_edit(before, after, self._now()) if self._is_active else None
        if event is not None and resources.judge(after) is Standing.CLAIMED:
            self._recorder.record(event)

    def _drop_work(self) -> None:
        self._is_active = False
        for pipeline in self._pipelines.values():
            pipeline.queue.clear()


def _count_claims(claims: Claims, known: ObjectCache) -> ClaimCounts:
    return claims.count(known.list_documents())


def _read_requested_pause(error: KubeError) -> float:
    return min(error.retry_after or 0.0, _LONGEST_REQUESTED_PAUSE)


def _find_first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    first = failures.exceptions[0]
    return _find_first(first) if isinstance(first, BaseExceptionGroup) else first
