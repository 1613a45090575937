"""The probes of the controller: `/healthz` and `/readyz`."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from aiohttp import web

from airflow_provider_spark_operator.reconcile.serving import serving


def serve_health(
    port: int, *, is_healthy: Callable[[], bool], is_ready: Callable[[], bool]
) -> AbstractAsyncContextManager[int]:
    """Serve the probes; give the port.

    Args:
        port: 0 for a free one.
        is_healthy: whether the process is worth keeping.
        is_ready: whether it does its work.

    Raises:
        OSError: the port is taken or not permitted.
    """
    return serving(port, {"/healthz": _probe(is_healthy), "/readyz": _probe(is_ready)})


def _probe(holds: Callable[[], bool]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text="ok\n") if holds() else web.Response(status=503, text="not yet\n")

    return answer
