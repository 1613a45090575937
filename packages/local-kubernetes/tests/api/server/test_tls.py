import ssl
import stat
from pathlib import Path

import aiohttp
import pytest

from local_kubernetes.api.server.server import ApiServer
from local_kubernetes.api.server.tls import issue_identity
from local_kubernetes.api.store.registry import KindRegistry
from local_kubernetes.api.store.store import Store

from api.conftest import RecordedLogs


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_client_that_knows_the_authority_trusts_the_server(tmp_path: Path, host: str) -> None:
    identity = issue_identity(tmp_path)
    store = Store()
    server = ApiServer(store, KindRegistry(store), token="t", tls=identity.build_server_context(), logs=RecordedLogs())
    port = await server.start()
    try:
        trusting = ssl.create_default_context(cafile=identity.ca_file)
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"https://{host}:{port}/healthz", ssl=trusting) as response,
        ):
            assert await response.text() == "ok"
    finally:
        await server.stop()
        await server.stop()


def test_private_key_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    identity = issue_identity(tmp_path)
    assert stat.S_IMODE(identity.key_file.stat().st_mode) == 0o600


async def test_port_in_use_is_rejected() -> None:
    store = Store()
    first, second = (ApiServer(store, KindRegistry(store), token="t", tls=None, logs=RecordedLogs()) for _ in range(2))
    port = await first.start()
    try:
        with pytest.raises(OSError, match=str(port)):
            await second.start(port=port)
    finally:
        await first.stop()
