"""The types of the local API server equal those of the real one, and its missing kinds are known."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from local_kubernetes.api.kinds import missing_features

from contract.conftest import REAL_SERVER_IS_GIVEN
from contract.servers import run_local_server
from contract.types import collect_types, read_stored, store
from control_plane import Server

pytestmark = pytest.mark.skipif(not REAL_SERVER_IS_GIVEN, reason="there is no real API server: see `make contract`")


async def test_built_in_kinds_have_the_fields_that_the_real_server_has(
    real_server: Server, request: pytest.FixtureRequest
) -> None:
    async with connect(real_server) as session:
        types = collect_types((await answer(session, "/openapi/v2"))["definitions"])
    if request.config.getoption("--record", default=False):
        store(types)
    assert types == read_stored()


async def test_every_resource_of_the_real_server_is_served_or_known_to_be_absent(real_server: Server) -> None:
    async with run_local_server() as server, connect(server) as session:
        served = await list_resources(session)
    async with connect(real_server) as session:
        real = await list_resources(session)
    known = {(group, plural) for group, plurals in missing_features.RESOURCES.items() for plural in plurals.split()}
    assert known <= real
    assert {(group, name) for group, name in real - served if (group, name.partition("/")[0]) not in known} <= {
        ("", f"{plural}/{name}") for plural, names in missing_features.SUBRESOURCES.items() for name in names.split()
    }


@asynccontextmanager
async def connect(server: Server) -> AsyncIterator[aiohttp.ClientSession]:
    """A session with a server."""
    headers = {"Authorization": f"Bearer {server.token}"} if server.token else {}
    connector = aiohttp.TCPConnector(ssl=server.tls) if server.tls else aiohttp.TCPConnector()
    async with aiohttp.ClientSession(server.url, connector=connector, headers=headers) as session:
        yield session


async def answer(session: aiohttp.ClientSession, path: str) -> Any:
    async with session.get(path) as reply:
        return await reply.json()


async def list_resources(session: aiohttp.ClientSession) -> set[tuple[str, str]]:
    """Return group and name of each built-in resource and subresource, in the preferred version."""
    versions = [group["preferredVersion"]["groupVersion"] for group in (await answer(session, "/apis"))["groups"]]
    found = {("", item["name"]) for item in (await answer(session, "/api/v1"))["resources"]}
    for version in versions:
        group = version.partition("/")[0]
        if group.endswith(".k8s.io") or "." not in group:
            found |= {(group, item["name"]) for item in (await answer(session, f"/apis/{version}"))["resources"]}
    return found
