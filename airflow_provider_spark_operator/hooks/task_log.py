"""Log what happens to an application in the log of its task."""

import logging
from collections.abc import Iterable
from datetime import UTC
from typing import Any

from ..airflow_compat import conf
from ..core.dialects.progress import StateEntry
from ..core.kubernetes.names import ROLE_EXECUTOR
from ..core.kubernetes.pods import ContainerStatus
from ..core.log.line_levels import SparkLineFilter
from ..core.log.secrets import Redaction
from ..follow.access.pods import ExecutorCount, describe_block
from ..follow.access.reference import ApplicationReference
from ..follow.ending.executor_ends import ExecutorEnd
from ..follow.logs.logs import LogPosition
from ..follow.narration.driver_log import DriverLogOptions
from ..provider import DRIVER_LOG_BYTES, DRIVER_LOG_STREAMS, SECTION


class RedactedLogger(logging.LoggerAdapter[logging.Logger]):
    """A logger for texts of the cluster, which may contain the secrets of a resource.

    Args:
        log: The logger. Airflow adds its lines to the log of the current task.
        redaction: Removes the secrets.
    """

    def __init__(self, log: logging.Logger, redaction: Redaction) -> None:
        super().__init__(log)
        self._redaction = redaction

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Log a message without the secrets."""
        if self.isEnabledFor(level):
            self.logger.log(level, "%s", self._redaction.hide(str(msg) % args if args else str(msg)), **kwargs)


class TaskLog:
    """The sink for the log of a task.

    Args:
        reference: The application.
        log: The logger.
        lowest_level: The name of the lowest level of Spark's own lines that are logged.
    """

    def __init__(
        self, reference: ApplicationReference, log: logging.Logger | RedactedLogger, lowest_level: str = "DEBUG"
    ) -> None:
        self._reference = reference
        self._log = log
        self._filter = SparkLineFilter(logging.getLevelNamesMapping().get(lowest_level, logging.DEBUG))

    def show_state(self, entry: StateEntry, executors: ExecutorCount | None) -> None:
        """Log a state with its executors, its time and its message."""
        more = f", {executors}" if executors is not None else ""
        since = f" since {entry.time.astimezone(UTC):%H:%M:%S} UTC" if entry.time else ""
        message = f": {entry.message}" if entry.message else ""
        self._log.info("%s: %s%s%s%s", self._reference, entry.state, more, since, message)

    def show_executors(self, executors: ExecutorCount) -> None:
        """Log the number of executors."""
        self._log.info("%s: %s", self._reference, executors)

    def show_obstacle(self, sentence: str) -> None:
        """Log a warning."""
        self._log.warning("%s", sentence)

    def show_blocked_pod(self, role: str, name: str, container: ContainerStatus) -> None:
        """Log a warning about an executor that cannot start. A driver that cannot start is logged as an obstacle."""
        if role == ROLE_EXECUTOR:
            why = describe_block(container)
            self._log.warning("%s: executor %s cannot be started: %s", self._reference, name, why)

    def show_driver_line(self, line: str, level: int) -> None:
        """Log a line of the driver's log, unless it is one of Spark's below the lowest level."""
        if self._filter.shows(line):
            self._log.log(level, "driver | %s", line)

    def show_failure(self, events: Iterable[str], executors: Iterable[ExecutorEnd]) -> None:
        """Log the warning events of the cluster, and the last lines of the executors that failed."""
        for event in events:
            self._log.warning("event | %s", event)
        for executor in executors:
            self._log.warning("%s: executor %s ended with %s", self._reference, executor.pod, executor.how)
            for line in executor.log_lines:
                self._log.warning("%s | %s", executor.pod, line)

    def show_remark(self, level: int, sentence: str) -> None:
        """Log a sentence."""
        self._log.log(level, "%s", sentence)


def read_driver_log_options(reader: str | None, position: LogPosition) -> DriverLogOptions:
    """Read the limits of drivers' logs from Airflow's configuration.

    Args:
        reader: See `DriverLogOptions`.
        position: See `DriverLogOptions`.
    """
    return DriverLogOptions(
        reader=reader,
        position=position,
        longest=conf.getint(SECTION, "driver_log_bytes", fallback=DRIVER_LOG_BYTES),
        most_streams=conf.getint(SECTION, "driver_log_streams", fallback=DRIVER_LOG_STREAMS),
    )
