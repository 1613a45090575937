"""The speed of the local API server, compared with a real kube-apiserver: `python -m bench.local_api`.

Both serve the same requests on this machine: 20 concurrent clients create, read, change and list 1,000 pods. Then 200
watches receive each of 50 changes. The local server runs in its own process, as in normal use. The real server needs
`KUBEBUILDER_ASSETS`, a folder with etcd and kube-apiserver.
"""

import asyncio
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import aiohttp

from contract.documents import build_pod
from contract.servers import run_local_server
from control_plane import Server, start_server

PODS = 1000
CLIENTS = 20
WATCHES = 200
CHANGES = 50
MERGE_PATCH = "application/merge-patch+json"


class Client:
    """Sends requests to one server."""

    def __init__(self, session: aiohttp.ClientSession, server: Server) -> None:
        self._session = session
        self._url = f"{server.url}/api/v1/namespaces/default/pods"

    async def send(
        self, method: str, path: str = "", body: object = None, content_type: str = "application/json"
    ) -> int:
        """Send a request; return the size of the answer in bytes."""
        data = None if body is None else json.dumps(body)
        headers = {} if body is None else {"Content-Type": content_type}
        async with self._session.request(method, self._url + path, data=data, headers=headers) as response:
            content = await response.read()
            if response.status >= 300:
                raise RuntimeError(f"{method} {path}: {response.status} {content[:300]!r}")
            return len(content)

    async def watch(self, report: Callable[[int, float], None], ready: Callable[[], None]) -> None:
        """Watch the pods; report the number in the annotation of each changed pod, and the time of its arrival."""
        async with self._session.get(f"{self._url}?watch=1&labelSelector=watched&resourceVersion=0") as response:
            ready()
            async for line in response.content:
                annotations = json.loads(line)["object"]["metadata"].get("annotations") or {}
                if "number" in annotations:
                    report(int(annotations["number"]), time.perf_counter())


async def run_in_parallel(count: int, work: Callable[[int], Awaitable[object]]) -> float:
    """Run `work` for each number, several concurrently; return the number of completed calls per second."""
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            await work(number)

    start = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(CLIENTS)))
    return count / (time.perf_counter() - start)


async def measure_requests(client: Client) -> dict[str, float]:
    """Measure the requests per second, by operation."""
    patch = {"metadata": {"labels": {"changed": "yes"}}}
    return {
        "create a pod": await run_in_parallel(PODS, lambda n: client.send("POST", body=build_pod(f"p-{n}"))),
        "get a pod": await run_in_parallel(PODS, lambda n: client.send("GET", f"/p-{n}")),
        "patch a pod": await run_in_parallel(PODS, lambda n: client.send("PATCH", f"/p-{n}", patch, MERGE_PATCH)),
        "list 1,000 pods": await run_in_parallel(CLIENTS * 2, lambda _: client.send("GET")),
    }


async def measure_watches(client: Client) -> list[float]:
    """Measure the delay of each change at each watch, in milliseconds."""
    await client.send("POST", body=build_pod("watched", labels={"watched": "yes"}))
    sent: dict[int, float] = {}
    waited: list[float] = []
    opened, everything = asyncio.Semaphore(0), asyncio.Event()

    def report(number: int, moment: float) -> None:
        waited.append((moment - sent[number]) * 1000)
        if len(waited) >= WATCHES * CHANGES:
            everything.set()

    watches = [asyncio.create_task(client.watch(report, opened.release)) for _ in range(WATCHES)]
    try:
        for _ in watches:
            await opened.acquire()
        for number in range(CHANGES):
            sent[number] = time.perf_counter()
            await client.send("PATCH", "/watched", {"metadata": {"annotations": {"number": str(number)}}}, MERGE_PATCH)
        async with asyncio.timeout(60):
            await everything.wait()
    finally:
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)
    return waited


async def measure(server: Server) -> dict[str, float]:
    """Return all results of one server."""
    connector = aiohttp.TCPConnector(limit=WATCHES + CLIENTS + 10, ssl=server.tls or True)
    headers = {"Authorization": f"Bearer {server.token}"}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        client = Client(session, server)
        await _create_account(session, server)
        figures = {f"{what}, per second": rate for what, rate in (await measure_requests(client)).items()}
        waited = await measure_watches(client)
    figures["watch, median ms"] = statistics.median(waited)
    figures["watch, 99th of 100 ms"] = statistics.quantiles(waited, n=100)[98]
    return figures


async def _create_account(session: aiohttp.ClientSession, server: Server) -> None:
    """Create the default service account of pods if it does not exist."""
    url = f"{server.url}/api/v1/namespaces/default/serviceaccounts"
    while True:
        async with session.post(url, json={"metadata": {"name": "default"}}) as response:
            if response.status in (201, 409):
                return
        await asyncio.sleep(0.1)


@contextmanager
def serve_locally() -> Iterator[Server]:
    """Run the local server in its own process."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,))
    process.start()
    try:
        url, token = ours.recv()
        yield Server("local", url, token)
    finally:
        ours.send(None)
        process.join()


def _serve(connection: Connection) -> None:
    async def serve() -> None:
        async with run_local_server() as server:
            connection.send((server.url, server.token))
            await asyncio.to_thread(connection.recv)

    asyncio.run(serve())


def main() -> int:
    """Run the benchmark and print a table."""
    columns = {"local": _measure_server(serve_locally())}
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets:
        columns["kube-apiserver"] = _measure_server(start_server(Path(assets)))
    else:
        print("set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver to measure a real server as well")
    print(f"{'':32}" + "".join(f"{name:>16}" for name in columns))
    for what in columns["local"]:
        print(f"{what:32}" + "".join(f"{figures[what]:16.1f}" for figures in columns.values()))
    return 0


def _measure_server(serving: AbstractContextManager[Server]) -> dict[str, float]:
    with serving as server:
        return asyncio.run(measure(server))


if __name__ == "__main__":
    sys.exit(main())
