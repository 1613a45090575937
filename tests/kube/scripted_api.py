"""A server with scripted answers, which shows the client faults that a real server rarely has."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.failed_requests import RequestRetryPolicy

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
SHORT_PAUSES = RequestRetryPolicy(first=0.001)


@dataclass
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    peer: Any


@dataclass
class ScriptedApi:
    """Answers requests in the order of the script, and further requests with 500.

    If requests race, each verb (`get`, `list`, `watch`, `log`) can have its own script.
    """

    answers: list[Answer] = field(default_factory=list)
    by_verb: dict[str, list[Answer]] = field(default_factory=dict)
    requests: list[Seen] = field(default_factory=list)
    url: str = ""

    def script(self, *answers: Answer, verb: str | None = None) -> None:
        (self.answers if verb is None else self.by_verb.setdefault(verb, [])).extend(answers)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        text = await request.text()
        self.requests.append(
            Seen(
                request.method,
                request.path,
                dict(request.query),
                dict(request.headers),
                json.loads(text) if text else None,
                request.transport and request.transport.get_extra_info("peername"),
            )
        )
        answers = self.by_verb.get(get_verb(request), self.answers)
        if not answers:
            return web.json_response(build_status(500, "the script is over"), status=500)
        return await answers.pop(0)(request)


def get_verb(request: web.BaseRequest) -> str:
    if "watch" in request.query:
        return "watch"
    if request.path.endswith("/log"):
        return "log"
    return "list" if request.path.endswith("s") and request.method == "GET" else request.method.lower()


@asynccontextmanager
async def serve_api(ssl_context: Any = None) -> AsyncIterator[ScriptedApi]:
    api = ScriptedApi()
    runner = web.ServerRunner(web.Server(api.handle), shutdown_timeout=0.01)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=ssl_context)
    await site.start()
    port = runner.addresses[0][1]
    api.url = f"{'https' if ssl_context else 'http'}://127.0.0.1:{port}"
    try:
        yield api
    finally:
        await runner.cleanup()


def build_kubeconfig(url: str, user: dict[str, Any] | None = None, **cluster: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "clusters": [{"name": "c", "cluster": {"server": url, **cluster}}],
        "users": [{"name": "u", "user": {"token": "secret-token"} if user is None else user}],
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u", "namespace": "jobs"}}],
    }


async def open_client_of(api: ScriptedApi, user: dict[str, Any] | None = None) -> KubeClient:
    return await open_client(ClusterAccess(kubeconfig_document=build_kubeconfig(api.url, user)), retry=SHORT_PAUSES)


def build_status(code: int, message: str = "", reason: str = "") -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
    }


def answer(document: Any, status: int = 200, **headers: str) -> Answer:
    async def respond(request: web.BaseRequest) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.json_response(document, status=status, headers=named)

    return respond


def refuse(code: int, message: str = "", reason: str = "", **headers: str) -> Answer:
    return answer(build_status(code, message, reason), code, **headers)


def deny(verb: str, resource: str, group: str = "") -> Answer:
    """Reject a request like the API server, if no role permits it in the namespace `jobs`."""
    what = f'cannot {verb} resource "{resource}" in API group "{group}" in the namespace "jobs"'
    return refuse(403, f'{resource} is forbidden: User "somebody" {what}', "Forbidden")


def answer_text(text: str | bytes, status: int = 200) -> Answer:
    async def respond(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=text if isinstance(text, bytes) else text.encode(), status=status)

    return respond


def answer_page(*items: dict[str, Any], version: str = "10", token: str = "") -> Answer:
    return answer({"kind": "List", "metadata": {"resourceVersion": version, "continue": token}, "items": items})


def hang() -> Answer:
    async def respond(request: web.BaseRequest) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    return respond


def hang_up() -> Answer:
    """Drop the connection without an answer."""

    async def respond(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    return respond


def stream(*lines: Any, cut: bool = False, hold: bool = False) -> Answer:
    """Stream lines (objects as JSON), then end the answer, interrupt the connection or keep it open."""

    async def respond(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for line in lines:
            await response.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
        if hold:
            await asyncio.Event().wait()
        if cut:
            assert request.transport is not None
            request.transport.close()
        else:
            await response.write_eof()
        return response

    return respond


def build_event(kind: str, name: str = "", version: str = "1", **metadata: Any) -> dict[str, Any]:
    item = {"metadata": {"name": name, "namespace": "jobs", "resourceVersion": version, **metadata}}
    return {"type": kind, "object": item}


def build_error_event(code: int, reason: str) -> dict[str, Any]:
    return {"type": "ERROR", "object": build_status(code, f"{reason} happened", reason)}
