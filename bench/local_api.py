"""The speed of the local API server, compared with a real kube-apiserver: `python -m bench.local_api`.

Both serve the same requests on this machine: 20 concurrent clients create, read, change and list 1,000 pods. Then 200
watches receive each of 50 changes. The pods are bound to a node that does not exist, so that neither server starts
them. Each server runs in its own process, with TLS. The memory is that of all processes of the control plane. The real
server needs `KUBEBUILDER_ASSETS`, a folder with etcd and kube-apiserver.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import aiohttp

from bench.goals import require

from contract.documents import build_bound_pod
from contract.servers import read_server
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
        "create a pod, per second": await run_in_parallel(
            PODS, lambda n: client.send("POST", body=build_bound_pod(f"p-{n}"))
        ),
        "get a pod, per second": await run_in_parallel(PODS, lambda n: client.send("GET", f"/p-{n}")),
        "patch a pod, per second": await run_in_parallel(
            PODS, lambda n: client.send("PATCH", f"/p-{n}", patch, MERGE_PATCH)
        ),
        "list 1,000 pods, per second": await run_in_parallel(CLIENTS * 2, lambda _: client.send("GET")),
    }


async def measure_watches(client: Client) -> list[float]:
    """Measure the delay of each change at each watch, in milliseconds."""
    await client.send("POST", body=build_bound_pod("watched", labels={"watched": "yes"}))
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
        figures = await measure_requests(client)
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
def start_local() -> Iterator[Server]:
    """Run a local cluster without Spark in its own process."""
    with (
        tempfile.TemporaryDirectory() as home,
        subprocess.Popen(  # noqa: S603 - the arguments are constant
            [sys.executable, "-m", "local_kubernetes", "up", "--home", home], stdout=subprocess.PIPE
        ) as process,
    ):
        try:
            assert process.stdout is not None  # noqa: S101 - for the type
            process.stdout.readline()
            yield read_server(Path(home) / "kubeconfig")
        finally:
            process.terminate()


def read_memory() -> float:
    """Read the memory of the child processes in MiB."""
    total = 0
    for file in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):  # the process has ended
            fields = dict(line.split(":\t", 1) for line in file.read_text().splitlines() if ":\t" in line)
            total += int(fields["VmRSS"].split()[0]) if int(fields["PPid"]) == os.getpid() and "VmRSS" in fields else 0
    return total / 1024


def _measure_server(starting: AbstractContextManager[Server]) -> dict[str, float]:
    begun = time.perf_counter()
    with starting as server:
        started = time.perf_counter() - begun
        return {"seconds to start": started, **asyncio.run(measure(server)), "memory, MiB": read_memory()}


def main(_: Sequence[str] = ()) -> dict[str, float]:
    """Run the benchmark, print a table, and return the values of the goals."""
    assets = Path(require("KUBEBUILDER_ASSETS", "a folder with etcd and kube-apiserver"))
    local, real = _measure_server(start_local()), _measure_server(start_server(assets))
    print(f"{'':32}{'local':>16}{'kube-apiserver':>16}")
    for what in local:
        print(f"{what:32}{local[what]:16.1f}{real[what]:16.1f}")
    return {f"local API server / kube-apiserver, {what}": local[what] / real[what] for what in local}


if __name__ == "__main__":
    main(sys.argv[1:])
