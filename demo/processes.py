"""Start the processes of the demo, each with a log file, and end all of them with the demo."""

import asyncio
import contextlib
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from local_kubernetes import guard

TERMINATION_SECONDS = 5
LOG_TAIL_BYTES = 16_384


class ProcessFailed(Exception):
    """A process of the demo ended early. The message contains its name, its exit code and its log file."""


@dataclass(frozen=True)
class Component:
    """A running process: its name, its log file, and the guard that is its parent."""

    name: str
    log: Path
    process: asyncio.subprocess.Process

    def build_failure(self) -> ProcessFailed:
        """Return an error with the exit code and the last line of the log."""
        last = read_last_line(self.log)
        suffix = f": {last}" if last else ""
        return ProcessFailed(f"{self.name} ended with exit code {self.process.returncode}{suffix} (log: {self.log})")


class Components:
    """The processes of the demo. The end of the context ends them and all processes that they started.

    Each process has a guard and its own session, so that an interrupt at the terminal reaches only the demo. If the
    demo is killed, the guard ends the process.

    Args:
        environment: The environment of every process.
        logs: The folder of the log files.
    """

    def __init__(self, environment: Mapping[str, str], logs: Path) -> None:
        self._environment = dict(environment)
        self._logs = logs
        self._running: list[tuple[asyncio.subprocess.Process, socket.socket]] = []

    async def __aenter__(self) -> Self:
        self._logs.mkdir(parents=True, exist_ok=True)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await asyncio.shield(asyncio.gather(*(_end(*running) for running in self._running)))

    async def start(self, name: str, command: Sequence[str], *, pipe_output: bool = False) -> Component:
        """Start a process. Its log file receives standard error, and standard output unless `pipe_output` is set."""
        log = self._logs / f"{name.replace(' ', '-')}.log"
        ours, theirs = socket.socketpair()
        with theirs, log.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", guard.__file__, *command),
                stdin=theirs.fileno(),
                stdout=asyncio.subprocess.PIPE if pipe_output else output,
                stderr=output,
                env=self._environment,
                # A signal to the process group of the demo must not end the guards: their processes would continue.
                start_new_session=True,
            )
        self._running.append((process, ours))
        return Component(name, log, process)


async def _end(process: asyncio.subprocess.Process, control: socket.socket) -> None:
    with control:
        for order in (guard.TERMINATE, guard.KILL):
            with contextlib.suppress(OSError):
                control.send(order)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), TERMINATION_SECONDS)
                return


def read_last_line(log: Path) -> str:
    """Return the last line of a log that is not blank, or an empty string."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - LOG_TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
