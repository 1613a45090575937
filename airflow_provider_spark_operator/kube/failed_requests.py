"""The cause of a failed request: an exception of aiohttp, or the answer of a server."""

import json
import os
import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp

from .call import Call
from .link import Link

_ERROR_NUMBER = re.compile(r"\[Errno ([0-9]+)\]")
# The names of the error for an answer without TLS in different OpenSSL versions.
_NOT_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")


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
