"""The types that the local API server has are those of the real one."""

from typing import TYPE_CHECKING

import aiohttp
import pytest

from tests.contract.conftest import REAL_SERVER_IS_GIVEN
from tests.contract.types import store, stored, types_of

if TYPE_CHECKING:
    from tests.control_plane import Server


@pytest.mark.skipif(not REAL_SERVER_IS_GIVEN, reason="there is no real API server: see `make contract`")
async def test_built_in_kinds_have_the_fields_that_the_real_server_has(request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue("real_server")
    headers = {"Authorization": f"Bearer {server.token}"} if server.token else {}
    connector = aiohttp.TCPConnector(ssl=server.tls) if server.tls else aiohttp.TCPConnector()
    async with (
        aiohttp.ClientSession(connector=connector, headers=headers) as session,
        session.get(f"{server.url}/openapi/v2") as reply,
    ):
        types = types_of((await reply.json())["definitions"])
    if request.config.getoption("--record", default=False):
        store(types)
    assert types == stored()
