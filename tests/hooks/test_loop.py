import asyncio
import signal
import threading
from collections.abc import AsyncGenerator, Generator
from typing import cast

import pytest

from airflow_provider_spark_operator.hooks.loop import LoopThread


class Interrupted(BaseException):
    pass


async def identify() -> threading.Thread:
    return threading.current_thread()


async def forever(ended: threading.Event) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        ended.set()


def test_coroutine_runs_outside_the_main_thread() -> None:
    with LoopThread() as loop:
        assert loop.run(identify()) is not threading.current_thread()


def test_exception_reaches_the_caller() -> None:
    async def fail() -> None:
        raise LookupError("no such thing")

    with LoopThread() as loop, pytest.raises(LookupError, match="no such thing"):
        loop.run(fail())


def test_timeout_cancels_the_coroutine() -> None:
    ended = threading.Event()
    with LoopThread() as loop:
        with pytest.raises(TimeoutError):
            loop.run(forever(ended), timeout=0.01)
        assert ended.wait(10)


def test_exception_in_signal_handler_ends_the_wait_and_cancels_the_coroutine() -> None:
    def interrupt(signal_number: int, frame: object) -> None:
        raise Interrupted

    previous = signal.signal(signal.SIGUSR1, interrupt)
    ended = threading.Event()
    main_thread = threading.main_thread().ident
    assert main_thread is not None
    try:
        with LoopThread() as loop:
            timer = threading.Timer(0.05, lambda: signal.pthread_kill(main_thread, signal.SIGUSR1))
            timer.start()
            with pytest.raises(Interrupted):
                loop.run(forever(ended))
            assert ended.wait(10)
            timer.join()
    finally:
        signal.signal(signal.SIGUSR1, previous)


def test_running_coroutines_are_cancelled_at_the_end() -> None:
    ended = threading.Event()

    async def leave_a_task_behind() -> asyncio.Task[None]:
        task = asyncio.create_task(forever(ended))
        await asyncio.sleep(0)
        return task

    with LoopThread() as loop:
        task = loop.run(leave_a_task_behind())
    assert ended.is_set()
    assert task.cancelled()


async def count(last: int, ended: threading.Event) -> AsyncGenerator[int, None]:
    try:
        for number in range(last):
            yield number
    finally:
        ended.set()


def test_values_of_a_generator_arrive_in_order() -> None:
    with LoopThread() as loop:
        assert list(loop.iterate(count(5000, threading.Event()))) == list(range(5000))


def test_generator_is_closed_when_the_consumer_stops() -> None:
    ended = threading.Event()
    with LoopThread() as loop:
        values = loop.iterate(count(10**9, ended))
        assert next(values) == 0
        cast("Generator[int, None, None]", values).close()
        assert ended.is_set()


def test_error_of_a_generator_arrives_after_its_values() -> None:
    async def fail() -> AsyncGenerator[int, None]:
        yield 1
        raise LookupError("no more")

    with LoopThread() as loop:
        values = loop.iterate(fail())
        assert next(values) == 1
        with pytest.raises(LookupError, match="no more"):
            next(values)


def test_consumer_can_stop_after_the_end_of_the_loop() -> None:
    with LoopThread() as loop:
        values = loop.iterate(count(10**9, threading.Event()))
        assert next(values) == 0
    cast("Generator[int, None, None]", values).close()
