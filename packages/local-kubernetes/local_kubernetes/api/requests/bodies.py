"""Request bodies: JSON or protobuf of bounded size.

Clients send JSON also for server-side apply, although its media type names YAML. The server reads no YAML: each parser
reads some texts without quotes differently.
"""

import json
import math
from typing import Any, NoReturn

from aiohttp import web

from ..kinds.documents import JsonObject
from ..kinds.status import build_bad_request, build_too_large, build_unsupported_media_type
from . import protobuf

MAX_BODY_BYTES = 3 * 1024 * 1024
JSON = "application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"


async def read_bytes(request: web.Request) -> bytes:
    """Return the bytes of the body.

    Raises:
        ApiStatusError: 413.
    """
    try:
        return await request.read()
    except web.HTTPRequestEntityTooLarge as error:
        raise build_too_large(MAX_BODY_BYTES) from error


async def read_object(request: web.Request) -> JsonObject:
    """Return the document in a body; an empty body is an empty document.

    Raises:
        ApiStatusError: 400 for a body that is not an object, 413, 415.
    """
    content_type = request.content_type if "Content-Type" in request.headers else JSON
    if content_type not in (JSON, PROTOBUF):
        raise build_unsupported_media_type((JSON, PROTOBUF))
    document = decode(await read_bytes(request), content_type)
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise build_bad_request("the body must be an object with apiVersion and kind")
    return document


async def read_required_object(request: web.Request) -> JsonObject:
    """Return the document in a body that must not be empty.

    Raises:
        ApiStatusError: 400, 413, 415 as for `read_object`, and 400 for an empty body.
    """
    document = await read_object(request)
    if not document and not (await read_bytes(request)).strip():
        raise build_bad_request("the body of the request is empty: send the object")
    return document


def decode(body: bytes, content_type: str) -> Any:
    """Return the value in a body; None for an empty body.

    Raises:
        ApiStatusError: 400.
    """
    if not body.strip():
        return None
    try:
        if content_type == PROTOBUF:
            return protobuf.decode(body)
        return _decode_json(body)
    except (ValueError, RecursionError) as error:
        text = " ".join(str(error).split())
        advice = ". Send JSON: this server reads no YAML" if content_type.endswith("yaml") else ""
        raise build_bad_request(f"the body of the request cannot be read as {content_type}: {text}{advice}") from error


def _decode_json(body: bytes) -> Any:
    """Parse JSON; invalid UTF-8 becomes replacement characters, as in Kubernetes."""
    text = body.decode(errors="replace")
    value = json.loads(text, parse_constant=_refuse_constant, parse_float=_parse_finite)
    return _replace_surrogates(value) if "\\ud" in text.lower() else value


def _replace_surrogates(value: Any) -> Any:
    """Replace lone surrogates, which escapes can produce and which cannot be encoded."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_replace_surrogates(key): _replace_surrogates(item) for key, item in value.items()}
    return [_replace_surrogates(item) for item in value] if isinstance(value, list) else value


def _parse_finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is out of range")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
