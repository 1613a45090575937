"""The controller as a separate process, which can be killed and started again at any time."""

import asyncio
import os
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path

START_SECONDS = 180


@dataclass
class ControllerProcess:
    """A process of `spark-operator reconcile`, which can be started and stopped repeatedly.

    Args:
        folder: The home directory. Its file `controller.log` contains the stderr of all runs.
        words: The command-line options.
        program: The module and the words before the options.
    """

    folder: Path
    words: tuple[str, ...]
    program: tuple[str, ...] = ("airflow_provider_spark_operator.cli", "reconcile")
    _process: asyncio.subprocess.Process | None = field(default=None)

    @property
    def log(self) -> str:
        """The log of all runs."""
        path = self.folder / "controller.log"
        return path.read_text(errors="replace") if path.exists() else ""

    @property
    def pid(self) -> int:
        """The process id of the current run."""
        assert self._process is not None, "it does not run"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Return whether the process is running."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> dict[str, str]:
        """Start the process and wait until it is ready; return the fields of its `ready` line.

        Raises:
            AssertionError: The process has ended before it was ready.
        """
        with (self.folder / "controller.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", *self.program, *self.words),
                env={**os.environ, "HOME": str(self.folder), "TMPDIR": str(self.folder), "PYTHONUNBUFFERED": "1"},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        assert self._process.stdout is not None
        async with asyncio.timeout(START_SECONDS):
            async for line in self._process.stdout:
                words = line.decode().split()
                if words[:1] == ["ready"]:
                    return dict(word.split("=", 1) for word in words[1:])
        raise AssertionError(f"the controller has ended before it was ready:\n{self.log[-2000:]}")

    async def kill(self) -> None:
        """Kill the process with SIGKILL, if it is running."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """Stop the process with SIGTERM, if it is running."""
        await self._end(signal.SIGTERM)

    async def wait_for_exit(self) -> int:
        """Wait until the process ends; return the exit code."""
        assert self._process is not None, "it does not run"
        await self._process.communicate()
        code, self._process = self._process.returncode, None
        assert code is not None
        return code

    async def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        if self._process.returncode is None:
            self._process.send_signal(number)
        await self.wait_for_exit()
