"""The wait of a sensor without Airflow's pokes, with `soft_fail` and `never_fail`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseSensorOperator

from ..airflow_compat import AirflowException, AirflowSensorTimeout, AirflowSkipException, TaskDeferralTimeout

if TYPE_CHECKING:
    from .runtime import Wait


def start_wait(sensor: BaseSensorOperator, wait: "Wait[Any]", *, deferrable: bool) -> str:
    """Wait in the triggerer if the sensor is deferrable, and on a worker otherwise."""
    if deferrable:
        sensor.defer(trigger=wait.trigger, method_name="execute_complete", timeout=sensor.timeout)
    access = wait.read_connection()  # outside of the block: an invalid connection is never skipped
    with skip_failures(sensor):
        return wait.run(access)


@contextmanager
def skip_failures(sensor: BaseSensorOperator) -> Iterator[None]:
    """Turn an exception in this block into a skip if `soft_fail` or `never_fail` is set.

    Airflow does so only for deferrals and pokes.

    Raises:
        AirflowSkipException: The block failed, and one of the two is set.
    """
    try:
        yield
    except AirflowSkipException:
        raise
    except AirflowException as error:
        if sensor.soft_fail or sensor.never_fail:
            raise AirflowSkipException(str(error)) from error
        raise


@contextmanager
def keep_reasons(sensor: BaseSensorOperator, timeout_message: str) -> Iterator[None]:
    """Add the reason to the failure or skip of a deferred sensor, which Airflow reports without one.

    Airflow 3.0 also does not skip a deferred sensor that timed out, or that has `never_fail`. This function does.

    Args:
        sensor: The sensor.
        timeout_message: The message for a sensor that timed out.

    Raises:
        AirflowException: The exception of the block, with its reason.
    """
    try:
        with skip_failures(sensor):
            yield
    except AirflowSensorTimeout as error:
        raise AirflowSensorTimeout(timeout_message) from error
    except AirflowSkipException as error:
        cause = error.__cause__
        if cause is None:
            raise
        raise AirflowSkipException(
            timeout_message if isinstance(cause, AirflowSensorTimeout) else str(cause)
        ) from cause


def is_timeout(error: BaseException | None) -> bool:
    """Return whether a timeout is `error` or its cause. Airflow turns a timeout of a soft sensor into a skip."""
    while error is not None and not isinstance(error, AirflowSensorTimeout | TaskDeferralTimeout):
        error = error.__cause__ or error.__context__
    return error is not None
