import asyncio
import gc
import socket
import sys
import warnings
from pathlib import Path

import pytest

from local_kubernetes.api.kinds import missing_features
from local_kubernetes.api.server.server import ApiServer
from local_kubernetes.api.store.registry import KindRegistry
from local_kubernetes.api.store.store import Store

from api.builders import APPLY_PATCH, CONFIG_MAPS, PODS, Api
from api.conftest import TOKEN, RecordedLogs


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/readyz/ping", "/version"])
async def test_health_and_version_need_no_token(api: Api, path: str) -> None:
    reply = await api.get(path, Authorization="")
    assert reply.status == 200


@pytest.mark.parametrize("header", ["", "Bearer wrong", "Basic czNjcmV0", "Bearer", "s3cret"])
async def test_other_paths_need_the_token(api: Api, header: str) -> None:
    reply = await api.get(PODS, Authorization=header)
    assert reply.refusal == (401, "Unauthorized")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/api/v1/watch/namespaces/default/pods", 501),
        ("/api/v2/pods", 404),
        ("/api/v1/nothings", 404),
        ("/api/v1/pods/x", 404),
        ("/api/v1/namespaces/default/namespaces", 404),
        ("/api/v1/namespaces/default/pods//log", 404),
        ("/api/v1/namespaces/default/pods/..%2F..%2Fx", 404),
        ("/metrics", 501),
    ],
)
async def test_missing_path_returns_a_status(api: Api, path: str, code: int) -> None:
    reply = await api.get(path)
    assert (reply.status, reply.body["kind"], reply.body["code"]) == (code, "Status", code)
    assert reply.body["message"]


def _read_places() -> dict[str, str]:
    """The paths that return 501, and their names in the documentation."""
    found = {path: f"`{path}`" for path in (*missing_features.PATHS, "/api/v1/watch/namespaces/default/pods")}
    found["/api/v1/watch/namespaces/default/pods"] = "`/watch`"
    for group, plurals in missing_features.RESOURCES.items():
        for plural in plurals.split():
            found[f"/apis/{group}/v1/{plural}" if group else f"/api/v1/{plural}"] = f"`{plural}`"
    for plural, names in missing_features.SUBRESOURCES.items():
        root = f"/api/v1/{plural}" if plural in ("namespaces", "nodes") else f"/api/v1/namespaces/default/{plural}"
        found |= {f"{root}/a/{name}": f"`{plural}/{name}`" for name in names.split()}
    return found


@pytest.mark.parametrize(("path", "documented"), _read_places().items())
async def test_missing_feature_returns_501_as_documented(api: Api, path: str, documented: str) -> None:
    reply = await api.get(path)
    assert reply.refusal == (501, "NotImplemented")
    assert "is not part of the local cluster" in reply.body["message"].replace("are not", "is not")
    page = (Path(__file__).parents[5] / "docs" / "internals" / "local-kubernetes.md").read_text(encoding="utf-8")
    section = page.partition("### Missing resources")[2].partition("###")[0]
    assert documented in section


@pytest.mark.parametrize(
    ("body", "content_type", "code"),
    [
        (b'{"metadata": {"name": "a"}, "x": 1e999}', "application/json", 400),
        # From Python 3.12, this one is read; the object has no name.
        (b'{"a":' * 900 + b"1" + b"}" * 900, "application/json", 400 if sys.version_info < (3, 12) else 422),
        (b"metadata: {name: a}", "application/yaml", 415),
    ],
    ids=lambda value: str(value)[:24],
)
async def test_a_body_that_cannot_be_read_is_refused(api: Api, body: bytes, content_type: str, code: int) -> None:
    reply = await api.send("POST", CONFIG_MAPS, body, content_type)
    assert (reply.status, reply.body["kind"]) == (code, "Status")
    assert await api.names(CONFIG_MAPS) == []


async def test_applied_yaml_is_rejected_with_advice(api: Api) -> None:
    reply = await api.send("PATCH", f"{CONFIG_MAPS}/a?fieldManager=one", b"data: {x: y}", APPLY_PATCH)
    assert reply.refusal == (400, "BadRequest")
    assert "Send JSON: this server reads no YAML" in reply.body["message"]


@pytest.mark.parametrize("media_type", ["text/html", "application/yaml"])
async def test_unsupported_media_type_of_the_answer_is_rejected(api: Api, media_type: str) -> None:
    reply = await api.get(PODS, Accept=media_type)
    assert reply.refusal == (406, "NotAcceptable")


async def test_server_survives_malformed_requests(api: Api) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        await api.send(method, PODS + "/%00%ff", b"\x00\x01", "application/json")
    assert (await api.get(PODS)).status == 200


async def test_stop_closes_a_connection_that_was_just_accepted(store: Store) -> None:
    server = ApiServer(store, KindRegistry(store), token=TOKEN, tls=None, logs=RecordedLogs())
    port = await server.start()
    with socket.create_connection(("127.0.0.1", port)), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # the event loop has accepted the connection, but not set it up
        await server.stop()
        gc.collect()
    assert [str(one.message) for one in caught] == []


async def test_client_that_leaves_before_the_answer_is_no_error(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    server = ApiServer(store, KindRegistry(store), token=TOKEN, tls=None, logs=RecordedLogs())
    port = await server.start()
    request = f"GET {PODS}?watch=true HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
    try:
        # The number of steps of the event loop after which the server notices the end of the connection is unknown.
        for steps in range(12):
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(request)
                for _ in range(steps):
                    await asyncio.sleep(0)
                client.shutdown(socket.SHUT_WR)
                client.setblocking(False)
                async with asyncio.timeout(10):
                    while await asyncio.get_running_loop().sock_recv(client, 4096):
                        pass
    finally:
        await server.stop()
    assert caplog.messages == []
