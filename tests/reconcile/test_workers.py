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


def key(number: int) -> ObjectKey:
    return ObjectKey("jobs", f"pi-{number}")


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not condition():  # noqa: ASYNC110 - what is waited for is no Event
            await asyncio.sleep(0)


async def settle() -> None:
    """Let every task go on until it waits for something."""
    for _ in range(20):
        await asyncio.sleep(0)


@asynccontextmanager
async def working(looks: Looks, count: int, keys: int) -> AsyncIterator[Workers]:
    queue = WorkQueue[ObjectKey]()
    for number in range(keys):
        queue.add(key(number))
    workers = Workers(queue, looks.look, count)
    task = asyncio.create_task(workers.run())
    try:
        yield workers
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_so_many_are_looked_at_at_the_same_time() -> None:
    looks = Looks()
    async with working(looks, 2, keys=5):
        await settle()
        assert len(looks.begun) == 2
        looks.may_end.set()
        await until(lambda: len(looks.ended) == 5)


async def test_more_workers_begin_at_once() -> None:
    looks = Looks()
    async with working(looks, 1, keys=5) as workers:
        await until(lambda: len(looks.begun) == 1)
        workers.resize(3)
        await until(lambda: len(looks.begun) == 3)
        await settle()
        assert len(looks.begun) == 3


async def test_fewer_workers_end_after_what_they_are_at() -> None:
    looks = Looks()
    async with working(looks, 3, keys=4) as workers:
        await until(lambda: len(looks.begun) == 3)
        workers.resize(1)
        await settle()
        assert looks.ended == []
        looks.may_end.set()
        await until(lambda: len(looks.ended) == 4)
        looks.may_end.clear()


async def test_idle_workers_go_at_once_and_lose_no_key() -> None:
    looks, queue = Looks(), WorkQueue[ObjectKey]()
    workers = Workers(queue, looks.look, 5)
    task = asyncio.create_task(workers.run())
    await settle()
    workers.resize(1)
    for number in range(3):
        queue.add(key(number))
    await settle()
    assert len(looks.begun) == 1
    looks.may_end.set()
    await until(lambda: len(looks.ended) == 3)
    task.cancel()
    await asyncio.wait([task])
