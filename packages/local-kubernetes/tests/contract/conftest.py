"""The servers, and the conversation of each behaviour with one of them."""

import os
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

import aiohttp
import pytest

from contract.conversation import Conversation
from contract.documents import DEFINITIONS, build_thing_definition
from contract.servers import read_server, run_local_server
from control_plane import Server, start_server

KUBECONFIG = "CONTRACT_KUBECONFIG"
ASSETS = "KUBEBUILDER_ASSETS"
REAL_SERVER_IS_GIVEN = bool(os.environ.get(KUBECONFIG) or os.environ.get(ASSETS))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--record`, which records the answers of the real server for runs without one."""
    parser.addoption("--record", action="store_true", help="record what the real API server answers")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests of a server on the real one first, if there is one, then on the local one."""
    if "server" in metafunc.fixturenames:
        servers = ["kubernetes", "local"] if REAL_SERVER_IS_GIVEN else ["local"]
        metafunc.parametrize("server", servers, indirect=True)


@pytest.fixture(scope="session")
def real_server() -> Iterator[Server]:
    """The real API server from the environment; started here if the environment names only its programs."""
    kubeconfig = os.environ.get(KUBECONFIG)
    running = nullcontext(read_server(Path(kubeconfig))) if kubeconfig else start_server(Path(os.environ[ASSETS]))
    with running as server:
        yield server


@pytest.fixture
async def server(request: pytest.FixtureRequest) -> AsyncIterator[Server]:
    """The server under test."""
    if request.param == "kubernetes":
        yield request.getfixturevalue("real_server")
        return
    async with run_local_server() as server:
        yield server


@pytest.fixture
async def conversation(server: Server, request: pytest.FixtureRequest) -> AsyncIterator[Conversation]:
    """A conversation in a new namespace that is deleted afterwards; `things.example.com` are served."""
    behaviour = request.node.callspec.params.get("behaviour")
    async with open_conversation(
        server, ignores_messages=bool(behaviour and behaviour.ignores_messages)
    ) as conversation:
        yield conversation


@asynccontextmanager
async def open_conversation(server: Server, *, ignores_messages: bool = False) -> AsyncIterator[Conversation]:
    """Open a conversation with a server, in a namespace that is deleted at the end."""
    namespace = f"contract-{secrets.token_hex(4)}"
    connector = aiohttp.TCPConnector(ssl=server.tls) if server.tls else aiohttp.TCPConnector()
    async with aiohttp.ClientSession(connector=connector) as session:
        conversation = Conversation(session, server.url, server.token, namespace, ignores_messages=ignores_messages)
        await _prepare(conversation)
        try:
            yield conversation
        finally:
            await conversation.ask("DELETE", f"/api/v1/namespaces/{namespace}")


async def _prepare(conversation: Conversation) -> None:
    namespace = {"metadata": {"name": conversation.namespace}}
    await conversation.create("/api/v1/namespaces", namespace)
    account = {"metadata": {"name": "default"}}
    reply = await conversation.ask("POST", conversation.path("serviceaccounts"), account)
    assert reply.status in (201, 409), reply.body
    reply = await conversation.ask("POST", DEFINITIONS, build_thing_definition())
    assert reply.status in (201, 409), reply.body
    await conversation.until(conversation.path("things", "example.com/v1"), lambda reply: reply.status == 200)
