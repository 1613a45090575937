import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from airflow_provider_spark_operator.reconcile.cache import ObjectKey
from airflow_provider_spark_operator.reconcile.queue import WorkQueue
from airflow_provider_spark_operator.reconcile.workers import Workers
from tests.reconcile.stage import DEADLINE


class Looks:
    """Looks that last until the test lets them end."""

    def __init__(self) -> None:
        self.begun: list[ObjectKey] = []
        self.ended: list[ObjectKey] = []
        self.may_end = asyncio.Event()

    async def look(self, key: ObjectKey) -> None:
        self.begun.append(key)
        await self.may_end.wait()
        self.ended.append(key)


def build_key(number: int) -> ObjectKey:
    return ObjectKey("jobs", f"pi-{number}")


async def wait_until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not condition():  # noqa: ASYNC110 - what is waited for is no Event
            await asyncio.sleep(0)


async def let_tasks_run() -> None:
    """Let every task go on until it waits for something."""
    for _ in range(20):
        await asyncio.sleep(0)


@asynccontextmanager
async def run_workers(looks: Looks, count: int, keys: int) -> AsyncIterator[Workers]:
    queue = WorkQueue[ObjectKey]()
    for number in range(keys):
        queue.add(build_key(number))
    workers = Workers(queue, looks.look, count)
    task = asyncio.create_task(workers.run())
    try:
        yield workers
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_number_of_concurrent_reconciles_is_limited() -> None:
    looks = Looks()
    async with run_workers(looks, 2, keys=5):
        await let_tasks_run()
        assert len(looks.begun) == 2
        looks.may_end.set()
        await wait_until(lambda: len(looks.ended) == 5)


async def test_additional_workers_start_immediately() -> None:
    looks = Looks()
    async with run_workers(looks, 1, keys=5) as workers:
        await wait_until(lambda: len(looks.begun) == 1)
        workers.resize(3)
        await wait_until(lambda: len(looks.begun) == 3)
        await let_tasks_run()
        assert len(looks.begun) == 3


async def test_superfluous_workers_end_after_their_current_key() -> None:
    looks = Looks()
    async with run_workers(looks, 3, keys=4) as workers:
        await wait_until(lambda: len(looks.begun) == 3)
        workers.resize(1)
        await let_tasks_run()
        assert looks.ended == []
        looks.may_end.set()
        await wait_until(lambda: len(looks.ended) == 4)
        looks.may_end.clear()


async def test_idle_superfluous_workers_end_without_losing_a_key() -> None:
    looks, queue = Looks(), WorkQueue[ObjectKey]()
    workers = Workers(queue, looks.look, 5)
    task = asyncio.create_task(workers.run())
    await let_tasks_run()
    workers.resize(1)
    for number in range(3):
        queue.add(build_key(number))
    await let_tasks_run()
    assert len(looks.begun) == 1
    looks.may_end.set()
    await wait_until(lambda: len(looks.ended) == 3)
    task.cancel()
    await asyncio.wait([task])
