"""The probes of the controller: `/healthz` and `/readyz`."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from aiohttp import web

from airflow_provider_spark_operator.reconcile.http_server import serve_pages


def serve_health(
    port: int, *, is_healthy: Callable[[], bool], is_ready: Callable[[], bool]
) -> AbstractAsyncContextManager[int]:
    """Serve the probes while the body runs; yield the port.

    Args:
        port: The port; 0 for a free port.
        is_healthy: Whether the process must not be restarted.
        is_ready: Whether the process is ready to work.

    Raises:
        OSError: The port is in use or not permitted.
    """
    return serve_pages(port, {"/healthz": _build_probe(is_healthy), "/readyz": _build_probe(is_ready)})


def _build_probe(condition: Callable[[], bool]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text="ok\n") if condition() else web.Response(status=503, text="not yet\n")

    return answer
