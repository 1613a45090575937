"""The controller, with reports of its resources: `python -m bench.churn_controller SECONDS OPTION…`.

The options are those of `reconcile`. Every SECONDS seconds, the process writes a line with its resources to stderr:
`held rss=KIB files=N tasks=N objects=N`.
"""

import asyncio
import gc
import sys
import threading
from pathlib import Path

from airflow_provider_spark_operator.cli import main

_PAGE_KIB = 4


class _Remembering(asyncio.DefaultEventLoopPolicy):
    """Stores the event loop that it has created last."""

    loop: asyncio.AbstractEventLoop | None = None

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        self.loop = super().new_event_loop()
        return self.loop


def _look(seconds: float, ended: threading.Event, loops: _Remembering) -> None:
    while not ended.wait(seconds):
        gc.collect()  # objects that only wait for garbage collection do not count
        tasks = len(asyncio.all_tasks(loops.loop)) if loops.loop else 0
        files = sum(1 for _ in Path("/proc/self/fd").iterdir())
        rss = int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_KIB
        blocks = sys.getallocatedblocks()
        # In one write: the log of the controller must not come between a line and its end.
        sys.stderr.write(f"held rss={rss} files={files} tasks={tasks} objects={blocks}\n")


if __name__ == "__main__":
    ended, loops = threading.Event(), _Remembering()
    asyncio.set_event_loop_policy(loops)
    looking = threading.Thread(target=_look, args=(float(sys.argv[1]), ended, loops))
    looking.start()
    try:
        code = main(["reconcile", *sys.argv[2:]])
    finally:
        ended.set()
        looking.join()
    sys.exit(code)
