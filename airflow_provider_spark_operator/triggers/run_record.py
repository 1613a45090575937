"""Store the record of a run as an XCom of its task, from the triggerer or from a worker, while the application runs."""

import logging
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache, partial
from threading import Event
from typing import Any

from airflow.sdk.execution_time import task_runner
from asgiref.sync import sync_to_async

from ..airflow_compat import AirflowFailException, conf
from ..core.report.prices import InvalidPrices, PriceTable, parse_prices
from ..follow.recording.recorder import Build, Store
from ..follow.submission.stamp import TaskStamp
from ..provider import SECTION
from .xcoms import build_place

XCOM_KEY = "spark_run"
"""The key of the XCom with the record."""


def build_store(stamp: TaskStamp) -> Store:
    """Return the function that stores the record of a task.

    Args:
        stamp: The task.
    """

    async def store(build: Build) -> None:
        abandoned = Event()
        write = partial(_write, stamp, build, abandoned)
        try:
            await sync_to_async(write, thread_sensitive=False, executor=_create_pool())()
        finally:  # after a cancellation, the thread continues
            abandoned.set()

    return store


def require_prices(max_cost: float | None) -> None:
    """Reject a budget for the cost if there are no prices.

    Args:
        max_cost: The parameter of the task. None if the task does not limit the cost.

    Raises:
        AirflowFailException: Airflow's configuration contains no valid price table.
    """
    if max_cost is None:
        return
    text = conf.get(SECTION, "prices", fallback="") or ""
    prices, problem = _parse(text) if text else (None, "it is not set")
    if prices is None:
        raise AirflowFailException(
            f"could not limit the cost to max_cost: [{SECTION}] prices: {problem}. Set valid prices, or remove max_cost"
        )


def read_prices(log: logging.Logger) -> PriceTable | None:
    """Return the price table in Airflow's configuration; None if there is none, or if it is not valid.

    Args:
        log: Where to log that the price table is not valid.
    """
    text = conf.get(SECTION, "prices", fallback="") or ""
    prices, problem = _parse(text) if text else (None, "")
    if problem:
        log.warning("the record of this run contains no cost: [%s] prices: %s", SECTION, problem)
    return prices


@lru_cache(maxsize=4)  # thousands of tasks share one table
def _parse(text: str) -> tuple[PriceTable | None, str]:
    try:
        return parse_prices(text), ""
    except InvalidPrices as error:
        return None, str(error)


@cache
def _create_pool() -> ThreadPoolExecutor:
    # A slow XCom backend must not occupy the threads that the triggerer uses for other purposes.
    return ThreadPoolExecutor(1, thread_name_prefix="spark-run-record")


class _Abandoned(Exception):
    """The final record follows, or is stored already."""


def _write(stamp: TaskStamp, build: Build, abandoned: Event) -> None:
    if not hasattr(task_runner, "SUPERVISOR_COMMS"):
        return  # the task does not run in Airflow, but in a test
    # The import loads the configured backend, and fails if the configuration is not valid.
    from airflow.sdk.execution_time.xcom import XCom  # noqa: PLC0415

    class CheckedXCom(XCom):  # type: ignore[misc] # the class of the configured backend
        """Does not store a record whose upload to the backend took too long: it would replace the final one."""

        @classmethod
        def serialize_value(cls, *values: Any, **more: Any) -> Any:
            stored = super().serialize_value(*values, **more)
            if abandoned.is_set():
                raise _Abandoned
            return stored

    CheckedXCom.set(key=XCOM_KEY, value=build(), **build_place(stamp))
