import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_spark_operator.reconcile.loop.queue import WorkQueue

DEADLINE = 10


@pytest.fixture
async def queue() -> AsyncIterator[WorkQueue[str]]:
    queue: WorkQueue[str] = WorkQueue(first_retry=0.001, longest_retry=0.004)
    yield queue
    queue.clear()


async def take(queue: WorkQueue[str]) -> str:
    async with asyncio.timeout(DEADLINE):
        return await queue.take()


async def test_key_added_several_times_is_returned_once(queue: WorkQueue[str]) -> None:
    for _ in range(3):
        queue.add("a")
    assert await take(queue) == "a"
    assert len(queue) == 0


async def test_keys_are_returned_in_the_order_of_addition(queue: WorkQueue[str]) -> None:
    for key in "cab":
        queue.add(key)
    assert [await take(queue) for _ in range(3)] == ["c", "a", "b"]


async def test_active_key_is_not_returned_to_a_second_worker(queue: WorkQueue[str]) -> None:
    queue.add("a")
    await take(queue)
    queue.add("a")
    queue.add("b")
    assert await take(queue) == "b"
    assert len(queue) == 0


async def test_key_added_while_active_is_returned_again_when_done(queue: WorkQueue[str]) -> None:
    queue.add("a")
    await take(queue)
    queue.add("a")
    queue.release("a")
    assert await take(queue) == "a"
    queue.release("a")
    assert len(queue) == 0


async def test_waiting_worker_is_woken(queue: WorkQueue[str]) -> None:
    worker = asyncio.create_task(take(queue))
    await asyncio.sleep(0)
    queue.add("a")
    assert await worker == "a"


async def test_every_waiting_worker_gets_its_own_key(queue: WorkQueue[str]) -> None:
    workers = [asyncio.create_task(take(queue)) for _ in range(3)]
    await asyncio.sleep(0)
    for key in "abc":
        queue.add(key)
    assert sorted(await asyncio.gather(*workers)) == ["a", "b", "c"]


async def test_key_of_a_worker_cancelled_after_its_wake_up_goes_to_another_worker(queue: WorkQueue[str]) -> None:
    first = asyncio.create_task(queue.take())
    second = asyncio.create_task(take(queue))
    await asyncio.sleep(0)
    queue.add("a")  # wakes the first worker
    first.cancel()
    assert await second == "a"
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_delayed_key_is_returned_after_the_delay(queue: WorkQueue[str]) -> None:
    queue.add_after("a", 0.001)
    assert len(queue) == 0
    assert await take(queue) == "a"


async def test_negative_delay_adds_the_key_immediately(queue: WorkQueue[str]) -> None:
    queue.add_after("a", -1)
    assert len(queue) == 1


async def test_later_delay_replaces_an_earlier_one(queue: WorkQueue[str]) -> None:
    queue.add_after("a", 0.001)
    queue.add_after("a", 3600)
    queue.add_after("b", 0.002)
    assert await take(queue) == "b"
    assert len(queue) == 0


async def test_get_cancels_the_timer_of_the_key(queue: WorkQueue[str]) -> None:
    queue.add_after("a", 0.002)
    queue.add("a")
    await take(queue)
    queue.release("a")
    queue.add_after("b", 0.004)
    assert await take(queue) == "b"
    assert len(queue) == 0


async def test_failures_in_a_row_double_the_delay_up_to_the_limit(queue: WorkQueue[str]) -> None:
    assert [queue.retry("a") for _ in range(4)] == [0.001, 0.002, 0.004, 0.004]
    assert queue.retry("b") == 0.001


async def test_success_resets_the_backoff(queue: WorkQueue[str]) -> None:
    queue.retry("a")
    queue.forget_failures("a")
    assert queue.retry("a") == 0.001


async def test_retry_waits_for_the_requested_minimum(queue: WorkQueue[str]) -> None:
    assert queue.retry("a", at_least=60) == 60


async def test_discard_cancels_the_timer_of_the_key(queue: WorkQueue[str]) -> None:
    queue.add_after("a", 0.001)
    queue.discard("a")
    queue.add_after("b", 0.002)
    assert await take(queue) == "b"
    assert len(queue) == 0


async def test_oldest_age_is_the_age_of_the_next_key() -> None:
    now = 0.0
    queue: WorkQueue[str] = WorkQueue(clock=lambda: now)
    assert queue.oldest_age == 0
    queue.add("a")
    now = 2.0
    queue.add("b")
    queue.add("a")
    now = 5.0
    assert queue.oldest_age == 5
    await take(queue)
    assert queue.oldest_age == 3


async def test_age_of_a_key_starts_when_it_is_ready() -> None:
    now = 0.0
    queue: WorkQueue[str] = WorkQueue(clock=lambda: now)
    queue.add("a")
    await take(queue)
    queue.add("a")
    now = 4.0
    assert queue.oldest_age == 0
    queue.release("a")
    now = 5.0
    assert queue.oldest_age == 1


@given(st.lists(st.tuples(st.sampled_from(["add", "get", "done"]), st.sampled_from("abc"))))
def test_any_order_of_calls_returns_each_key_once(calls: list[tuple[str, str]]) -> None:
    async def play() -> None:
        queue: WorkQueue[str] = WorkQueue()
        held: set[str] = set()
        owed: set[str] = set()
        for call, key in calls:
            if call == "add":
                queue.add(key)
                owed.add(key)
            elif call == "done" and key in held:
                held.discard(key)
                queue.release(key)
            elif call == "get" and len(queue):
                taken = await queue.take()
                assert taken not in held
                held.add(taken)
                owed.discard(taken)
        for key in sorted(held):
            queue.release(key)
        assert {await queue.take() for _ in range(len(queue))} == owed

    asyncio.run(play())


async def test_groups_take_turns() -> None:
    queue: WorkQueue[str] = WorkQueue(group_of=lambda key: key[0])
    for number in range(50):
        queue.add(f"a{number}")
    queue.add("b0")
    queue.add("b1")
    assert [await take(queue) for _ in range(5)] == ["a0", "b0", "a1", "b1", "a2"]


async def test_group_with_fewest_keys_in_progress_is_next() -> None:
    queue: WorkQueue[str] = WorkQueue(group_of=lambda key: key[0])
    for key in ("a0", "a1", "a2", "a3"):
        queue.add(key)
    for _ in range(3):
        await take(queue)
    queue.add("b0")
    queue.add("b1")
    assert [await take(queue) for _ in range(2)] == ["b0", "b1"]
    queue.release("b0")
    queue.add("b2")
    assert await take(queue) == "b2"


async def test_spare_worker_takes_only_keys_of_idle_groups() -> None:
    queue: WorkQueue[str] = WorkQueue(group_of=lambda key: key[0])
    spare = asyncio.create_task(queue.take_of_idle_group())
    await asyncio.sleep(0)
    queue.add("a0")
    assert await spare == "a0"
    spare = asyncio.create_task(queue.take_of_idle_group())
    queue.add("a1")
    await asyncio.sleep(0)
    queue.add("b0")
    assert await spare == "b0"
    assert await take(queue) == "a1"
