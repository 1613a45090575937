"""A retry policy for tasks that run Spark applications, which decides by the kind of failure."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from . import airflow_compat
from .core.compose.memory import ROLES, MemoryGrowth, is_size
from .core.kubernetes.times import to_seconds
from .core.parameters.arguments import check_booleans
from .core.states.capacity_wait import CapacityWait
from .exceptions import SparkApplicationDeleted, SparkApplicationError, SparkApplicationFailed, SparkClusterDeleted

if TYPE_CHECKING:
    from airflow.sdk import Context

__all__ = ["SparkRetryPolicy"]

STORE_KEY = "spark_memory_growth"
_LIMIT_KEY = "spark_memory_at_limit"
_LONGEST_WAIT = timedelta(days=10_000)
_WAIT_KEY = "spark_capacity_wait"


class SparkRetryPolicy(airflow_compat.RetryPolicy):
    """Retry infrastructure and scheduling failures; by default, fail immediately on application failures.

    - Infrastructure and scheduling failures are retried, unless a retry would certainly fail in the same way. The
      delay is the backoff in the application's restartConfig or, if it has none, the task's `retry_delay`.
    - By default, a deletion of the application by a user or another program is not retried.
    - Other errors, for example an API server that is not available, are retried as the task specifies.

    A policy never adds to the `retries` of the task. Only with `capacity_wait`, some failures use no retry.

    From Airflow 3.3 on, Airflow asks the policy. On older versions, the operators of this provider ask it. There, the
    delay is always the task's `retry_delay`, and `memory_growth` has no effect.

    Args:
        application_failures: Whether to retry failures of the application itself, too. Failures in which the driver or
            an executor ran out of memory are not affected: `memory_growth` alone decides whether they are retried.
        deletions: Whether to retry after a user or another program deleted the application or the SparkCluster.
        memory_growth: Factor by which the memory grows after the driver or an executor was out of memory, for example
            1.5. It is applied again after each such failure. The task state store keeps the result, so that a cleared
            task starts with the memory that was sufficient. If None, such failures are not retried.
        memory_limit: The maximum memory, for example "32g". If the driver or the executors run out of memory at this
            limit and the application fails, the task fails. If None, there is no limit.
        capacity_wait: How long a try of the task may wait for capacity, in seconds or as a timedelta, for example
            `timedelta(hours=6)`. If a quota is used up or no node has room for the driver, the application is submitted
            again, and no retry is used. The pauses grow from 30 seconds to 10 minutes. On Airflow 3.4, the task is
            rescheduled. On older versions, the task itself waits. After this time, such a failure uses a retry. If
            None, each such failure uses a retry.

    Raises:
        TypeError: A switch is not a boolean, or `capacity_wait` is not a duration.
        ValueError: `memory_growth` is not greater than 1, `memory_limit` is not a size, or `capacity_wait` is not
            between 0 and 10,000 days.
    """

    def __init__(
        self,
        *,
        application_failures: bool = False,
        deletions: bool = False,
        memory_growth: float | None = None,
        memory_limit: str | None = None,
        capacity_wait: timedelta | float | None = None,
    ) -> None:
        check_booleans(application_failures=application_failures, deletions=deletions)
        if memory_growth is not None and not memory_growth > 1:
            raise ValueError(f"memory_growth must be greater than 1, not {memory_growth!r}")
        if memory_limit is not None and not is_size(memory_limit):
            raise ValueError(f"memory_limit must be a size with its unit, such as 32g, not {memory_limit!r}")
        seconds = to_seconds(capacity_wait)
        if capacity_wait is not None and seconds is None:
            raise TypeError(f"capacity_wait must be a timedelta or a number of seconds, not {capacity_wait!r}")
        if seconds is not None and not 0 < seconds <= _LONGEST_WAIT.total_seconds():
            raise ValueError(
                f"capacity_wait must be positive and at most {_LONGEST_WAIT.days} days, not {capacity_wait!r}"
            )
        self.capacity_wait = None if seconds is None else timedelta(seconds=seconds)
        self.application_failures = application_failures
        self.deletions = deletions
        if memory_growth is not None and not airflow_compat.HAS_RETRY_POLICIES:
            airflow_compat.warn_too_old(
                "memory_growth", "an application that runs out of memory is not retried with more memory"
            )
        self.memory_growth = memory_growth if airflow_compat.HAS_RETRY_POLICIES else None
        self.memory_limit = memory_limit

    def evaluate(
        self,
        exception: BaseException,
        try_number: int,  # noqa: ARG002 - Airflow's signature
        max_tries: int,  # noqa: ARG002
        context: "Context | None" = None,
    ) -> airflow_compat.RetryDecision:
        """Return the decision for an exception, by the kind of failure. See the class."""
        if not isinstance(exception, SparkApplicationError):
            return airflow_compat.RetryDecision.default()
        roles = [role for role in ROLES if role in exception.out_of_memory]
        if self.memory_growth is not None and context is not None:
            limited = _read_store(context, _LIMIT_KEY)
            growing = [role for role in roles if role not in limited]
            if growing:
                self._grow(context, growing)
                reason = (
                    f"{' and '.join(growing)} ran out of memory; "
                    f"trying again with {self.memory_growth:g} times the memory"
                )
                return airflow_compat.RetryDecision.retry(exception.retry_delay, reason)
        if isinstance(exception, SparkApplicationDeleted | SparkClusterDeleted) and not self.deletions:
            deleted = "cluster" if isinstance(exception, SparkClusterDeleted) else "application"
            return airflow_compat.RetryDecision.fail(f"a user or another program deleted the {deleted}")
        if not exception.retry_worthy:
            return airflow_compat.RetryDecision.fail(f"a retry would fail in the same way ({exception.reason})")
        if isinstance(exception, SparkApplicationFailed) and roles:
            return airflow_compat.RetryDecision.fail(
                f"{' and '.join(roles)} ran out of memory, and a retry would have the same memory"
            )
        if isinstance(exception, SparkApplicationFailed) and not self.application_failures:
            return airflow_compat.RetryDecision.fail("the application itself failed, not the infrastructure")
        if exception.reason is None:
            return airflow_compat.RetryDecision.default()
        if airflow_compat.HAS_RESCHEDULES and exception.lacks_capacity and (decision := self._reschedule(context)):
            return decision
        return airflow_compat.RetryDecision.retry(exception.retry_delay, exception.reason)

    def read_growth(self, context: "Context") -> MemoryGrowth:
        """Return the growth of memory after the earlier failures of a task; no growth before the first.

        Args:
            context: The context of the task.
        """
        if self.memory_growth is None:
            return MemoryGrowth()
        return MemoryGrowth(_read_factors(context), self.memory_limit)

    def record_limits(self, limits: Mapping[str, bool], context: "Context") -> None:
        """Record which roles have reached the memory limit. They get no other try after they run out of memory.

        Args:
            limits: Whether each role that grew, "driver" or "executor", has reached the limit.
            context: The context of the task.
        """
        context["task_state_store"].set(_LIMIT_KEY, {role: True for role, reached in limits.items() if reached})

    def _reschedule(self, context: "Context | None") -> airflow_compat.RetryDecision | None:
        """Return the decision to run the task again without using a retry. None if the task waits no longer."""
        if self.capacity_wait is None or context is None:
            return None
        number, first = airflow_compat.read_reschedules(context)
        failed, now = _read_first_failure(context, first), datetime.now(UTC)
        since = failed.isoformat() if failed else None
        wait = CapacityWait(self.capacity_wait.total_seconds(), since, number).add_failure(now)
        if wait is None:
            return None
        if number == 0 and "task_state_store" in context:
            context["task_state_store"].set(_WAIT_KEY, {"since": now.isoformat()})
        # Airflow counts from the start of the task that failed first.
        timeout = self.capacity_wait + ((failed - first) if failed and first else timedelta())
        return airflow_compat.build_reschedule(wait.delay, timeout, wait.describe(now))  # Airflow logs this reason

    def _grow(self, context: "Context", roles: list[str]) -> None:
        growth = _read_factors(context)
        for role in roles:
            growth[role] = growth.get(role, 1.0) * (self.memory_growth or 1.0)
        context["task_state_store"].set(STORE_KEY, dict(growth))


def find_spark_policy(policy: airflow_compat.RetryPolicy | None) -> SparkRetryPolicy | None:
    """Return the policy that knows the growth of a task's memory; None if there is none.

    Args:
        policy: The policy of the task, which may be a `ChainRetryPolicy` of several policies.
    """
    if policy is None or isinstance(policy, SparkRetryPolicy):
        return policy
    chained = (find_spark_policy(each) for each in getattr(policy, "policies", ()))
    return next((each for each in chained if each is not None), None)


def build_capacity_wait(policy: airflow_compat.RetryPolicy | None) -> CapacityWait | None:
    """Return the wait of a try for capacity, before its first failure. None if the task itself does not wait.

    Args:
        policy: The policy of the task.
    """
    spark_policy = find_spark_policy(policy)
    if airflow_compat.HAS_RESCHEDULES or spark_policy is None or spark_policy.capacity_wait is None:
        return None
    return CapacityWait(spark_policy.capacity_wait.total_seconds())


def _read_factors(context: "Context") -> dict[str, float]:
    known = _read_store(context, STORE_KEY)
    factors = {role: known.get(role) for role in ROLES}
    return {role: float(factor) for role, factor in factors.items() if isinstance(factor, (int, float))}


def _read_first_failure(context: "Context", first: datetime | None) -> datetime | None:
    """Return when this try failed first because of a lack of capacity. None if it did not.

    Args:
        context: The context of the task.
        first: The start of the task that was rescheduled first in this try. None if there is none.
    """
    stored = _read_store(context, _WAIT_KEY).get("since")
    # Without a store, the start is the best that is known. An earlier time belongs to an earlier try.
    return max(first, datetime.fromisoformat(stored)) if first and isinstance(stored, str) else first


def _read_store(context: "Context", key: str) -> Mapping[str, object]:
    stored = context["task_state_store"].get(key) if "task_state_store" in context else None
    return stored if isinstance(stored, dict) else {}
