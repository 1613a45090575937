"""The logs of several pods in one stream."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from airflow_provider_spark_operator.follow.logs.attempt_logs import PodLine, merge_lines
from airflow_provider_spark_operator.kube.errors import Gone

DEADLINE = 30


class Stream:
    """A log whose end a test observes.

    Attributes:
        is_closed: Whether the stream was closed or has ended.
    """

    def __init__(self, pod: str, number: int, error: Exception | None = None, *, is_endless: bool = False) -> None:
        self.is_closed = False
        self._lines = [PodLine(pod, str(each)) for each in range(number)]
        self._error = error
        self._is_endless = is_endless

    async def read(self) -> AsyncGenerator[PodLine, None]:
        try:
            for line in self._lines:
                yield line
            if self._error is not None:
                raise self._error
            if self._is_endless:
                await asyncio.Event().wait()
        finally:
            self.is_closed = True


async def test_lines_of_all_streams_are_yielded_in_the_order_of_each() -> None:
    streams = [Stream("a", 3000), Stream("b", 2)]
    async with asyncio.timeout(DEADLINE), aclosing(merge_lines(*(each.read() for each in streams))) as lines:
        merged = [line async for line in lines]
    for pod, number in (("a", 3000), ("b", 2)):
        assert [line.text for line in merged if line.pod == pod] == [str(each) for each in range(number)]


async def test_failed_stream_ends_the_others() -> None:
    streams = [Stream("a", 1, Gone(410, "Gone", "expired")), Stream("b", 1, is_endless=True)]
    async with asyncio.timeout(DEADLINE), aclosing(merge_lines(*(each.read() for each in streams))) as lines:
        with pytest.raises(Gone):
            [line async for line in lines]
    assert [each.is_closed for each in streams] == [True, True]


async def test_reader_that_stops_closes_streams_that_wait_for_space() -> None:
    streams = [Stream("a", 5000), Stream("b", 5000)]
    async with asyncio.timeout(DEADLINE), aclosing(merge_lines(*(each.read() for each in streams))) as lines:
        await anext(lines)
    assert [each.is_closed for each in streams] == [True, True]
