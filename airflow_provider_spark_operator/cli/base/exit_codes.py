"""The exit codes of `spark-operator`."""

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ended. The numbers are public API."""

    SUCCESS = 0
    APPLICATION_FAILED = 1
    CHECK_FAILED = 1
    """`reconcile --check` found resources that other controllers manage, or `diff` found a difference."""
    INVALID = 2
    """The input or the usage is invalid."""
    API_FAILED = 3
    """The API was unreachable, rejected the request or denied permission."""
    TIMED_OUT = 4
    INFRASTRUCTURE_FAILED = 5
    """The cluster could not schedule or run the application, or the local cluster could not run."""
    BUDGET_EXCEEDED = 6
    """The application requested more core-hours than `--max-core-hours`, and was deleted."""
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.SUCCESS: (
        "success\n"
        "`status` reported the state of the application, also if it failed\n"
        "`local status` ran, also if no cluster runs\n"
        "`reconcile` or `local up` ended after SIGTERM\n"
        "`forward` ended after Ctrl+C"
    ),
    ExitCode.APPLICATION_FAILED: (
        "the program of the application failed\n"
        "the program succeeded, but reported that a check failed\n"
        "the application succeeded before the state of `wait --for`\n"
        "`diff` found a difference\n"
        "`reconcile --check` found resources of another controller"
    ),
    ExitCode.INVALID: "invalid input or usage",
    ExitCode.API_FAILED: (
        "the Kubernetes API is unreachable, rejects the request, or does not permit it (also in a check of `doctor`)\n"
        "the object does not exist"
    ),
    ExitCode.TIMED_OUT: "timed out",
    ExitCode.INFRASTRUCTURE_FAILED: (
        "the cluster could not run the application to its end, or the application was deleted\n"
        "the local cluster could not run\n"
        "a check of `doctor` failed\n"
        "the output could not be written\n"
        "an internal error"
    ),
    ExitCode.BUDGET_EXCEEDED: "the application exceeded `--max-core-hours`, and was deleted",
    ExitCode.INTERRUPTED: "interrupted (SIGINT, SIGTERM or SIGHUP)",
}
"""The meaning of each code, one line for each case, for `spark-operator help exit-codes`."""
