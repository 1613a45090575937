"""The controller: informer, queue and workers around the reconciler."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import KubeError, TooManyRequests
from airflow_provider_spark_operator.reconcile.attempt import NotYet
from airflow_provider_spark_operator.reconcile.cache import ObjectKey
from airflow_provider_spark_operator.reconcile.events import EventRecorder
from airflow_provider_spark_operator.reconcile.informer import Caches, Informer
from airflow_provider_spark_operator.reconcile.queue import WorkQueue
from airflow_provider_spark_operator.reconcile.reconciler import Reconciler
from airflow_provider_spark_operator.reconcile.scope import Scope
from airflow_provider_spark_operator.reconcile.settings import ControllerSettings

logger = logging.getLogger(__name__)


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Controller:
    """Drives all SparkApplications in scope; only one may run for the same operator name and namespaces.

    Args:
        client: stays open as long as `run` runs.
        scope: the namespaces.
        settings: see `ControllerSettings`; its scope is not looked at.
        now: the clock, UTC.
    """

    def __init__(
        self,
        client: KubeClient,
        scope: Scope,
        settings: ControllerSettings,
        *,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._queue: WorkQueue[ObjectKey] = WorkQueue(first_retry=settings.first_retry)
        self._caches = Caches.empty()
        self._workers = settings.workers
        self._recorder = EventRecorder(client, settings.decisions.operator_name)
        self._informer = Informer(client, scope, settings.decisions.operator_name, self._caches, self._queue.add)
        self._reconciler = Reconciler(client, self._caches, settings.decisions, self._recorder, now)

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
                for _ in range(self._workers):
                    group.create_task(self._work())
                ready()
        except BaseExceptionGroup as failures:
            raise _first(failures) from None
        finally:
            self._queue.close()

    async def _work(self) -> None:
        while True:
            key = await self._queue.get()
            try:
                await self._look_at(key)
            finally:
                self._queue.done(key)

    async def _look_at(self, key: ObjectKey) -> None:
        context = {"application": str(key)}
        try:
            again = await self._reconciler.reconcile(key)
        except NotYet as reason:
            seconds = self._queue.retry(key)
            logger.info("waits %.1f s: %s", seconds, reason, extra=context)
        except KubeError as error:
            wish = (error.retry_after or 0.0) if isinstance(error, TooManyRequests) else 0.0
            seconds = self._queue.retry(key, at_least=wish)
            logger.warning("again in %.1f s: %s", seconds, error, extra=context)
        except Exception:
            # A defect that one application brings to light must not stop the others.
            seconds = self._queue.retry(key)
            logger.exception("failed, again in %.1f s", seconds, extra=context)
        else:
            self._settle(key, None if again is None else again.total_seconds())

    def _settle(self, key: ObjectKey, again: float | None) -> None:
        self._queue.forget_failures(key)
        if again is not None:
            self._queue.add_after(key, again)


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    first = failures.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
