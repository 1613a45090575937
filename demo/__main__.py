"""`python -m demo`: the main job, once. Exit code 0 only if every task ended as it should."""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from demo.processes import ProcessFailed
from demo.run import REPOSITORY, DemoFailed, run

DEADLINE_SECONDS = 300


def main() -> int:
    """Run the demo; return 0, 1 where it did not end as it should, or 130 where it was interrupted."""
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument("--home", type=Path, default=REPOSITORY / ".demo", help="folder for all state (default: .demo)")
    home = parser.parse_args().home.resolve()
    try:
        asyncio.run(_bounded(home))
    except (DemoFailed, ProcessFailed) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"demo: cannot use {error.filename or home}: {error.strerror or error}", file=sys.stderr)
        return 1
    except asyncio.CancelledError:
        print("demo: interrupted; everything it started has ended", file=sys.stderr)
        return 130
    return 0


async def _bounded(home: Path) -> None:
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    if task is not None:
        for interrupt in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(interrupt, task.cancel)
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            await run(home)
    except TimeoutError:
        raise DemoFailed(f"not finished after {DEADLINE_SECONDS} s; the logs are in {home / 'logs'}") from None


if __name__ == "__main__":
    sys.exit(main())
