"""`soft_fail` and `never_fail` where a sensor waits in its worker by itself, without Airflow's pokes."""

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.sdk import BaseSensorOperator
from airflow.sdk.exceptions import AirflowException, AirflowSkipException


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
