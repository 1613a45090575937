"""Connections that check a request before it is sent."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import aiohttp
from aiohttp.tracing import Trace

_check: ContextVar[Callable[[], None] | None] = ContextVar("check", default=None)


@contextmanager
def check_before_sending(check: Callable[[], None]) -> Iterator[None]:
    """Call `check` before each request inside the `with` block is sent, when its connection is open.

    Opening a connection can take long, and a process can be suspended meanwhile.

    Args:
        check: Raises an exception if the request must not be sent. The request raises this exception.
    """
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


class CheckedConnector(aiohttp.TCPConnector):
    """A connector that supports `check_before_sending`."""

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - the signature of aiohttp
    ) -> aiohttp.connector.Connection:
        """Return an open connection for a request that the check permits."""
        connection = await super().connect(req, traces, timeout)
        check = _check.get()
        if check is not None:
            try:
                check()
            except BaseException:
                connection.release()
                raise
        return connection
