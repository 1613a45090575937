"""A relay in front of an API server, which a test interrupts and restores."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit


class Relay:
    """Copies the bytes of connections to another port of this machine.

    Args:
        target: The port of the server.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.port = 0

    async def open(self) -> None:
        """Accept connections; after an interruption, at the same port."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Close all connections, and refuse new ones."""
        if self._server is not None:
            self._server.close()
        await self.cut()

    async def cut(self) -> None:
        """Close all connections, and accept new ones."""
        connections = list(self._connections)
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        far_writer = None
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
            copies = [asyncio.create_task(_copy(reader, far_writer)), asyncio.create_task(_copy(far_reader, writer))]
            try:
                await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for copy in copies:
                    copy.cancel()
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self._connections.discard(task)
            for each in (writer, far_writer):
                if each is not None:
                    each.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def serve_relay(kubeconfig: Mapping[str, Any]) -> AsyncIterator[tuple[Relay, dict[str, Any]]]:
    """Run a relay for the server of a kubeconfig, and yield it with a kubeconfig for its address."""
    (entry,) = kubeconfig["clusters"]
    address = urlsplit(entry["cluster"]["server"])
    assert address.port is not None
    relay = Relay(address.port)
    await relay.open()
    server = f"{address.scheme}://127.0.0.1:{relay.port}"
    try:
        yield relay, {**kubeconfig, "clusters": [{**entry, "cluster": {**entry["cluster"], "server": server}}]}
    finally:
        await relay.close()
