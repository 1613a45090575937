"""A retry policy for tasks that run Spark applications: what is worth another try gets one, the rest fails at once."""

import re
from collections.abc import Mapping

from airflow.sdk import Context, RetryDecision, RetryPolicy

from airflow_provider_spark_operator.core.arguments import check_booleans
from airflow_provider_spark_operator.exceptions import (
    SparkApplicationDeleted,
    SparkApplicationError,
    SparkApplicationFailed,
    SparkClusterDeleted,
)

STORE_KEY = "spark_memory_growth"
_LIMIT_KEY = "spark_memory_at_limit"
_ROLES = ("driver", "executor")
_SIZE = re.compile(r"([1-9][0-9]*)([kmgt])b?\Z", re.IGNORECASE)


class SparkRetryPolicy(RetryPolicy):
    """Retry what failed beneath an application; fail at once where the application itself did.

    Infrastructure and scheduling failures are retried, unless the same application would surely fail the same way
    again; the delay is the backoff that the application's restartConfig asks for, else the task's. What is no
    failure of an application (the API was down) is retried as the task says. An application that was deleted by a
    person or another program is not submitted again. A policy never adds to the task's `retries`.

    Args:
        application_failures: Retry the application's own failures, too.
        deletions: Retry when the application or the SparkCluster was deleted by a person or another program.
        memory_growth: After a driver or executors were killed for want of memory, try again with this many times
            the memory, and so on with every such failure. It is kept in the task state store, so that a task
            that is cleared begins with what was enough. None tries no such failure again.
        memory_limit: The largest memory to come to, such as `32g`. A lack of memory beyond it counts as any failure.

    Raises:
        TypeError: A switch is not a boolean.
        ValueError: `memory_growth` is not over 1, or `memory_limit` no size.
    """

    def __init__(
        self,
        *,
        application_failures: bool = False,
        deletions: bool = False,
        memory_growth: float | None = None,
        memory_limit: str | None = None,
    ) -> None:
        check_booleans(application_failures=application_failures, deletions=deletions)
        if memory_growth is not None and not memory_growth > 1:
            raise ValueError(f"memory_growth must be over 1, not {memory_growth!r}")
        if memory_limit is not None and not _SIZE.match(memory_limit.strip()):
            raise ValueError(f"memory_limit must be a size with its unit, such as 32g, not {memory_limit!r}")
        self.application_failures = application_failures
        self.deletions = deletions
        self.memory_growth = memory_growth
        self.memory_limit = memory_limit

    def evaluate(
        self,
        exception: BaseException,
        try_number: int,  # noqa: ARG002 - Airflow's signature
        max_tries: int,  # noqa: ARG002
        context: Context | None = None,
    ) -> RetryDecision:
        """Decide by the kind of failure; see the class."""
        if not isinstance(exception, SparkApplicationError):
            return RetryDecision.default()
        starved = [role for role in _ROLES if role in exception.out_of_memory]
        if self.memory_growth is not None and context is not None:
            starved = [role for role in starved if role not in _stored(context, _LIMIT_KEY)]
        if starved and self.memory_growth is not None and context is not None:
            self._grow(context, starved)
            reason = f"{' and '.join(starved)} ran out of memory; tried again with {self.memory_growth:g} times of it"
            return RetryDecision.retry(exception.retry_delay, reason)
        if isinstance(exception, SparkApplicationDeleted | SparkClusterDeleted) and not self.deletions:
            deleted = "cluster" if isinstance(exception, SparkClusterDeleted) else "application"
            return RetryDecision.fail(f"the {deleted} was deleted, and not by its task")
        if not exception.retry_worthy:
            return RetryDecision.fail(f"the same application would fail the same way again ({exception.reason})")
        if isinstance(exception, SparkApplicationFailed) and not self.application_failures:
            return RetryDecision.fail("the application itself failed, not what it runs on")
        if exception.reason is None:
            return RetryDecision.default()
        return RetryDecision.retry(exception.retry_delay, exception.reason)

    def grown(self, conf: Mapping[str, str], context: Context) -> dict[str, str]:
        """The Spark properties to set because of earlier failures; none before the first.

        Args:
            conf: The application's properties.
            context: Of the task.
        """
        if self.memory_growth is None:
            return {}
        found: dict[str, str] = {}
        limit = _mebibytes(self.memory_limit) if self.memory_limit else None
        full: dict[str, bool] = {}
        for role, factor in _growth(context).items():
            keys = {f"spark.{role}.memory": conf.get(f"spark.{role}.memory", "1g")}
            overhead = f"spark.{role}.memoryOverhead"
            # Without it the overhead is a share of the memory, and grows with it.
            keys |= {overhead: conf[overhead]} if overhead in conf else {}
            for key, size in keys.items():
                before = _mebibytes(size)
                if before is not None:
                    size_now = max(before, min(int(before * factor), limit or int(before * factor)))
                    found[key] = f"{size_now}m"
                    full[role] = full.get(role, True) and limit is not None and size_now >= limit
        if full:
            context["task_state_store"].set(_LIMIT_KEY, {role: True for role, reached in full.items() if reached})
        return found

    def _grow(self, context: Context, roles: list[str]) -> None:
        growth = _growth(context)
        for role in roles:
            growth[role] = growth.get(role, 1.0) * (self.memory_growth or 1.0)
        context["task_state_store"].set(STORE_KEY, dict(growth))


def _growth(context: Context) -> dict[str, float]:
    known = _stored(context, STORE_KEY)
    factors = {role: known.get(role) for role in _ROLES}
    return {role: float(factor) for role, factor in factors.items() if isinstance(factor, (int, float))}


def _stored(context: Context, key: str) -> Mapping[str, object]:
    stored = context["task_state_store"].get(key) if "task_state_store" in context else None
    return stored if isinstance(stored, dict) else {}


def _mebibytes(size: str) -> int | None:
    """The size in MiB, rounded up; a number alone is MiB, as Spark reads memory. None where it is no size."""
    if size.strip().isdecimal():
        return int(size)
    match = _SIZE.match(size.strip())
    if match is None:
        return None
    kibibytes = int(match[1]) * {"k": 1, "m": 1024, "g": 1024**2, "t": 1024**3}[match[2].lower()]
    return -(-kibibytes // 1024)
