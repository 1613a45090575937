"""Read Airflow's public REST API, and from it the records of runs, which are untrusted.

The size, the time, the number and the rate of requests are limited.
"""

import asyncio
import json
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Final, TypeAlias
from urllib.parse import quote, urlencode, urlsplit

import aiohttp
import click
from yarl import URL

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.pods import get_text, list_objects
from ...core.kubernetes.times import read_time
from ...core.report.record_values import cut_text
from ...kube.connection import find_proxy, is_loopback
from ...kube.failed_requests import describe_cause, parse_status
from ..base.errors import CommandError, ExitCode, print_note
from ..options.selection import matches

TOKEN_VARIABLE: Final = "AIRFLOW_CLI_TOKEN"  # noqa: S105 - the name of the variable
LARGEST_ANSWER: Final = 2 * 1024 * 1024
"""The size of the largest answer in bytes. A list of 100 XComs has about 60 KiB, and a record 32 KiB."""

_AT_ONCE: Final = 6
_PER_SECOND: Final = 50
_SECONDS: Final = 30.0
_PAUSES: Final = (1.0, 3.0)  # before further attempts, in seconds
_TEMPORARY: Final = frozenset({429, 502, 503, 504})
_LONGEST_REASON: Final = 200
MAX_RUNS: Final = 100_000
"""How many XComs are listed at most."""

_KEY: Final = "spark_run"
_PAGE: Final = 100
_ALL: Final = "~"
_VERSION: Final = re.compile(r"(\d{1,3})\.(\d{1,3})")
# Older versions ignore the order.
_FIRST_SORTING: Final = (3, 3)
_Key: TypeAlias = tuple[str, str, str, int]


