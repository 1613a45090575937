"""Run the command line as a separate process."""

import asyncio
import atexit
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path

from tests.cli.forks import Forks

DEADLINE = 90


@contextmanager
def set_sighup(*, ignored: bool) -> Iterator[None]:
    """Start children with SIGHUP ignored, or with its default disposition, whatever the disposition in this process is.

    A child inherits SIG_IGN, as under `nohup`, but not a handler.
    """
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


@asynccontextmanager
async def start_command(
    *words: str, home: Path, variables: Mapping[str, str] | None = None, ignores_sighup: bool = False
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start `spark-operator`. Kill the process at the end of the context if it still runs.

    Args:
        words: The arguments after the name of the program.
        home: The home folder of the user, which is also the folder for temporary files.
        variables: Environment variables in addition to those of this process.
        ignores_sighup: Whether the process starts with SIGHUP ignored, as under `nohup`.
    """
    with set_sighup(ignored=ignores_sighup):
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "airflow_provider_spark_operator.cli", *words),
            env=_build_environment(home, variables),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def read_line(process: asyncio.subprocess.Process, start: str) -> str:
    """Return the first line on stdout that begins with `start`."""
    assert process.stdout is not None
    async with asyncio.timeout(DEADLINE):
        async for line in process.stdout:
            if line.decode().startswith(start):
                return line.decode().strip()
    assert process.stderr is not None
    raise AssertionError(f"it has ended without such a line: {(await process.stderr.read()).decode()}")


async def wait_for_exit(process: asyncio.subprocess.Process, deadline: float = DEADLINE) -> tuple[int | None, str, str]:
    """Wait until the process ends, for at most `deadline` seconds. Return its exit code, stdout and stderr."""
    async with asyncio.timeout(deadline):
        out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def run_command(*words: str, home: Path, variables: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """Run `spark-operator` to its end in a fork. Return its exit code, stdout and stderr. See `start_command`."""
    return await asyncio.to_thread(_open_forks().run, *words, environment=_build_environment(home, variables))


@cache
def _open_forks() -> Forks:
    with set_sighup(ignored=False):
        forks = Forks({"PYTHONUNBUFFERED": "1"})
    atexit.register(forks.close)
    return forks


def _build_environment(home: Path, variables: Mapping[str, str] | None) -> dict[str, str]:
    return {**os.environ, "HOME": str(home), "TMPDIR": str(home), "PYTHONUNBUFFERED": "1", **(variables or {})}
