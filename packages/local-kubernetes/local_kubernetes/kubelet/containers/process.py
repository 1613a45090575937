"""The running process of one container, below its guard."""

import asyncio
import contextlib
import json
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ... import guard
from ..node.runtime import StartError
from .container_log import ContainerLog

_OUTPUT_CHUNK = 65536
_OUTPUT_GRACE = 2.0
_GUARD = (sys.executable, "-I", "-S", guard.__file__)


@dataclass(frozen=True)
class Exit:
    """The end of a command.

    Args:
        code: Exit code; 128 + the signal's number if a signal ended the command.
        signal: Number of the signal, or 0.
        log_failure: The reason why the output could not be written, which ended the command; None otherwise.
    """

    code: int
    signal: int = 0
    log_failure: str | None = None


class ContainerProcess:
    """A running command; `start` creates it."""

    def __init__(
        self, pid: int, process: asyncio.subprocess.Process, reports: asyncio.StreamReader, orders: asyncio.StreamWriter
    ) -> None:
        self.pid = pid
        self.guard_pid = process.pid
        self._process = process
        self._reports = reports
        self._orders = orders
        self._pumps: asyncio.Future[tuple[None, None]] | None = None
        self._log_failure: str | None = None

    @classmethod
    async def start(
        cls, command: Sequence[str], environment: Mapping[str, str], directory: Path, log: ContainerLog
    ) -> "ContainerProcess":
        """Start a command with exactly this environment; write its output to `log`.

        Raises:
            StartError: The command cannot be executed.
        """
        ours, theirs = socket.socketpair()
        try:
            process = await asyncio.create_subprocess_exec(
                *map(_encode, (*_GUARD, *command)),
                stdin=theirs.fileno(),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={_encode(name): _encode(value) for name, value in environment.items()},
                cwd=directory,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            ours.close()
            raise StartError(f"cannot start {command[0]}: {error}") from error
        finally:
            theirs.close()
        reports, orders = await asyncio.open_connection(sock=ours)
        started = await _read_message(reports)
        pid = started.get("pid")
        if pid is None:
            orders.close()
            await process.communicate()
            raise StartError(
                str(started.get("error", f"cannot start {command[0]}: the helper process that starts it was killed"))
            )
        running = cls(int(pid), process, reports, orders)
        running._pumps = asyncio.gather(
            running._copy_output(process.stdout, log, "stdout"), running._copy_output(process.stderr, log, "stderr")
        )
        return running

    async def wait(self) -> Exit:
        """Wait for the end of the command and of every process that it started."""
        try:
            ended = await _read_message(self._reports)
            if not ended:
                guard.kill_session(self.pid)
            await self._process.wait()
            # A process that left its session can keep the output open indefinitely.
            if self._pumps is not None:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._pumps, _OUTPUT_GRACE)
        finally:
            self._orders.close()
        if "exit" in ended:
            return Exit(int(ended["exit"]), 0, self._log_failure)
        number = int(ended.get("signal", signal.SIGKILL))
        return Exit(128 + number, number, self._log_failure)

    def terminate(self) -> None:
        """Send SIGTERM to the command."""
        self._send_order(guard.TERMINATE)

    def kill(self) -> None:
        """Kill the command and every process that it started."""
        self._send_order(guard.KILL)

    def _send_order(self, order: bytes) -> None:
        if not self._orders.is_closing():
            self._orders.write(order)

    async def _copy_output(self, output: asyncio.StreamReader | None, log: ContainerLog, stream: str) -> None:
        if output is None:
            return
        while chunk := await output.read(_OUTPUT_CHUNK):
            if self._log_failure is not None:
                continue
            try:
                log.write(stream, chunk)
            except OSError as error:
                self._log_failure = f"cannot write {log.path}: {error.strerror}"
                self.kill()
        with contextlib.suppress(OSError):
            log.flush(stream)


def _encode(text: str) -> bytes:
    """Encode text as UTF-8, which containers expect, whatever the locale of this process is."""
    return text.encode("utf-8", "surrogateescape")


async def _read_message(reports: asyncio.StreamReader) -> dict[str, int | str]:
    """Return the guard's next report; empty if the guard has ended."""
    try:
        line = await reports.readline()
    except OSError:
        return {}
    message: dict[str, int | str] = json.loads(line) if line.endswith(b"\n") else {}
    return message
