import asyncio
import signal
import threading

import pytest

from airflow_provider_spark_operator.triggers.loop import LoopThread


class Interrupted(BaseException):
    pass


async def identify() -> threading.Thread:
    return threading.current_thread()


async def forever(left: threading.Event) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        left.set()


def test_coroutine_runs_outside_the_main_thread() -> None:
    with LoopThread() as loop:
        assert loop.run(identify()) is not threading.current_thread()


def test_exception_reaches_the_caller() -> None:
    async def fail() -> None:
        raise LookupError("no such thing")

    with LoopThread() as loop, pytest.raises(LookupError, match="no such thing"):
        loop.run(fail())


def test_timeout_cancels_the_coroutine() -> None:
    left = threading.Event()
    with LoopThread() as loop:
        with pytest.raises(TimeoutError):
            loop.run(forever(left), timeout=0.01)
        assert left.wait(10)


def test_exception_in_signal_handler_ends_the_wait_and_cancels_the_coroutine() -> None:
    def interrupt(signal_number: int, frame: object) -> None:
        raise Interrupted

    previous = signal.signal(signal.SIGUSR1, interrupt)
    left = threading.Event()
    main_thread = threading.main_thread().ident
    assert main_thread is not None
    try:
        with LoopThread() as loop:
            timer = threading.Timer(0.05, lambda: signal.pthread_kill(main_thread, signal.SIGUSR1))
            timer.start()
            with pytest.raises(Interrupted):
                loop.run(forever(left))
            assert left.wait(10)
            timer.join()
    finally:
        signal.signal(signal.SIGUSR1, previous)


def test_running_coroutines_are_cancelled_at_the_end() -> None:
    left = threading.Event()

    async def leave_a_task_behind() -> asyncio.Task[None]:
        task = asyncio.create_task(forever(left))
        await asyncio.sleep(0)
        return task

    with LoopThread() as loop:
        task = loop.run(leave_a_task_behind())
    assert left.is_set()
    assert task.cancelled()
