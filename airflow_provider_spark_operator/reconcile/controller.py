"""The controller: an informer, and for each of our kinds a queue and workers around its reconciler."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import KubeError, TooManyRequests
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS, SPARK_CLUSTERS
from airflow_provider_spark_operator.reconcile.attempt import NotYet
from airflow_provider_spark_operator.reconcile.cache import ObjectKey
from airflow_provider_spark_operator.reconcile.cluster_reconciler import ClusterReconciler
from airflow_provider_spark_operator.reconcile.events import EventRecorder
from airflow_provider_spark_operator.reconcile.informer import Caches, Informer
from airflow_provider_spark_operator.reconcile.metrics import Metrics
from airflow_provider_spark_operator.reconcile.queue import WorkQueue
from airflow_provider_spark_operator.reconcile.reconciler import Reconciler
from airflow_provider_spark_operator.reconcile.scope import Scope
from airflow_provider_spark_operator.reconcile.settings import ControllerSettings

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
        queue: the keys to look at.
        reconcile: the look; returns when to look again.
        workers: how many keys are looked at at the same time.
    """

    kind: str
    noun: str
    queue: WorkQueue[ObjectKey]
    reconcile: Callable[[ObjectKey], Awaitable[timedelta | None]]
    workers: int


class Controller:
    """Drives everything of ours in scope; only one may run for the same operator name and namespaces.

    Args:
        client: stays open as long as `run` runs.
        scope: the namespaces.
        settings: see `ControllerSettings`; its scope is not looked at.
        metrics: of this controller alone; made here where nobody reads them.
        now: the clock, UTC.
    """

    def __init__(
        self,
        client: KubeClient,
        scope: Scope,
        settings: ControllerSettings,
        *,
        metrics: Metrics | None = None,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        caches = Caches.empty()
        decisions = settings.decisions
        self._metrics = metrics or Metrics()
        self._metrics.watch_states(caches.applications.documents, caches.clusters.documents)
        self._recorder = EventRecorder(client, decisions.operator_name)
        reconciler = Reconciler(client, caches, decisions, self._recorder, self._metrics, now)
        clusters = ClusterReconciler(
            client, caches.clusters, decisions.operator_name, self._recorder, self._metrics, now
        )
        self._lines = (
            _Line(SPARK_APPLICATIONS.kind, "application", _queue(settings), reconciler.reconcile, settings.workers),
            _Line(SPARK_CLUSTERS.kind, "cluster", _queue(settings), clusters.reconcile, _CLUSTER_WORKERS),
        )
        for line in self._lines:
            self._metrics.watch_queue(line.kind, line.queue)
        notify, notify_cluster = (line.queue.add for line in self._lines)
        self._informer = Informer(client, scope, decisions.operator_name, caches, notify, notify_cluster)

    @property
    def is_ready(self) -> bool:
        """Whether the caches are filled and the workers work."""
        return self._informer.is_synced

    async def run(self, ready: Callable[[], None]) -> None:
        """Work until cancelled; `ready` is called once, when everything in scope is known.

        Raises:
            KubeError: what is in scope could not be listed at the start.
        """
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._informer.run())
                group.create_task(self._recorder.run())
                await self._informer.wait_until_synced()
                for line in self._lines:
                    for _ in range(line.workers):
                        group.create_task(_work(line, self._metrics))
                ready()
        except BaseExceptionGroup as failures:
            raise _first(failures) from None
        finally:
            for line in self._lines:
                line.queue.close()


async def _work(line: _Line, metrics: Metrics) -> None:
    while True:
        key = await line.queue.get()
        try:
            await _look_at(line, key, metrics)
        finally:
            line.queue.done(key)


async def _look_at(line: _Line, key: ObjectKey, metrics: Metrics) -> None:
    context = {line.noun: str(key)}
    try:
        with metrics.reconciling(line.kind):
            again = await line.reconcile(key)
    except NotYet as reason:
        seconds = line.queue.retry(key)
        logger.info("waits %.1f s: %s", seconds, reason, extra=context)
    except KubeError as error:
        wish = (error.retry_after or 0.0) if isinstance(error, TooManyRequests) else 0.0
        seconds = line.queue.retry(key, at_least=wish)
        logger.warning("again in %.1f s: %s", seconds, error, extra=context)
    except Exception:
        # A defect that one resource brings to light must not stop the others.
        seconds = line.queue.retry(key)
        logger.exception("failed, again in %.1f s", seconds, extra=context)
    else:
        line.queue.forget_failures(key)
        if again is not None:
            line.queue.add_after(key, again.total_seconds())


def _queue(settings: ControllerSettings) -> WorkQueue[ObjectKey]:
    return WorkQueue(first_retry=settings.first_retry)


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    first = failures.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
