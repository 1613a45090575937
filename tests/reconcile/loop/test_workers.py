import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from airflow_provider_spark_operator.reconcile.loop.queue import Workers, WorkQueue
from airflow_provider_spark_operator.reconcile.objects.cache import ObjectKey
from tests.reconcile.harness import DEADLINE


class Reconciles:
    """Reconciles that wait until the test lets them end."""

    def __init__(self) -> None:
        self.begun: list[ObjectKey] = []
        self.ended: list[ObjectKey] = []
        self.may_end = asyncio.Event()

    async def reconcile(self, key: ObjectKey) -> None:
        self.begun.append(key)
        await self.may_end.wait()
        self.ended.append(key)


def build_key(number: int) -> ObjectKey:
    return ObjectKey("jobs", f"pi-{number}")


async def wait_until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not condition():  # noqa: ASYNC110 - the condition is no Event
            await asyncio.sleep(0)


async def let_tasks_run() -> None:
    """Run all tasks until they wait."""
    for _ in range(20):
        await asyncio.sleep(0)


@asynccontextmanager
async def run_workers(reconciles: Reconciles, count: int, keys: int) -> AsyncIterator[Workers]:
    queue = WorkQueue[ObjectKey]()
    for number in range(keys):
        queue.add(build_key(number))
    workers = Workers(queue, reconciles.reconcile, count)
    task = asyncio.create_task(workers.run())
    try:
        yield workers
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_number_of_concurrent_reconciles_is_limited() -> None:
    reconciles = Reconciles()
    async with run_workers(reconciles, 2, keys=5):
        await let_tasks_run()
        assert len(reconciles.begun) == 2
        reconciles.may_end.set()
        await wait_until(lambda: len(reconciles.ended) == 5)


async def test_reconciles_without_requests_let_other_tasks_run() -> None:
    reconciles = Reconciles()
    reconciles.may_end.set()
    async with run_workers(reconciles, 2, keys=100):
        await wait_until(lambda: len(reconciles.ended) > 0)
        assert len(reconciles.ended) < 10


async def test_additional_workers_start_immediately() -> None:
    reconciles = Reconciles()
    async with run_workers(reconciles, 1, keys=5) as workers:
        await wait_until(lambda: len(reconciles.begun) == 1)
        workers.resize(3)
        await wait_until(lambda: len(reconciles.begun) == 3)
        await let_tasks_run()
        assert len(reconciles.begun) == 3


async def test_superfluous_workers_end_after_their_current_key() -> None:
    reconciles = Reconciles()
    async with run_workers(reconciles, 3, keys=4) as workers:
        await wait_until(lambda: len(reconciles.begun) == 3)
        workers.resize(1)
        await let_tasks_run()
        assert reconciles.ended == []
        reconciles.may_end.set()
        await wait_until(lambda: len(reconciles.ended) == 4)
        reconciles.may_end.clear()


async def test_idle_superfluous_workers_end_without_losing_a_key() -> None:
    reconciles, queue = Reconciles(), WorkQueue[ObjectKey]()
    workers = Workers(queue, reconciles.reconcile, 5)
    task = asyncio.create_task(workers.run())
    await let_tasks_run()
    workers.resize(1)
    for number in range(3):
        queue.add(build_key(number))
    await let_tasks_run()
    assert len(reconciles.begun) == 1
    reconciles.may_end.set()
    await wait_until(lambda: len(reconciles.ended) == 3)
    task.cancel()
    await asyncio.wait([task])


async def test_namespace_that_occupies_all_workers_does_not_delay_another_one() -> None:
    reconciles = Reconciles()
    queue = WorkQueue[ObjectKey](group_of=lambda key: key.namespace)
    workers = Workers(queue, reconciles.reconcile, 2)
    task = asyncio.create_task(workers.run())
    for number in range(5):
        queue.add(build_key(number))
    await let_tasks_run()
    assert len(reconciles.begun) == 2
    other = ObjectKey("other", "pi")
    queue.add(other)
    await wait_until(lambda: other in reconciles.begun)
    assert len(reconciles.begun) == 3
    task.cancel()
    await asyncio.wait([task])
