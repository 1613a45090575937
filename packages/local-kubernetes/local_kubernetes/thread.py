"""A cluster on its own thread, for programs without an event loop."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

from .cluster import LocalCluster


@contextmanager
def run_cluster(home: Path) -> Iterator[LocalCluster]:
    """Run a cluster on a thread until the context ends.

    Args:
        home: The directory for the state of the cluster; it is created if it does not exist.

    Yields:
        The running cluster. Use only its attributes; its methods belong to the other thread.

    Raises:
        LocalClusterError: The cluster could not be started, or one of its parts failed.
    """
    started: Future[tuple[LocalCluster, asyncio.AbstractEventLoop, asyncio.Event]] = Future()
    ended: Future[None] = Future()

    async def run() -> None:
        stop = asyncio.Event()
        async with LocalCluster(home) as cluster:
            started.set_result((cluster, asyncio.get_running_loop(), stop))
            await stop.wait()

    def main() -> None:
        try:
            asyncio.run(run())
        except BaseException as error:
            (ended if started.done() else started).set_exception(error)
        if not ended.done():
            ended.set_result(None)

    thread = threading.Thread(target=main, name="local-kubernetes", daemon=True)
    thread.start()
    cluster, loop, stop = started.result()
    try:
        yield cluster
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
    ended.result()
