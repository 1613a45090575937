"""A real terminal: tmux runs a command, and a test reads the screen, presses keys and changes the size."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

DEADLINE = 90.0
_PAUSE = 0.05
_STATUS = "status"

needs_tmux = pytest.mark.skipif(
    shutil.which("tmux") is None, reason="tmux is not installed: it shows the screen of a real terminal"
)


class Screen:
    """The screen of a terminal in which a command runs.

    Args:
        socket: The socket of the server of tmux, which runs only this terminal.
    """

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    def read(self, *, with_colours: bool = False) -> list[str]:
        """Return the lines on the screen, without empty lines at the end.

        Args:
            with_colours: Whether to include the escape sequences of colours.
        """
        options = ("-e",) if with_colours else ()
        lines = self.tmux("capture-pane", "-p", *options, "-t", "screen").splitlines()
        while lines and not lines[-1].strip():
            lines.pop()
        return lines

    def wait_for(self, pattern: str, *, with_colours: bool = False) -> list[str]:
        """Wait until a line of the screen matches a regular expression. Return the lines."""
        return self.wait_until(
            lambda lines: any(re.search(pattern, line) for line in lines), pattern, with_colours=with_colours
        )

    def wait_until(self, holds: Callable[[list[str]], object], what: str, *, with_colours: bool = False) -> list[str]:
        """Wait until a condition holds for the lines of the screen. Return the lines.

        Args:
            holds: The condition.
            what: The condition in words, for the message.
            with_colours: Whether the lines include the escape sequences of colours.
        """
        end = time.monotonic() + DEADLINE
        while not holds(lines := self.read(with_colours=with_colours)):
            if time.monotonic() > end:
                raise AssertionError(f"not on the screen: {what}\n" + "\n".join(lines))
            time.sleep(_PAUSE)
        return lines

    def wait_for_exit(self) -> int:
        """Wait until the command ends. Return its exit code."""
        status, end = self._socket.with_name(_STATUS), time.monotonic() + DEADLINE
        while not (status.exists() and (code := status.read_text())):
            if time.monotonic() > end:
                raise AssertionError("the command still runs\n" + "\n".join(self.read()))
            time.sleep(_PAUSE)
        return int(code)

    def press(self, *keys: str) -> None:
        """Press keys, as tmux names them: `C-c`, `Tab`, `Enter`, or a text."""
        self.tmux("send-keys", "-t", "screen", *keys)

    def resize(self, columns: int, lines: int) -> None:
        """Change the size of the terminal, which sends SIGWINCH to the command."""
        self.tmux("resize-window", "-t", "screen", "-x", str(columns), "-y", str(lines))

    def tmux(self, *words: str, variables: Mapping[str, str] | None = None) -> str:
        """Run a command of tmux. Return its output without the last newline."""
        run = subprocess.run(
            ["tmux", "-f", "/dev/null", "-S", str(self._socket), *words],
            env=None if variables is None else {**_list_variables(), **variables},
            capture_output=True,
            text=True,
            check=True,
            timeout=DEADLINE,
        )
        return run.stdout.rstrip("\n")


def _list_variables() -> dict[str, str]:
    """Return the environment without a size, which programs would prefer to that of the terminal."""
    return {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}


@contextmanager
def open_screen(
    command: str, *, columns: int = 120, lines: int = 30, variables: Mapping[str, str] | None = None
) -> Iterator[Screen]:
    """Run a shell command in a new terminal.

    Args:
        command: The command.
        columns: The width of the terminal.
        lines: The height of the terminal.
        variables: Environment variables in addition to those of this process.
    """
    settings = {"LC_ALL": "C.UTF-8", "TMUX": "", **(variables or {})}
    with tempfile.TemporaryDirectory(prefix="tmux") as folder:  # the path of a socket has at most 107 bytes
        screen = Screen(Path(folder) / "s")
        size = ("-x", str(columns), "-y", str(lines))
        # The shell survives Ctrl+C, and keeps the terminal open after the end of the command.
        script = f"trap : INT; {command}; echo $? > {shlex.quote(folder)}/{_STATUS}; exec tail -f /dev/null"
        screen.tmux("new-session", "-d", "-s", "screen", *size, script, variables=settings)
        try:
            yield screen
        finally:
            screen.tmux("kill-server")


@contextmanager
def open_verb(
    *words: str, columns: int = 120, lines: int = 30, variables: Mapping[str, str] | None = None
) -> Iterator[Screen]:
    """Run `spark-operator` in a new terminal. See `open_screen`."""
    command = shlex.join([sys.executable, "-m", "airflow_provider_spark_operator.cli", *words])
    with open_screen(command, columns=columns, lines=lines, variables=variables) as screen:
        yield screen
