"""The demo's processes: started together, each with a log file, and none left behind however the demo ends."""

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from airflow_provider_spark_operator.local import guard

TERMINATION_SECONDS = 10
LOG_TAIL_BYTES = 16_384


class ProcessFailed(Exception):
    """A process of the demo ended early; the message names it, its exit code and its log file."""


@dataclass(frozen=True)
class Component:
    """A running process: its name, its log file, and the guard whose only child it is."""

    name: str
    log: Path
    process: asyncio.subprocess.Process

    def failure(self) -> ProcessFailed:
        """Describe the early end in one sentence, with the last line that the process has logged."""
        last = last_line(self.log)
        said = f": {last}" if last else ""
        return ProcessFailed(f"{self.name} ended with exit code {self.process.returncode}{said} (log: {self.log})")


@contextlib.asynccontextmanager
async def component(
    name: str, command: Sequence[str], *, log: Path, environment: Mapping[str, str], pipe_output: bool = False
) -> AsyncIterator[Component]:
    """Run `command` while the block runs; then end it and everything it has started.

    Standard error, and standard output unless `pipe_output`, go to `log`. The guard gives the command a
    session of its own, so that an interrupt at the terminal reaches the demo alone, which ends the others
    in order; and it ends the command where the demo itself is killed.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    ours, theirs = socket.socketpair()
    with ours:
        with theirs, log.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", guard.__file__, *command),
                stdin=theirs,
                stdout=asyncio.subprocess.PIPE if pipe_output else output,
                stderr=output,
                env=dict(environment),
            )
        try:
            yield Component(name, log, process)
        finally:
            await asyncio.shield(_end(process, ours))


async def _end(process: asyncio.subprocess.Process, control: socket.socket) -> None:
    for order in (guard.TERMINATE, guard.KILL):
        with contextlib.suppress(OSError):
            control.send(order)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), TERMINATION_SECONDS)
            return


def last_line(log: Path) -> str:
    """Return the last line of `log` that is not blank, or an empty string."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - LOG_TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
