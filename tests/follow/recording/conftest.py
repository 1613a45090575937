"""The tests of this folder have event loops with a virtual clock: where nothing else happens, time passes at once."""

import asyncio
import selectors
from collections.abc import Callable, Mapping

import pytest


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock moves only when the loop has nothing else to do."""

    def __init__(self) -> None:
        self._now = 1000.0
        super().__init__(_VirtualSelector(self._pass))

    def time(self) -> float:
        return self._now

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - of asyncio
        """Wait for the threads without a limit, which the virtual clock would reach at once."""
        await super().shutdown_default_executor()

    def _pass(self, seconds: float) -> None:
        self._now += seconds


class _VirtualSelector(selectors.DefaultSelector):
    def __init__(self, wait: Callable[[float], None]) -> None:
        super().__init__()
        self._wait = wait

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:  # another thread ends the wait
            return super().select(None)
        found = super().select(0)
        if not found:
            self._wait(timeout)
        return found


@pytest.hookimpl(optionalhook=True)  # the pytest-asyncio of older versions of Airflow does not have it
def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Give the event loops of asynchronous tests a virtual clock."""
    return {"virtual": VirtualLoop}
