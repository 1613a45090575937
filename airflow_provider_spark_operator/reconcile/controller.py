"""The controller: caches that are kept filled, and for each of our kinds a queue and workers around its reconciler."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from airflow_provider_spark_operator.core.names import APPLICATION_FINALIZER, CLUSTER_FINALIZER
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import KubeError, TooManyRequests
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS, SPARK_CLUSTERS
from airflow_provider_spark_operator.reconcile.arbitration import LOOK_AGAIN, Arbiter, ClaimCounts, Claims, Rivalled
from airflow_provider_spark_operator.reconcile.attempt import NotYet
from airflow_provider_spark_operator.reconcile.cache import JsonObject, ObjectCache, ObjectKey
from airflow_provider_spark_operator.reconcile.claim_report import ClaimReport
from airflow_provider_spark_operator.reconcile.cluster_reconciler import ClusterReconciler
from airflow_provider_spark_operator.reconcile.defects import DefectTeller
from airflow_provider_spark_operator.reconcile.events import EventRecorder
from airflow_provider_spark_operator.reconcile.informer import Caches, Informer
from airflow_provider_spark_operator.reconcile.leadership import Leadership, NotLeading
from airflow_provider_spark_operator.reconcile.limits import LookLimiter
from airflow_provider_spark_operator.reconcile.metrics import Metrics
from airflow_provider_spark_operator.reconcile.queue import WorkQueue
from airflow_provider_spark_operator.reconcile.reconciler import Reconciler
from airflow_provider_spark_operator.reconcile.refusals import is_refused_content
from airflow_provider_spark_operator.reconcile.resources import Resources
from airflow_provider_spark_operator.reconcile.rivals import Identity
from airflow_provider_spark_operator.reconcile.scope import Scope
from airflow_provider_spark_operator.reconcile.settings import ControllerSettings
from airflow_provider_spark_operator.reconcile.watching import Watching
from airflow_provider_spark_operator.reconcile.workers import Workers

logger = logging.getLogger(__name__)


def _utc_now() -> datetime:
    return datetime.now(UTC)


# A cluster is looked at when it comes and when it goes: two at once keep up with any number of them.
_CLUSTER_WORKERS = 2


@dataclass(frozen=True)
class _Line:
    """One kind of resource on its way from the queue through the reconciler.

    Attributes:
        kind: the API's name of it.
        noun: what a resource of it is called in logs.
        cache: all that is known of it.
        queue: the keys to look at.
        limiter: holds back the keys that are looked at too often.
        reconcile: the look; returns when to look again.
        defects: tells why nothing happens to a resource at which the look itself fails.
        metrics: counts and times the looks.
    """

    kind: str
    noun: str
    cache: ObjectCache
    queue: WorkQueue[ObjectKey]
    limiter: LookLimiter
    reconcile: Callable[[ObjectKey], Awaitable[timedelta | None]]
    defects: DefectTeller
    metrics: Metrics

    async def look_at(self, key: ObjectKey) -> None:
        """Look at a resource, and see to it that it is looked at again when it has to be."""
        if wait := self.limiter.wait(key):
            self.queue.add_after(key, wait)
            return
        context = {self.noun: str(key)}
        try:
            with self.metrics.reconciling(self.kind):
                again = await self.reconcile(key)
        except NotYet as reason:
            seconds = self.queue.retry(key)
            logger.info("waits %.1f s: %s", seconds, reason, extra=context)
        except Rivalled:
            self.queue.add_after(key, LOOK_AGAIN.total_seconds())
        except NotLeading as error:
            # The next leader looks at everything; should it be this one again, it does so too.
            logger.info("left to another: %s", error, extra=context)
        except KubeError as error:
            seconds = self.queue.retry(key, at_least=_requested_pause(error))
            logger.warning("again in %.1f s: %s", seconds, error, extra=context)
            if is_refused_content(error):
                await self.defects.tell(key, error)
        except Exception as defect:
            # A defect that one resource brings to light must not stop the others.
            seconds = self.queue.retry(key)
            logger.exception("failed, again in %.1f s", seconds, extra=context)
            await self.defects.tell(key, defect)
        else:
            self.queue.forget_failures(key)
            if again is not None:
                self.queue.add_after(key, again.total_seconds())


class Controller:
    """Drives everything of ours in scope, as long as it leads.

    Args:
        client: stays open as long as `run` runs. Its writes pass the gate of `leadership`, where there is one.
        scope: the namespaces.
        settings: see `ControllerSettings`; what it says of scope, requests and election is not looked at.
        metrics: of this controller alone; made here where nobody reads them.
        leadership: whether it is this one that drives; without it, no other may run for the same operator name and
            namespaces.
        identity: by which other controllers know this one, being the client's field manager; without it, nobody else's
            resources are told from its own.
        now: the clock, UTC.
    """

    def __init__(
        self,
        client: KubeClient,
        scope: Scope,
        settings: ControllerSettings,
        *,
        metrics: Metrics | None = None,
        leadership: Leadership | None = None,
        identity: Identity | None = None,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        caches = Caches.empty()
        name = settings.decisions.operator_name
        self._leadership = leadership or Leadership.undisputed()
        self._drives = False
        metrics = metrics or Metrics()
        metrics.watch_states(caches.applications.documents, caches.clusters.documents)
        metrics.watch_leadership(self._leadership)
        self._recorder = EventRecorder(client, name)
        self._arbiter = None if identity is None else Arbiter(client, identity, settings.rivals, now)
        self._claims = {} if self._arbiter is None else _claims(self._arbiter, self._recorder, now)
        known = {SPARK_APPLICATIONS.kind: caches.applications, SPARK_CLUSTERS.kind: caches.clusters}
        counts = {kind: partial(_count_claims, claims, known[kind]) for kind, claims in self._claims.items()}
        self._claim_report = ClaimReport(counts)
        for kind, count in counts.items():
            metrics.watch_claims(kind, count)
        mine, mine_too = self._claims.get(SPARK_APPLICATIONS.kind), self._claims.get(SPARK_CLUSTERS.kind)
        self._reconciler = Reconciler(client, caches, settings.decisions, self._recorder, metrics, now, mine)
        clusters = ClusterReconciler(client, caches.clusters, name, self._recorder, metrics, now, mine_too)
        resources = Resources(client, SPARK_APPLICATIONS, caches.applications, APPLICATION_FINALIZER, mine)
        defects = DefectTeller(resources, "application", self._recorder, now)
        resources = Resources(client, SPARK_CLUSTERS, caches.clusters, CLUSTER_FINALIZER, mine_too)
        defects_too = DefectTeller(resources, "cluster", self._recorder, now)
        self._lines = (
            _line(caches.applications, self._reconciler.reconcile, defects, settings, metrics),
            _line(caches.clusters, clusters.reconcile, defects_too, settings, metrics),
        )
        applications, others = self._lines
        self._workers = Workers(applications.queue, applications.look_at, settings.workers)
        self._all_workers = (self._workers, Workers(others.queue, others.look_at, _CLUSTER_WORKERS))
        notify, notify_cluster = self._noticing(applications), self._noticing(others)
        self._watching = Watching(
            caches,
            scope,
            lambda wanted, persistent: Informer(
                client, wanted, name, caches, notify, notify_cluster, inspect=self._inspect, persistent=persistent
            ),
        )

    @property
    def is_ready(self) -> bool:
        """Whether the caches are filled: it works, or could at once if it led."""
        return self._watching.is_synced

    def apply(self, settings: ControllerSettings, scope: Scope) -> None:
        """Go on with other settings, but for the operator's name, and in another scope; nothing is broken off."""
        self._reconciler.settings = settings.decisions
        if self._arbiter is not None:
            self._arbiter.settings = settings.rivals
            self._requeue_foreign()
        for line in self._lines:
            line.queue.first_retry = settings.first_retry
            line.limiter.limit = settings.looks
        self._workers.resize(settings.workers)
        self._watching.rescope(scope)

    def _requeue_foreign(self) -> None:
        """Reconcile what other controllers drive: it may have become possible to take it over."""
        for line in self._lines:
            for key in self._claims[line.kind].foreign() if self._drives else ():
                line.queue.add(key)

    async def run(self, ready: Callable[[], None]) -> None:
        """Work until cancelled; `ready` is called once, when everything in scope is known.

        Raises:
            KubeError: what is in scope could not be listed at the start.
        """
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._watching.run())
                group.create_task(self._recorder.run())
                await self._watching.wait_until_synced()
                group.create_task(self._drive())
                ready()
        except BaseExceptionGroup as failures:
            raise _first(failures) from None
        finally:
            self._drop_work()

    async def _drive(self) -> None:
        while True:
            await self._leadership.gained()
            self._drives = True
            # Whoever led before may have left anything undone.
            for line in self._lines:
                for key in line.cache:
                    line.queue.add(key)
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(workers.run()) for workers in self._all_workers]
                tasks.append(group.create_task(self._claim_report.run()))
                await self._leadership.lost()
                for task in tasks:
                    task.cancel()
            self._drop_work()
            for claims in self._claims.values():
                claims.release()

    def _noticing(self, line: _Line) -> Callable[[ObjectKey], None]:
        def notice(key: ObjectKey) -> None:
            # Who stands by would keep the keys of all that ever was; who takes over begins with all that is.
            if self._drives:
                line.queue.add(key)

        return notice

    def _inspect(self, document: JsonObject) -> None:
        claims = self._claims.get(document["kind"])
        if claims is not None:
            claims.notice(document)

    def _drop_work(self) -> None:
        self._drives = False
        for line in self._lines:
            line.queue.clear()


def _claims(arbiter: Arbiter, recorder: EventRecorder, now: Callable[[], datetime]) -> dict[str, Claims]:
    """Which resources this controller drives, by their kind."""
    return {
        SPARK_APPLICATIONS.kind: Claims(arbiter, APPLICATION_FINALIZER, "application", recorder, now),
        SPARK_CLUSTERS.kind: Claims(arbiter, CLUSTER_FINALIZER, "cluster", recorder, now),
    }


def _count_claims(claims: Claims, known: ObjectCache) -> ClaimCounts:
    return claims.count(len(known))


def _line(
    cache: ObjectCache,
    reconcile: Callable[[ObjectKey], Awaitable[timedelta | None]],
    defects: DefectTeller,
    settings: ControllerSettings,
    metrics: Metrics,
) -> _Line:
    queue, kind = WorkQueue[ObjectKey](first_retry=settings.first_retry), defects.resources.kind.kind
    metrics.watch_queue(kind, queue)
    return _Line(kind, defects.noun, cache, queue, LookLimiter(settings.looks), reconcile, defects, metrics)


def _requested_pause(error: KubeError) -> float:
    return (error.retry_after or 0.0) if isinstance(error, TooManyRequests) else 0.0


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    first = failures.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
