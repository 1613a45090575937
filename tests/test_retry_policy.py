"""SparkRetryPolicy: the failures that it retries, the delays, and the memory of the next try."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from airflow.sdk import Context

from airflow_provider_spark_operator.airflow_compat import HAS_RESCHEDULES, RetryAction, RetryDecision
from airflow_provider_spark_operator.core.compose.memory import MemoryGrowth
from airflow_provider_spark_operator.core.states.capacity_wait import CapacityWait
from airflow_provider_spark_operator.exceptions import (
    SparkApplicationDeleted,
    SparkApplicationError,
    SparkApplicationFailed,
    SparkClusterDeleted,
    SparkInfrastructureFailed,
    SparkSchedulingFailed,
)
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy, build_capacity_wait

BACKOFF = timedelta(seconds=7)


class Store(dict[str, dict[str, Any]]):
    """The task state store, which keeps its values between tries."""

    def set(self, key: str, value: dict[str, Any]) -> None:
        self[key] = value


@pytest.fixture
def context() -> Context:
    return cast("Context", {"task_state_store": Store()})


def decide(error: BaseException, context: Context | None = None, **policy: Any) -> RetryDecision:
    return SparkRetryPolicy(**policy).evaluate(error, 1, 3, context)


@pytest.mark.parametrize("kind", [SparkInfrastructureFailed, SparkSchedulingFailed])
def test_infrastructure_failure_is_retried_after_its_backoff(
    kind: type[SparkInfrastructureFailed] | type[SparkSchedulingFailed],
) -> None:
    decision = decide(kind("gone", reason="DriverEvicted", retry_delay=BACKOFF))
    assert (decision.action, decision.retry_delay) == (RetryAction.RETRY, BACKOFF)


def test_retry_delay_of_the_task_is_used_without_a_backoff() -> None:
    assert decide(SparkInfrastructureFailed("gone", reason="DriverLost")).retry_delay is None


def test_application_failure_is_not_retried() -> None:
    decision = decide(SparkApplicationFailed("exit code 3", reason="DriverFailed"))
    assert decision.action is RetryAction.FAIL
    assert decision.reason == "the application itself failed, not the infrastructure"


def test_application_failure_is_retried_if_enabled() -> None:
    error = SparkApplicationFailed("exit code 3", reason="DriverFailed", retry_delay=BACKOFF)
    assert decide(error, application_failures=True).action is RetryAction.RETRY


def test_certain_failure_is_not_retried() -> None:
    error = SparkSchedulingFailed("no image", reason="SpecUnbuildable", retry_worthy=False)
    decision = decide(error, application_failures=True)
    assert (decision.action, decision.reason) == (
        RetryAction.FAIL,
        "a retry would fail in the same way (SpecUnbuildable)",
    )


def lack_capacity() -> SparkSchedulingFailed:
    return SparkSchedulingFailed("full", reason="Unschedulable", lacks_capacity=True)


class RescheduledInstance:
    """A task instance that was rescheduled for the first time at a given time."""

    def __init__(self, first: datetime | None = None) -> None:
        self.first = first

    def get_first_reschedule_date(self, context: Context) -> datetime | None:
        return self.first


@pytest.mark.needs_airflow("3.4")
@pytest.mark.parametrize(
    ("count", "age", "delay"), [(0, None, 30), (2, timedelta(hours=5), 120), (9, timedelta(hours=6), None)]
)
def test_lack_of_capacity_is_rescheduled_until_capacity_wait_is_over(
    count: int, age: timedelta | None, delay: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    first = datetime.now(UTC) - age if age else None
    context = cast("Context", {"ti": RescheduledInstance(first), "task_reschedule_count": count})
    decision = cast("Any", decide(lack_capacity(), context, capacity_wait=timedelta(hours=6)))
    if delay is None:
        assert decision.action is RetryAction.RETRY
        return
    assert decision.action.value == "reschedule"
    assert (decision.retry_delay, decision.reschedule_timeout) == (timedelta(seconds=delay), timedelta(hours=6))
    assert "without using a retry" in decision.reason  # Airflow logs it if it reschedules the task
    assert caplog.messages == []


@pytest.mark.needs_airflow("3.4")
def test_capacity_wait_counts_from_the_first_failure_of_the_try(context: Context) -> None:
    values, now = cast("dict[str, Any]", context), datetime.now(UTC)
    values |= {"ti": RescheduledInstance(now - timedelta(hours=5)), "task_reschedule_count": 0}
    assert decide(lack_capacity(), context, capacity_wait=3600).action.value == "reschedule"
    values["task_reschedule_count"] = 1
    decision = cast("Any", decide(lack_capacity(), context, capacity_wait=3600))
    assert decision.action.value == "reschedule"
    assert decision.reschedule_timeout >= timedelta(hours=6)  # Airflow counts from the start of the task
    values["ti"] = RescheduledInstance(now + timedelta(minutes=1))  # of a later try
    assert cast("Any", decide(lack_capacity(), context, capacity_wait=3600)).reschedule_timeout == timedelta(hours=1)


@pytest.mark.needs_airflow("3.4")
def test_airflow_reschedules_the_task_without_using_a_retry() -> None:
    import structlog
    from airflow.sdk.execution_time import task_runner

    task_instance: Any = RescheduledInstance()
    task_instance.task = SimpleNamespace(retry_policy=SparkRetryPolicy(capacity_wait=timedelta(hours=6)))
    task_instance._ti_context_from_server = SimpleNamespace(max_tries=0, task_reschedule_count=0)
    task_instance.try_number = 1
    context = cast("Context", {"ti": task_instance, "task_reschedule_count": 0})
    logger = structlog.get_logger()
    message, state = task_runner._handle_current_task_failed(task_instance, lack_capacity(), logger, context)
    assert state == "up_for_reschedule"
    assert cast("Any", message).reschedule_date == task_instance.end_date + timedelta(seconds=30)


@pytest.mark.parametrize(
    ("error", "policy"),
    [(SparkSchedulingFailed("no account", reason="SchedulingFailed"), {"capacity_wait": 60}), (lack_capacity(), {})],
    ids=["not a lack of capacity", "no wait"],
)
def test_other_scheduling_failure_uses_a_retry(error: SparkSchedulingFailed, policy: dict[str, Any]) -> None:
    context = cast("Context", {"ti": RescheduledInstance()})
    assert decide(error, context, **policy).action is RetryAction.RETRY
    assert decide(lack_capacity(), None, capacity_wait=60).action is RetryAction.RETRY


def test_only_older_airflow_waits_inside_of_the_try() -> None:
    policy = SparkRetryPolicy(capacity_wait=timedelta(minutes=1))
    assert build_capacity_wait(policy) == (None if HAS_RESCHEDULES else CapacityWait(60.0))
    assert build_capacity_wait(SparkRetryPolicy()) is None
    assert build_capacity_wait(None) is None


@pytest.mark.parametrize("value", ["6h", True, []])
def test_capacity_wait_that_is_no_duration_is_rejected(value: Any) -> None:
    with pytest.raises(TypeError, match="capacity_wait must be a timedelta or a number of seconds, not "):
        SparkRetryPolicy(capacity_wait=value)


@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan"), timedelta(0), timedelta(10_001)])
def test_capacity_wait_out_of_bounds_is_rejected(value: Any) -> None:
    with pytest.raises(ValueError, match="capacity_wait must be positive and at most 10000 days, not "):
        SparkRetryPolicy(capacity_wait=value)


@pytest.mark.parametrize("error", [ValueError("x"), SparkApplicationError("the API is down")])
def test_other_exceptions_are_left_to_the_task(error: ValueError | SparkApplicationError) -> None:
    assert decide(error).action is RetryAction.DEFAULT


def out_of_memory(*roles: str) -> SparkApplicationFailed:
    return SparkApplicationFailed("OOM", reason="OOMKilled", retry_worthy=False, out_of_memory=roles)


def test_out_of_memory_is_not_retried_without_memory_growth(context: Context) -> None:
    assert decide(out_of_memory("driver"), context).action is RetryAction.FAIL
    assert context["task_state_store"] == {}


@pytest.mark.needs_airflow("3.3")
def test_each_failure_multiplies_the_growth(context: Context) -> None:
    policy = SparkRetryPolicy(memory_growth=1.5, memory_limit="32g")
    assert policy.read_growth(context) == MemoryGrowth({}, "32g")
    assert policy.evaluate(out_of_memory("driver"), 1, 3, context).action is RetryAction.RETRY
    assert policy.read_growth(context) == MemoryGrowth({"driver": 1.5}, "32g")
    policy.evaluate(out_of_memory("driver", "executor"), 2, 3, context)
    assert policy.read_growth(context) == MemoryGrowth({"driver": 2.25, "executor": 1.5}, "32g")


@pytest.mark.needs_airflow("3.3")
def test_policy_without_memory_growth_ignores_stored_growth(context: Context) -> None:
    SparkRetryPolicy(memory_growth=2).evaluate(out_of_memory("driver"), 1, 3, context)
    assert SparkRetryPolicy().read_growth(context) == MemoryGrowth()


@pytest.mark.needs_airflow("3.3")
def test_role_at_the_memory_limit_is_not_retried(context: Context) -> None:
    policy = SparkRetryPolicy(memory_growth=4, memory_limit="6g")
    assert policy.evaluate(out_of_memory("driver"), 1, 5, context).action is RetryAction.RETRY
    policy.record_limits({"driver": False}, context)
    assert policy.evaluate(out_of_memory("driver"), 2, 5, context).action is RetryAction.RETRY
    policy.record_limits({"driver": True}, context)
    assert policy.evaluate(out_of_memory("driver"), 3, 5, context).action is RetryAction.FAIL
    policy.record_limits({"driver": False}, context)
    assert policy.evaluate(out_of_memory("driver"), 4, 5, context).action is RetryAction.RETRY


def executor_out_of_memory(kind: type[SparkApplicationError] = SparkApplicationFailed) -> SparkApplicationError:
    return kind("exit code 1", reason="DriverFailed", out_of_memory=("executor",))


@pytest.mark.needs_airflow("3.3")
def test_executor_at_the_memory_limit_is_not_retried_as_application_failure(context: Context) -> None:
    policy = SparkRetryPolicy(application_failures=True, memory_growth=4, memory_limit="6g")
    assert policy.evaluate(executor_out_of_memory(), 1, 5, context).action is RetryAction.RETRY
    policy.record_limits({"executor": True}, context)
    decision = policy.evaluate(executor_out_of_memory(), 2, 5, context)
    assert decision.action is RetryAction.FAIL
    assert decision.reason == "executor ran out of memory, and a retry would have the same memory"


@pytest.mark.needs_airflow("3.3")
def test_infrastructure_failure_is_retried_with_an_executor_at_the_memory_limit(context: Context) -> None:
    policy = SparkRetryPolicy(memory_growth=4, memory_limit="6g")
    policy.record_limits({"executor": True}, context)
    error = executor_out_of_memory(SparkInfrastructureFailed)
    assert policy.evaluate(error, 2, 5, context).action is RetryAction.RETRY


def test_executor_out_of_memory_is_not_retried_without_memory_growth() -> None:
    assert decide(executor_out_of_memory(), application_failures=True).action is RetryAction.FAIL


@pytest.mark.needs_airflow("3.3")
def test_executor_out_of_memory_counts_under_another_failure(context: Context) -> None:
    error = SparkInfrastructureFailed("lost", reason="DriverLost", out_of_memory=("executor",))
    policy = SparkRetryPolicy(memory_growth=2)
    assert policy.evaluate(error, 1, 3, context).action is RetryAction.RETRY
    assert policy.read_growth(context).factors == {"executor": 2}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"memory_growth": 1}, "memory_growth must be greater than 1, not 1"),
        ({"memory_limit": "lots"}, "memory_limit must be a size with its unit, such as 32g, not 'lots'"),
        ({"memory_limit": "32"}, "memory_limit must be a size with its unit, such as 32g, not '32'"),
    ],
)
def test_invalid_policy_is_rejected(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SparkRetryPolicy(**arguments)


@pytest.mark.parametrize("error", [SparkApplicationDeleted, SparkClusterDeleted])
@pytest.mark.parametrize(("deletions", "action"), [(False, RetryAction.FAIL), (True, RetryAction.DEFAULT)])
def test_deletion_is_retried_only_if_enabled(
    context: Context,
    deletions: bool,
    action: RetryAction,
    error: type[SparkApplicationDeleted] | type[SparkClusterDeleted],
) -> None:
    deleted = error("jobs/pi was deleted")
    assert SparkRetryPolicy(deletions=deletions).evaluate(deleted, 1, 3, context).action is action


@pytest.mark.parametrize("name", ["application_failures", "deletions"])
def test_switch_of_policy_that_is_not_boolean_is_rejected(name: str) -> None:
    switch: dict[str, Any] = {name: "false"}
    with pytest.raises(TypeError, match=f"{name} must be True or False, not 'false'"):
        SparkRetryPolicy(**switch)
