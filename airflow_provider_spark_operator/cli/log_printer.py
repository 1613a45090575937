"""Print lines of the logs of pods to stdout."""

import sys
from typing import TYPE_CHECKING, Final

from airflow_provider_spark_operator.cli.errors import print_note
from airflow_provider_spark_operator.cli.output import open_console
from airflow_provider_spark_operator.follow.attempt_logs import PodLine

if TYPE_CHECKING:
    from rich.console import Console

_STYLES: Final = ("cyan", "green", "yellow", "magenta", "blue", "bright_cyan", "bright_green", "bright_magenta")


class LogPrinter:
    """Prints lines, with a colour for each pod on a terminal.

    Args:
        with_pod: Whether each line begins with the name of its pod.
        is_live: Whether each line is written at once.

    Attributes:
        has_printed: Whether a line was printed.
    """

    def __init__(self, *, with_pod: bool, is_live: bool) -> None:
        self.has_printed = False
        self._with_pod = with_pod
        self._is_live = is_live
        self._styles: dict[str, str] = {}
        self._drivers = 0
        self._console: Console | None = open_console() if with_pod and sys.stdout.isatty() else None

    def announce(self, driver: str) -> None:
        """Print the name of a driver that follows another one."""
        self._drivers += 1
        if self._drivers > 1:
            print_note(f"another attempt begins with driver {driver}")

    def print(self, line: PodLine) -> None:
        """Print a line."""
        self.has_printed = True
        prefix = f"{line.pod} | " if self._with_pod else ""
        if self._console is not None:
            style = self._styles.setdefault(line.pod, _STYLES[len(self._styles) % len(_STYLES)])
            self._console.print(prefix, style=style, end="", markup=False, soft_wrap=True)
            prefix = ""
        print(f"{prefix}{line.text}", flush=self._is_live)
