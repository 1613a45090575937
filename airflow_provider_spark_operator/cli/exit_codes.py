"""What the exit code of `spark-operator` says."""

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ended; part of the command line's contract."""

    SUCCESS = 0
    APPLICATION_FAILED = 1
    CHECK_FAILED = 1
    """`reconcile --check` found resources that other controllers manage."""
    INVALID = 2
    """The input or the usage is wrong."""
    API_FAILED = 3
    """The API cannot be reached, refuses, or does not permit."""
    TIMED_OUT = 4
    INFRASTRUCTURE_FAILED = 5
    """The cluster could not schedule or keep the application, or the local cluster could not be run."""
    INTERRUPTED = 130
