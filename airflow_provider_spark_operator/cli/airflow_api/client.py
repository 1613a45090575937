"""Read Airflow's public REST API. The size, the time, the number and the rate of requests are limited."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final
from urllib.parse import quote, urlencode, urlsplit

import aiohttp
import click
from yarl import URL

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.pods import get_text
from ...core.report.record_values import cut_text
from ...kube.connection import find_proxy, is_loopback
from ...kube.failed_requests import describe_cause, parse_status
from ..base.errors import CommandError, ExitCode, print_note

TOKEN_VARIABLE: Final = "AIRFLOW_CLI_TOKEN"  # noqa: S105 - the name of the variable
LARGEST_ANSWER: Final = 2 * 1024 * 1024
"""The size of the largest answer in bytes. A list of 100 XComs has about 60 KiB, and a record 32 KiB."""

_AT_ONCE: Final = 6
_PER_SECOND: Final = 50
_SECONDS: Final = 30.0
_PAUSES: Final = (1.0, 3.0)  # before further attempts, in seconds
_TEMPORARY: Final = frozenset({429, 502, 503, 504})
_LONGEST_REASON: Final = 200


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
