"""Requests to a port of a pod, which the API server forwards."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from api.builders import PODS, Api, build_pod
from api.conftest import RecordedLogs


async def _answer(request: web.Request) -> web.Response:
    if request.path == "/moved":
        raise web.HTTPFound("/jobs/")
    assert "Authorization" not in request.headers  # the token of the API server is not for programs
    return web.json_response({"path": request.raw_path}, status=418 if request.path == "/odd" else 200)


@pytest.fixture
async def port() -> AsyncIterator[int]:
    application = web.Application()
    application.router.add_get("/{path:.*}", _answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@pytest.fixture
async def running(api: Api, logs: RecordedLogs, port: int) -> Api:
    """Return a server with the pod `it`, whose port 4040 is served on another one of this machine."""
    pod = build_pod("it")
    pod["spec"]["containers"][0]["ports"] = [{"containerPort": 4040}]
    await api.post(PODS, pod)
    await api.patch(f"{PODS}/it/status", {"status": {"podIP": "127.0.0.1"}})
    logs.ports[("default", "it", 4040)] = port
    return api


@pytest.mark.parametrize("name", ["it", "it:4040", "http:it:4040", ":it:4040"])
async def test_request_is_forwarded_with_its_path_and_query(running: Api, name: str) -> None:
    answer = await running.get(f"{PODS}/{name}/proxy/api/v1/a%20b/?x=1%2B1&x=2")
    assert (answer.status, answer.body) == (200, {"path": "/api/v1/a%20b/?x=1%2B1&x=2"})


async def test_status_of_the_program_is_passed_on(running: Api) -> None:
    assert (await running.get(f"{PODS}/it/proxy/odd")).status == 418


@pytest.mark.parametrize(
    ("path", "refusal"),
    [
        ("missing:4040/proxy/", (404, "NotFound")),
        ("it:a:b:c/proxy/", (400, "BadRequest")),
        ("https:it:4040/proxy/", (501, "NotImplemented")),
        ("waiting:4040/proxy/", (400, "BadRequest")),
        ("it:1/proxy/", (503, "ServiceUnavailable")),
    ],
)
async def test_request_that_cannot_be_forwarded_is_refused(running: Api, path: str, refusal: tuple[int, str]) -> None:
    await running.post(PODS, build_pod("waiting"))
    assert (await running.get(f"{PODS}/{path}")).refusal == refusal


async def test_other_methods_are_refused(running: Api) -> None:
    assert (await running.post(f"{PODS}/it/proxy/kill", {})).refusal == (405, "MethodNotAllowed")
