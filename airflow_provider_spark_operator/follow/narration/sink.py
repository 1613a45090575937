"""Where the events of one application are shown: the log of a task, a terminal or the demo."""

import logging
from collections.abc import Callable, Iterable
from typing import Protocol

from ...core.dialects.progress import StateEntry
from ...core.kubernetes.pods import ContainerStatus
from ..access.pods import ExecutorCount
from ..access.reference import ApplicationReference
from ..ending.executor_ends import ExecutorEnd


class Sink(Protocol):
    """Shows what happens to one application. Every method returns at once and does not raise."""

    def show_state(self, entry: StateEntry, executors: ExecutorCount | None) -> None:
        """Show a state that the application has entered.

        Args:
            entry: The state with its time and message.
            executors: The executors of a running application. None if they do not exist or could not be counted.
        """

    def show_executors(self, executors: ExecutorCount) -> None:
        """Show that the number of executors changed."""

    def show_obstacle(self, sentence: str) -> None:
        """Show what prevents the application from running, or from running as requested."""

    def show_blocked_pod(self, role: str, name: str, container: ContainerStatus) -> None:
        """Show that a container cannot start.

        Args:
            role: The role of its pod: `core.kubernetes.names.ROLE_DRIVER` or `ROLE_EXECUTOR`.
            name: The name of its pod.
            container: The waiting container.
        """

    def show_driver_line(self, line: str, level: int) -> None:
        """Show a line of the driver's log, with its `logging` level."""

    def show_failure(self, events: Iterable[str], executors: Iterable[ExecutorEnd]) -> None:
        """Show what the cluster still knows about a failed attempt.

        Args:
            events: The latest warnings about the application and its driver.
            executors: The executors that failed.
        """

    def show_remark(self, level: int, sentence: str) -> None:
        """Show a sentence about the narration itself, such as an outage of the API or a gap in the driver's log.

        Args:
            level: The `logging` level.
            sentence: The sentence.
        """


def warn_about(reference: ApplicationReference, sink: Sink) -> Callable[[str], None]:
    """Return a function that shows a warning about an application. The warning begins with a verb."""
    return lambda text: sink.show_remark(logging.WARNING, f"{reference} {text}")
