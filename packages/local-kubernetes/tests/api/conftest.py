"""A server with the namespace `default`, and a client for it."""

from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field
from typing import Any

import aiohttp
import pytest

from local_kubernetes.api.kinds.kinds import NAMESPACES
from local_kubernetes.api.requests.requests import WriteOptions
from local_kubernetes.api.server.podlogs import LogOptions
from local_kubernetes.api.server.resources import create
from local_kubernetes.api.server.server import ApiServer
from local_kubernetes.api.store.registry import KindRegistry
from local_kubernetes.api.store.store import Store

from api.builders import DEFINITIONS, Api, build_definition

TOKEN = "s3cret"


@dataclass
class RecordedLogs:
    """A source of logs that returns the options of the request."""

    pieces: list[bytes] = field(default_factory=lambda: [b"one\n", b"two\n"])
    asked: list[tuple[str, str, str, dict[str, Any]]] = field(default_factory=list)
    ports: dict[tuple[str, str, int], int] = field(default_factory=dict)

    async def read(self, namespace: str, pod: str, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        self.asked.append((namespace, pod, container, asdict(options)))

        async def read_pieces() -> AsyncIterator[bytes]:
            for piece in self.pieces:
                yield piece

        return read_pieces()

    def find_port(self, namespace: str, pod: str, port: int) -> int:
        return self.ports.get((namespace, pod, port), port)


@pytest.fixture
def store() -> Store:
    return Store(history=50, queue=50)


@pytest.fixture
def logs() -> RecordedLogs:
    return RecordedLogs()


@pytest.fixture
async def api(store: Store, logs: RecordedLogs) -> AsyncIterator[Api]:
    kinds = KindRegistry(store)
    served = kinds.find("", "v1", NAMESPACES.plural)
    create(store, served, None, {"metadata": {"name": "default"}}, WriteOptions())
    server = ApiServer(store, kinds, token=TOKEN, tls=None, logs=logs, find_port=logs.find_port)
    port = await server.start()
    headers = {"Authorization": f"Bearer {TOKEN}", "User-Agent": "tests/1"}
    try:
        async with aiohttp.ClientSession(headers=headers) as session:
            yield Api(session, f"http://127.0.0.1:{port}")
    finally:
        await server.stop()


@pytest.fixture
async def things(api: Api) -> Api:
    """A client of a server that serves `things.example.com`."""
    await api.create(DEFINITIONS, build_definition())
    return api