class AirflowRequestFailed(CommandError):
    """A request to Airflow failed.

    Attributes:
        status: The status of the answer; 0 if there was none.
        concerns_all: Whether other requests would fail for the same reason.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message, ExitCode.API_FAILED)
        self.status = status
        self.concerns_all = status in _TEMPORARY | {0, HTTPStatus.UNAUTHORIZED}


def require_address(value: str) -> str:
    """Return the address of an Airflow server without a slash at its end.

    Raises:
        click.BadParameter: The value is not the address of a web page, or contains credentials or a query.
    """
    try:
        parts = urlsplit(value)
        is_valid = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        is_valid = False
    if not is_valid or not value.isprintable():
        raise click.BadParameter("must be the address of Airflow, for example https://airflow.example.com")
    if parts.username is not None or parts.query or parts.fragment:
        raise click.BadParameter(f"must not contain credentials or a query; {TOKEN_VARIABLE} contains the token")
    return value.rstrip("/")


class AirflowClient:
    """Reads from the API of one Airflow server. See `open_airflow`."""

    def __init__(self, address: str, session: aiohttp.ClientSession) -> None:
        self._address = address
        self._session = session
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._next = 0.0

    async def read(self, *path: str, **parameters: str | int) -> JsonObject:
        """Return the object at a path below `/api/v2`.

        Args:
            path: The parts of the path, which are escaped.
            parameters: The query.

        Raises:
            AirflowRequestFailed: Airflow did not answer, refused the request, or answered something else.
        """
        if any(part in (".", "..") for part in path):
            raise AirflowRequestFailed("could not read from Airflow: the ids . and .. are not supported", 400)
        place = "/".join(quote(part, safe="~") for part in path)
        query = f"?{urlencode(parameters)}" if parameters else ""
        url = URL(f"{self._address}/api/v2/{place}{query}", encoded=True)
        async with self._slots:
            for pause in _PAUSES:
                await self._wait_for_turn()
                try:
                    return await self._request(url)
                except AirflowRequestFailed as error:
                    if error.status not in _TEMPORARY:
                        raise
                await asyncio.sleep(pause)
            await self._wait_for_turn()
            return await self._request(url)

    async def _wait_for_turn(self) -> None:
        now = asyncio.get_running_loop().time()
        self._next = max(self._next, now) + 1 / _PER_SECOND
        await asyncio.sleep(self._next - now)

    async def _request(self, url: URL) -> JsonObject:
        try:
            # A redirect is not followed, so that no other server receives the token.
            async with self._session.get(url, allow_redirects=False, proxy=find_proxy(str(url))) as response:
                content = bytearray()
                async for chunk in response.content.iter_any():
                    content += chunk
                    if len(content) > LARGEST_ANSWER:
                        raise AirflowRequestFailed(self._describe(url, "the answer has more than 2 MiB"), 200)
                if response.status != HTTPStatus.OK:
                    raise self._build_refusal(url, response, bytes(content))
        except TimeoutError:
            raise AirflowRequestFailed(self._describe(url, f"it did not answer within {_SECONDS:g} s"), 0) from None
        except (aiohttp.ClientError, OSError) as error:
            cause = f"could not reach it: {describe_cause(error)}"
            raise AirflowRequestFailed(self._describe(url, cause), 0) from None
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            advice = "the answer is not a JSON object. Check that this is the address of Airflow 3"
            raise AirflowRequestFailed(self._describe(url, advice), 200)
        return answer

    def _describe(self, url: URL, cause: str) -> str:
        return f"could not read {url.raw_path} from Airflow at {self._address}: {cause}"

    def _build_refusal(self, url: URL, response: aiohttp.ClientResponse, content: bytes) -> AirflowRequestFailed:
        status, answer = response.status, parse_status(content)
        reason = cut_text(get_text(answer.get("detail") or answer.get("message")), _LONGEST_REASON)
        # Airflow answers an expired token with 401, and a token that it did not issue with 403.
        if status == HTTPStatus.FORBIDDEN and reason == "Invalid JWT token":
            status = HTTPStatus.UNAUTHORIZED
        if status == HTTPStatus.UNAUTHORIZED:
            cause = f"the token in {TOKEN_VARIABLE} is not valid, or has expired. {_advise_token(self._address)}"
        elif status == HTTPStatus.FORBIDDEN:
            cause = (
                "the user of the token has no permission. Ask an administrator of Airflow for the permission to read "
                "DAGs and XComs"
            )
        elif status in (301, 302, 303, 307, 308):
            place = cut_text(response.headers.get("Location", ""), _LONGEST_REASON)
            cause = f"it redirects to {place or 'another address'}. Use the address of Airflow itself"
        else:
            cause = f"it answered with status {status}{f': {reason}' if reason else ''}"
        return AirflowRequestFailed(self._describe(url, cause), status)


@asynccontextmanager
async def open_airflow(address: str) -> AsyncIterator[AirflowClient]:
    """Open a client for an Airflow server.

    Args:
        address: The address, as `require_address` returns it.

    Raises:
        CommandError: The environment contains no token, or one that no header can contain.
    """
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not token:
        problem = f"could not sign in to Airflow: the environment variable {TOKEN_VARIABLE} is not set"
        raise CommandError(f"{problem}. {_advise_token(address)}", ExitCode.INVALID)
    if not token.isascii() or not token.isprintable() or " " in token:
        problem = f"could not sign in to Airflow: the value of {TOKEN_VARIABLE} is not a token"
        raise CommandError(f"{problem}. {_advise_token(address)}", ExitCode.INVALID)
    if address.startswith("http:") and not is_loopback(address):
        print_note(f"sends the token to {address} in plain text, so others can read it. Use https", label="warning: ")
    headers: Mapping[str, str] = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/json",
        "Accept-Encoding": "identity",  # a small answer cannot become large
    }
    timeout = aiohttp.ClientTimeout(total=_SECONDS)
    async with aiohttp.ClientSession(headers=headers, timeout=timeout, auto_decompress=False) as session:
        yield AirflowClient(address, session)


def _advise_token(address: str) -> str:
    return f"Set it to an access token, which POST {address}/auth/token returns for a user and a password"


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
