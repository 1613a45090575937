"""The log of a container that a script writes."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime


class Log:
    """The log of one container. It is written and read on the cluster's loop.

    Args:
        owner: The uid of the application, if its driver writes the log.
    """

    def __init__(self, owner: str = "") -> None:
        self.owner = owner
        self.lines: list[str] = []
        self.ended = False
        self.grown = asyncio.Event()

    def write(self, line: str) -> None:
        """Add a line with the current time."""
        stamp = datetime.now(UTC).isoformat().removesuffix("+00:00")
        self.lines.append(f"{stamp}Z {line}")
        self.grown.set()

    def end(self) -> None:
        """Mark the log as complete."""
        self.ended = True
        self.grown.set()

    async def read(self, *, follow: bool, timestamps: bool, tail_lines: int | None = None) -> AsyncIterator[bytes]:
        """Yield the lines as a kubelet returns them; with `follow` until the log is complete.

        Args:
            follow: Whether to wait for further lines.
            timestamps: Whether each line begins with its time.
            tail_lines: Start this number of lines before the end. If None, at the beginning.
        """
        position = 0 if tail_lines is None else max(0, len(self.lines) - tail_lines)
        while True:
            while position < len(self.lines):
                line = self.lines[position]
                position += 1
                yield (line if timestamps else line.partition(" ")[2]).encode() + b"\n"
            if self.ended or not follow:
                return
            self.grown.clear()
            await self.grown.wait()
