"""Connections that check a request before it is sent."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

import aiohttp
from aiohttp.tracing import Trace

from .call import Call, RequestCheck

_check: ContextVar[Callable[[], None] | None] = ContextVar("check", default=None)


@contextmanager
def check_before_sending(check: RequestCheck | None, call: Call) -> Iterator[None]:
    """Check `call` at once, and again when the connection for its request is open.

    Opening a connection can take long, and a process can be suspended meanwhile.

    Args:
        check: Raises an exception if the request must not be sent. The request raises this exception. If None, every
            request is sent.
        call: The request that is sent inside the `with` block.
    """
    if check is None:
        yield
        return
    check(call)
    token = _check.set(partial(check, call))
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
