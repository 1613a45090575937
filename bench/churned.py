"""The controller with a look at itself: `python -m bench.churned SECONDS OPTION…`, options of `reconcile`.

Every so many seconds a line on stderr says what it holds: `held rss=KIB files=N tasks=N objects=N`.
"""

import asyncio
import gc
import sys
import threading
from pathlib import Path

from airflow_provider_spark_operator.cli import main

_PAGE_KIB = 4


def _look(seconds: float, ended: threading.Event) -> None:
    while not ended.wait(seconds):
        gc.collect()  # what only waits to be collected is not held
        objects = gc.get_objects()
        tasks = sum(isinstance(each, asyncio.Task) and not each.done() for each in objects)
        files = sum(1 for _ in Path("/proc/self/fd").iterdir())
        rss = int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_KIB
        print(f"held rss={rss} files={files} tasks={tasks} objects={len(objects)}", file=sys.stderr, flush=True)
        del objects


if __name__ == "__main__":
    ended = threading.Event()
    looking = threading.Thread(target=_look, args=(float(sys.argv[1]), ended))
    looking.start()
    try:
        code = main(["reconcile", *sys.argv[2:]])
    finally:
        ended.set()
        looking.join()
    sys.exit(code)
