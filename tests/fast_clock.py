"""Event loops whose clock runs faster, so that pauses and time limits of seconds pass in a fraction of a second.

A folder whose tests wait imports `fast_clock` and `pytest_asyncio_loop_factories` into its `conftest.py`. Nothing but
the event loops is faster: requests, threads and processes take as long as they do.
"""

import asyncio
import selectors
from collections.abc import Callable, Mapping
from typing import Final

import pytest

SPEED: Final = 10
"""Seconds of the clock in a real second. A faster clock would let requests of a busy machine exceed their limits."""


class FastLoop(asyncio.SelectorEventLoop):
    """An event loop with a fast clock."""

    def __init__(self) -> None:
        super().__init__(_FastSelector())

    def time(self) -> float:
        return super().time() * SPEED


class _FastSelector(selectors.DefaultSelector):
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(timeout if timeout is None else timeout / SPEED)


@pytest.fixture(autouse=True)
def fast_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the event loops that the code creates a fast clock."""
    monkeypatch.setattr(asyncio, "new_event_loop", FastLoop)
    monkeypatch.setattr(asyncio.events, "new_event_loop", FastLoop)  # used by asyncio.run


@pytest.hookimpl(optionalhook=True)  # the pytest-asyncio of older versions of Airflow does not have it
def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Give the event loops of asynchronous tests a fast clock."""
    return {"fast": FastLoop}
