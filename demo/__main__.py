"""Run the demo once. The exit code is 0 if every task ended as expected."""

import os
import signal
import sys
from typing import NoReturn

INTERRUPTED = 130
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _abort(_number: int, _frame: object) -> NoReturn:
    os.write(sys.stderr.fileno(), b"demo: interrupted; no process was started\n")
    os._exit(INTERRUPTED)


# The imports below take a second. Without this handler, an interrupt of an import would print a traceback or be lost.
for each in INTERRUPTS:
    signal.signal(each, _abort)

import argparse  # noqa: E402
import asyncio  # noqa: E402
import shutil  # noqa: E402
from pathlib import Path  # noqa: E402

from demo.processes import ProcessFailed  # noqa: E402
from demo.run import REPOSITORY, DemoFailed, run  # noqa: E402

FULL_BELOW_BYTES = 5 * 2**20


def main() -> int:
    """Run the demo. Return 0, or 1 if it did not end as expected, or 130 if it was interrupted."""
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    default = REPOSITORY / ".demo"
    parser.add_argument("--home", type=Path, default=default, help="folder for all state (default: .demo)")
    parser.add_argument("--ui", action="store_true", help="keep Airflow's web interface open until Ctrl+C")
    arguments = parser.parse_args()
    home = arguments.home.resolve()
    try:
        asyncio.run(_run_until_interrupted(home, arguments.ui))
    except (DemoFailed, ProcessFailed) as error:
        print(f"demo: {_describe_full_disk(home) or error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"demo: could not use {error.filename or home}: {error.strerror or error}", file=sys.stderr)
        return 1
    except asyncio.CancelledError:
        print("demo: interrupted; all its processes have ended", file=sys.stderr)
        return INTERRUPTED
    return 0


async def _run_until_interrupted(home: Path, keep_open: bool) -> None:
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        # Another signal must not interrupt the cleanup.
        for number in INTERRUPTS:
            loop.add_signal_handler(number, lambda: None)
        if task is not None:
            task.cancel()

    for number in INTERRUPTS:
        loop.add_signal_handler(number, interrupt)
    await run(home, keep_open=keep_open)


def _describe_full_disk(home: Path) -> str:
    """Return a sentence if the disk is full, which causes failures of any kind; else an empty string."""
    try:
        free = shutil.disk_usage(home).free
    except OSError:
        return ""
    return f"the disk of {home} is full. Free some space" if free < FULL_BELOW_BYTES else ""


if __name__ == "__main__":
    sys.exit(main())
