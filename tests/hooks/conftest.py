"""The tests of this folder wait: their event loops have a fast clock."""

from tests.fast_clock import fast_clock, pytest_asyncio_loop_factories

__all__ = ["fast_clock", "pytest_asyncio_loop_factories"]
