import asyncio

from airflow_provider_spark_operator.follow.watching.probe import Probe
from airflow_provider_spark_operator.kube.errors import Unreachable


async def test_calls_during_a_request_share_the_next_one() -> None:
    probe, is_answered = Probe(), asyncio.Event()
    asked: list[int] = []

    async def ask() -> None:
        asked.append(len(asked))
        await is_answered.wait()

    first = asyncio.create_task(probe.run(ask))
    await asyncio.sleep(0)
    later = [asyncio.create_task(probe.run(ask)) for _ in range(3)]
    await asyncio.sleep(0)
    is_answered.set()
    await asyncio.gather(first, *later)
    assert asked == [0, 1]


async def test_failed_request_ends_the_wait_of_all_that_share_it() -> None:
    probe = Probe()
    asked: list[int] = []

    async def ask() -> None:
        asked.append(len(asked))
        await asyncio.sleep(0)
        raise Unreachable(None, "Unreachable", "no answer")

    await asyncio.gather(*(probe.run(ask) for _ in range(3)))
    assert asked == [0, 1]
