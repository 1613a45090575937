"""`soft_fail` and `never_fail` where a sensor waits by itself, without Airflow's pokes, and the reason kept."""

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.sdk import BaseSensorOperator
from airflow.sdk.exceptions import AirflowException, AirflowSensorTimeout, AirflowSkipException


@contextmanager
def failures_skipped(sensor: BaseSensorOperator) -> Iterator[None]:
    """Make a failure in this block a skip where `sensor` may fail softly; Airflow does so for deferrals and pokes only.

    Raises:
        AirflowSkipException: It failed, and may do so softly.
    """
    try:
        yield
    except AirflowException as error:
        if sensor.soft_fail or sensor.never_fail:
            raise AirflowSkipException(str(error)) from error
        raise


@contextmanager
def reasons_kept(late: str) -> Iterator[None]:
    """Say why a deferred sensor fails, or is skipped: Airflow itself says only that its time was over, or that it is.

    Args:
        late: What to say where its time is over.

    Raises:
        AirflowException: What was raised, with its reason.
    """
    try:
        yield
    except AirflowSensorTimeout as error:
        raise AirflowSensorTimeout(late) from error
    except AirflowSkipException as error:
        cause = error.__cause__
        if cause is None:
            raise
        raise AirflowSkipException(late if isinstance(cause, AirflowSensorTimeout) else str(cause)) from cause
