"""Read the records of runs that tasks stored as XComs. The answers of the server are untrusted."""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Final, TypeAlias

from ...core.kubernetes.pods import get_text, list_objects
from ...core.kubernetes.times import read_time
from ..options.selection import matches
from .client import AirflowClient, AirflowRequestFailed

MAX_RUNS: Final = 100_000
"""How many XComs are listed at most."""

_KEY: Final = "spark_run"
_PAGE: Final = 100
_ALL: Final = "~"
_VERSION: Final = re.compile(r"(\d{1,3})\.(\d{1,3})")
# Older versions ignore the order.
_FIRST_SORTING: Final = (3, 3)
_Key: TypeAlias = tuple[str, str, str, int]


@dataclass(frozen=True)
class RecordedRun:
    """What one task instance recorded.

    Attributes:
        dag: The id of the DAG.
        task: The id of the task.
        index: The index of a mapped task, else -1.
        value: The recorded value, which may be no record.
        problem: Why it could not be read; empty if it was.
    """

    dag: str
    task: str
    index: int
    value: object
    problem: str = ""


async def list_recorded_runs(
    client: AirflowClient, dag: str | None, since: datetime
) -> AsyncGenerator[list[RecordedRun], None]:
    """Yield the runs that were recorded since a time, the newest first, in pages.

    Args:
        client: The client of Airflow.
        dag: The id of a DAG. With a `*` at its end, or None, all DAGs that the user may read.
        since: The time.

    Raises:
        AirflowRequestFailed: The XComs could not be listed, or Airflow does not answer any more.
    """
    known: set[_Key] = set()
    async with aclosing(_list_pages(client, _KEY, dag, since)) as pages:
        async for page in pages:
            # A record that is stored meanwhile moves others to the next page.
            fresh = [key for key in page if key not in known]
            known.update(fresh)
            yield await _read_values(client, _KEY, fresh)


async def list_latest(
    client: AirflowClient, xcom_key: str, dag: str | None, since: datetime
) -> AsyncGenerator[list[RecordedRun], None]:
    """Yield the latest XCom of each task, and of each index of a mapped task, in pages.

    Args:
        client: The client of Airflow.
        xcom_key: The key of the XCom.
        dag: The id of a DAG, see `list_recorded_runs`.
        since: The time since which it was stored.

    Raises:
        AirflowRequestFailed: The XComs could not be listed, or Airflow does not answer any more.
    """
    latest: dict[tuple[str, str, int], tuple[datetime, _Key]] = {}
    async with aclosing(_list_pages(client, xcom_key, dag, since)) as pages:
        async for page in pages:
            for key, time in page.items():
                place = (key[0], *key[2:])
                latest[place] = max(latest.get(place, (time, key)), (time, key))
    keys = [key for _, key in latest.values()]
    for start in range(0, len(keys), _PAGE):
        yield await _read_values(client, xcom_key, keys[start : start + _PAGE])


async def _list_pages(
    client: AirflowClient, xcom_key: str, dag: str | None, since: datetime
) -> AsyncGenerator[dict[_Key, datetime], None]:
    """Yield the task instances whose XComs were stored since a time, with this time."""
    version = _VERSION.match(get_text((await client.read("version")).get("version")))
    is_sorted = version is not None and (int(version[1]), int(version[2])) >= _FIRST_SORTING
    place = _ALL if dag is None or dag.endswith("*") else dag
    path = ("dags", place, "dagRuns", _ALL, "taskInstances", _ALL, "xcomEntries")
    offset, total = 0, 1
    while offset < min(total, MAX_RUNS):
        page = await client.read(*path, xcom_key=xcom_key, limit=_PAGE, offset=offset, order_by="-timestamp")
        entries = list_objects(page.get("xcom_entries"))
        times = [(entry, read_time(entry.get("timestamp"))) for entry in entries]
        recent = [(entry, time) for entry, time in times if time is not None and time >= since]
        found = {_identify(entry): time for entry, time in recent if entry.get("key") == xcom_key}
        yield {key: time for key, time in found.items() if matches(dag, key[0])}
        number = page.get("total_entries")
        offset, total = offset + len(entries), number if isinstance(number, int) else 0
        if not entries or (is_sorted and len(recent) < len(entries)):
            return


def _identify(entry: Mapping[str, object]) -> _Key:
    index = entry.get("map_index")
    dag, run, task = (get_text(entry.get(name)) for name in ("dag_id", "run_id", "task_id"))
    return dag, run, task, index if isinstance(index, int) else -1


async def _read_values(client: AirflowClient, xcom_key: str, keys: Iterable[_Key]) -> list[RecordedRun]:
    reads = [asyncio.create_task(_read_value(client, xcom_key, *key)) for key in keys]
    try:
        return [run for run in await asyncio.gather(*reads) if run]
    finally:  # after a failure, the other requests would last
        for read in reads:
            read.cancel()
        await asyncio.gather(*reads, return_exceptions=True)


async def _read_value(
    client: AirflowClient, xcom_key: str, dag: str, run: str, task: str, index: int
) -> RecordedRun | None:
    """Return what a task instance recorded; None if a new try has deleted it meanwhile."""
    path = ("dags", dag, "dagRuns", run, "taskInstances", task, "xcomEntries", xcom_key)
    try:
        value = (await client.read(*path, map_index=index)).get("value")
        if isinstance(value, str):  # the reference of a custom XCom backend
            value = (await client.read(*path, map_index=index, deserialize="true")).get("value")
    except AirflowRequestFailed as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        if error.concerns_all:
            raise
        return RecordedRun(dag, task, index, None, str(error))
    return RecordedRun(dag, task, index, value)
