"""A retry policy for tasks that run Spark applications: what is worth another try gets one, the rest fails at once."""

from collections.abc import Mapping

from airflow.sdk import Context, RetryDecision, RetryPolicy

from airflow_provider_spark_operator.core.arguments import check_booleans
from airflow_provider_spark_operator.core.compose.memory import ROLES, MemoryGrowth, is_size
from airflow_provider_spark_operator.exceptions import (
    SparkApplicationDeleted,
    SparkApplicationError,
    SparkApplicationFailed,
    SparkClusterDeleted,
)

STORE_KEY = "spark_memory_growth"
_LIMIT_KEY = "spark_memory_at_limit"


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
        if memory_limit is not None and not is_size(memory_limit):
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
        starved = [role for role in ROLES if role in exception.out_of_memory]
        if self.memory_growth is not None and context is not None:
            starved = [role for role in starved if role not in _read_store(context, _LIMIT_KEY)]
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

    def read_growth(self, context: Context) -> MemoryGrowth:
        """Return the growth of memory after the earlier failures of a task; no growth before the first.

        Args:
            context: The context of the task.
        """
        if self.memory_growth is None:
            return MemoryGrowth()
        return MemoryGrowth(_read_factors(context), self.memory_limit)

    def record_limits(self, limits: Mapping[str, bool], context: Context) -> None:
        """Record which roles have reached the memory limit: they get no other try after they run out of memory.

        Args:
            limits: Whether each role that grew, "driver" or "executor", has reached the limit.
            context: The context of the task.
        """
        context["task_state_store"].set(_LIMIT_KEY, {role: True for role, reached in limits.items() if reached})

    def _grow(self, context: Context, roles: list[str]) -> None:
        growth = _read_factors(context)
        for role in roles:
            growth[role] = growth.get(role, 1.0) * (self.memory_growth or 1.0)
        context["task_state_store"].set(STORE_KEY, dict(growth))


def _read_factors(context: Context) -> dict[str, float]:
    known = _read_store(context, STORE_KEY)
    factors = {role: known.get(role) for role in ROLES}
    return {role: float(factor) for role, factor in factors.items() if isinstance(factor, (int, float))}


def _read_store(context: Context, key: str) -> Mapping[str, object]:
    stored = context["task_state_store"].get(key) if "task_state_store" in context else None
    return stored if isinstance(stored, dict) else {}
