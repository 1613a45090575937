"""The controller as a process of its own, which can be killed at any moment and started again."""

import asyncio
import os
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path

START_SECONDS = 180


@dataclass
class ControllerProcess:
    """`spark-operator reconcile`, started and ended as often as one likes.

    Args:
        folder: its home; `controller.log` there has what it says on stderr, of every run.
        words: its options.
        niceness: by how much it gives way to other processes.
    """

    folder: Path
    words: tuple[str, ...]
    _process: asyncio.subprocess.Process | None = field(default=None)

    @property
    def log(self) -> str:
        """What it has said so far."""
        path = self.folder / "controller.log"
        return path.read_text(errors="replace") if path.exists() else ""

    @property
    def pid(self) -> int:
        """Of the run that is under way."""
        assert self._process is not None, "it does not run"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it has been started and has not ended."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> dict[str, str]:
        """Start it, and wait until it is ready; what its line says of itself, by name.

        Raises:
            AssertionError: it has ended instead; with the end of its log.
        """
        with (self.folder / "controller.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "airflow_provider_spark_operator.cli", "reconcile", *self.words),
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
        """End it as a lost machine does; nothing happens where it does not run."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """End it as a kubelet does; nothing happens where it does not run."""
        await self._end(signal.SIGTERM)

    async def ended(self) -> int:
        """Wait for an end that somebody else brings about; the exit code."""
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
        await self.ended()
