"""A small server that answers as the public REST API of Airflow 3.3 does. The shapes of its answers are recorded."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias
from urllib.parse import quote

from aiohttp import web

TOKEN = "a-token"
Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Airflow:
    """The content of the server, which a test changes, and what it has been asked for.

    Attributes:
        values: The recorded values by DAG, run, task and map index; a number is the status of a refusal.
        ages: How long ago a value was stored; now by default.
        key: The key of the values.
        version: The version in its answers. Before 3.3, it does not sort.
        answer: Answers instead of the API, if set.
        requests: The paths with their queries.
        most: The largest number of requests at once.
    """

    values: dict[tuple[str, str, str, int], object] = field(default_factory=dict)
    ages: dict[tuple[str, str, str, int], timedelta] = field(default_factory=dict)
    version: str = "3.3.2"
    key: str = "spark_run"
    answer: Handler | None = None
    requests: list[str] = field(default_factory=list)
    most: int = 0
    address: str = ""
    _open: int = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request.raw_path)
        self._open += 1
        self.most = max(self.most, self._open)
        try:
            await asyncio.sleep(0.002)
            if self.answer:
                return await self.answer(request)
            return self._answer(request)
        finally:
            self._open -= 1

    def _answer(self, request: web.Request) -> web.Response:
        if request.path == "/air/api/v2/version":
            return web.json_response({"version": self.version, "git_version": None})
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return web.json_response({"detail": "Invalid JWT token"}, status=403)
        parts = request.raw_path.partition("?")[0].removeprefix("/air/api/v2/dags/").split("/")
        if len(parts) == 6:
            return web.json_response(self._list(parts[0], request))
        for key, value in self.values.items():
            dag, run, task, index = key
            path = [quote(dag), "dagRuns", quote(run, safe=""), "taskInstances", task, "xcomEntries", self.key]
            if parts == path and request.query["map_index"] == str(index):
                if isinstance(value, int):
                    return web.json_response({"detail": "Forbidden"}, status=value)
                return web.json_response(self._describe(key) | {"value": value})
        return web.json_response({"detail": f"XCom entry with key: `{self.key}` not found"}, status=404)

    def _list(self, dag: str, request: web.Request) -> dict[str, Any]:
        assert request.query["xcom_key"] == self.key
        assert request.query["order_by"] == "-timestamp"
        keys = [key for key in self.values if dag in ("~", quote(key[0]))]
        if self.version >= "3.3":
            keys.sort(key=lambda key: self.ages.get(key, timedelta()))
        first = int(request.query["offset"])
        page = keys[first : first + int(request.query["limit"])]
        return {"xcom_entries": [self._describe(key) for key in page], "total_entries": len(keys)}

    def _describe(self, key: tuple[str, str, str, int]) -> dict[str, Any]:
        dag, run, task, index = key
        time = datetime.now(UTC) - self.ages.get(key, timedelta())
        return {
            "key": self.key,
            "timestamp": time.isoformat().replace("+00:00", "Z"),
            "logical_date": None,
            "map_index": index,
            "task_id": task,
            "dag_id": dag,
            "run_id": run,
            "dag_display_name": dag,
            "task_display_name": task,
            "run_after": "2026-11-27T08:00:00Z",
        }


@contextmanager
def serve(airflow: Airflow) -> Iterator[Airflow]:
    """Serve on a thread, so that a test can call `main`, which runs its own event loop."""
    loop, started = asyncio.new_event_loop(), threading.Event()

    async def start() -> web.AppRunner:
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", airflow.handle)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        airflow.address = f"http://127.0.0.1:{runner.addresses[0][1]}/air"
        return runner

    runner = loop.run_until_complete(start())
    thread = threading.Thread(target=lambda: (loop.call_soon(started.set), loop.run_forever()))
    thread.start()
    started.wait(10)
    try:
        yield airflow
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
