"""The exit codes of `spark-operator`."""

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ended. The numbers are public API."""

    SUCCESS = 0
    APPLICATION_FAILED = 1
    CHECK_FAILED = 1
    """`reconcile --check` found resources that other controllers manage."""
    INVALID = 2
    """The input or the usage is invalid."""
    API_FAILED = 3
    """The API was unreachable, rejected the request or denied permission."""
    TIMED_OUT = 4
    INFRASTRUCTURE_FAILED = 5
    """The cluster could not schedule or run the application, or the local cluster could not run."""
    INTERRUPTED = 130
