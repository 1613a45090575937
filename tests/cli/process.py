"""Running the command line as a process of its own, as users do."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

DEADLINE = 90


@contextmanager
def set_sighup(*, ignored: bool) -> Iterator[None]:
    """Have children start with SIGHUP ignored, or with its default disposition, whatever this process has.

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
    """`spark-operator` with these words; killed at the end if it still runs.

    Args:
        words: after the program's name.
        home: the user's home folder, and that for temporary files.
        variables: of the environment, beside what this process has.
        ignores_sighup: whether it starts with SIGHUP ignored, as under `nohup`.
    """
    environment = {**os.environ, "HOME": str(home), "TMPDIR": str(home), "PYTHONUNBUFFERED": "1", **(variables or {})}
    with set_sighup(ignored=ignores_sighup):
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "airflow_provider_spark_operator.cli", *words),
            env=environment,
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
    """The first line on stdout that begins so."""
    assert process.stdout is not None
    async with asyncio.timeout(DEADLINE):
        async for line in process.stdout:
            if line.decode().startswith(start):
                return line.decode().strip()
    assert process.stderr is not None
    raise AssertionError(f"it has ended without such a line: {(await process.stderr.read()).decode()}")


async def wait_for_exit(process: asyncio.subprocess.Process) -> tuple[int | None, str, str]:
    """Wait for the end: exit code, stdout, stderr."""
    async with asyncio.timeout(DEADLINE):
        out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()
