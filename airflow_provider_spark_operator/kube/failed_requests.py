"""The cause of a failed request, an exception of aiohttp or the answer of a server, and whether to repeat it."""

import json
import os
import random
import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from .call import Call
from .errors import DISCOVER, KubeError, ServerError, TooManyRequests, Unauthorized, is_refusal
from .link import Link

_READING_VERBS = frozenset({"get", "list", DISCOVER})
_LOST_ANSWER = (
    aiohttp.ServerDisconnectedError,
    aiohttp.ClientOSError,
    aiohttp.ClientPayloadError,
    ConnectionResetError,
)
_ERROR_NUMBER = re.compile(r"\[Errno ([0-9]+)\]")
# The names of the error for an answer without TLS in different OpenSSL versions.
_NOT_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")


@dataclass(frozen=True)
class RequestRetryPolicy:
    """How often to repeat a request, and how long to wait: the seconds double from `first` up to `longest`.

    If the server requests a pause (Retry-After) longer than `longest`, the request is not repeated.

    Attributes:
        writes: Whether to repeat writes that may have taken effect. They must have preconditions or fixed names: the
            API then rejects the repetition of a write that has taken effect with Conflict, AlreadyExists or NotFound.
    """

    writes: bool = False
    retries: int = 3
    first: float = 0.25
    longest: float = 10.0

    def compute_pause(self, retry: int, error: KubeError) -> float | None:
        """Return the seconds before retry number `retry` (from 0). Return None if the request is not repeated."""
        if retry >= self.retries or not self._is_worthwhile(error):
            return None
        wanted = error.retry_after
        if wanted is not None:
            return wanted if wanted <= self.longest else None
        return min(self.longest, self.first * 2.0**retry) * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, no secret

    def _is_worthwhile(self, error: KubeError) -> bool:
        # The API rejects with 429 before it processes a request, so every verb can be repeated. Other failures may have
        # taken effect. A refused connection is reported at once, because a retry would not help.
        if isinstance(error, TooManyRequests):
            return True
        if error.verb not in _READING_VERBS and not self.writes:
            return False
        is_temporary = isinstance(error, ServerError) and not is_refusal(error)
        return is_temporary or (isinstance(error.__cause__, _LOST_ANSWER) and not had_no_effect(error))


@contextmanager
def translate_errors(call: Call, link: Link, total_seconds: float | None) -> Iterator[None]:
    """Translate the exceptions of aiohttp in the body into `Unreachable`."""
    try:
        yield
    except TimeoutError as error:
        limit = f" within {total_seconds:.0f} s" if total_seconds else " in time"
        raise call.build_unreachable(f"{link.server} did not answer{limit}") from error
    except (aiohttp.ClientError, OSError) as error:
        raise call.build_unreachable(f"could not reach {link.server}: {describe_cause(error)}") from error


def parse_status(content: bytes) -> dict[str, Any]:
    """Return the Status in the body of an answer, or one with the text of another body."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict):
        return document
    # A proxy in front of the API server may send any bytes.
    words = content.decode("utf-8", "replace").split()
    text = "".join(character for character in " ".join(words) if character.isprintable())
    return {"message": text[:200]} if text else {}


def is_kubernetes_not_found(content: bytes) -> bool:
    """Return whether the body of an answer with status 404 is one of the API server, not of a proxy."""
    # The API server answers a path outside of its API groups with this text.
    return parse_status(content).get("kind") == "Status" or content.strip() == b"404 page not found"


def read_retry_after(response: aiohttp.ClientResponse) -> float | None:
    """Return the pause that a server requests, in seconds."""
    try:
        return max(0.0, float(response.headers["Retry-After"]))
    except (KeyError, ValueError):  # missing, or a date, which the API never sends
        return None


def describe_cause(error: BaseException) -> str:
    """Return the innermost cause of a failed connection, such as `Connection refused`."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"its TLS certificate is not trusted: {error.certificate_error}"
    if isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientPayloadError):
        return "the connection was lost before the answer was complete"
    if isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
    if isinstance(error, ssl.SSLError) and error.reason in _NOT_TLS:
        return "the server does not use TLS on this port"
    # asyncio replaces the system's message by addresses and error numbers; some errors have no number.
    number = _ERROR_NUMBER.search(str(error)) if isinstance(error, OSError) else None
    if number is not None and not isinstance(error, ssl.SSLError | socket.gaierror):
        return os.strerror(int(number[1]))
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def had_no_effect(error: KubeError) -> bool:
    """Return whether the API server cannot have processed the request: it was rejected or not sent."""
    unsent = isinstance(error.__cause__, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
    return isinstance(error, Unauthorized) or unsent
