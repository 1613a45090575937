"""Read the records of runs that tasks stored as XComs. The answers of the server are untrusted."""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Final, TypeAlias

from ...core.kubernetes.pods import get_text, list_objects
from ...core.kubernetes.times import read_time
from ..options.task_filter import matches
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
        value: The recorded value, which may be no record.
        problem: Why it could not be read; empty if it was.
    """

    dag: str
    task: str
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
    version = _VERSION.match(get_text((await client.read("version")).get("version")))
    is_sorted = version is not None and (int(version[1]), int(version[2])) >= _FIRST_SORTING
    place = _ALL if dag is None or dag.endswith("*") else dag
    path = ("dags", place, "dagRuns", _ALL, "taskInstances", _ALL, "xcomEntries")
    known: set[_Key] = set()
    offset, total = 0, 1
    while offset < min(total, MAX_RUNS):
        page = await client.read(*path, xcom_key=_KEY, limit=_PAGE, offset=offset, order_by="-timestamp")
        entries = list_objects(page.get("xcom_entries"))
        recent = [entry for entry in entries if _is_recent(entry, since)]
        found = {_identify(entry): entry for entry in recent if entry.get("key") == _KEY}
        # A record that is stored meanwhile moves others to the next page.
        fresh = [key for key in found if key not in known and matches(dag, key[0])]
        known.update(fresh)
        yield await _read_values(client, fresh)
        number = page.get("total_entries")
        offset, total = offset + len(entries), number if isinstance(number, int) else 0
        if not entries or (is_sorted and len(recent) < len(entries)):
            return


def _is_recent(entry: Mapping[str, object], since: datetime) -> bool:
    time = read_time(entry.get("timestamp"))
    return time is not None and time >= since


def _identify(entry: Mapping[str, object]) -> _Key:
    index = entry.get("map_index")
    dag, run, task = (get_text(entry.get(name)) for name in ("dag_id", "run_id", "task_id"))
    return dag, run, task, index if isinstance(index, int) else -1


async def _read_values(client: AirflowClient, keys: Iterable[_Key]) -> list[RecordedRun]:
    reads = [asyncio.create_task(_read_value(client, *key)) for key in keys]
    try:
        return [run for run in await asyncio.gather(*reads) if run]
    finally:  # after a failure, the other requests would last
        for read in reads:
            read.cancel()
        await asyncio.gather(*reads, return_exceptions=True)


async def _read_value(client: AirflowClient, dag: str, run: str, task: str, index: int) -> RecordedRun | None:
    """Return what a task instance recorded; None if a new try has deleted it meanwhile."""
    path = ("dags", dag, "dagRuns", run, "taskInstances", task, "xcomEntries", _KEY)
    try:
        value = (await client.read(*path, map_index=index)).get("value")
        if isinstance(value, str):  # the reference of a custom XCom backend
            value = (await client.read(*path, map_index=index, deserialize="true")).get("value")
    except AirflowRequestFailed as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        if error.concerns_all:
            raise
        return RecordedRun(dag, task, None, str(error))
    return RecordedRun(dag, task, value)
