"""Read the objects of a collection: the pages of a list, the events of a watch, and the lines of a streamed answer."""

import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TypeAlias

import aiohttp

from ..core.kubernetes.json_object import JsonObject
from .bounded_json import read_json
from .call import Call
from .resources import ResourceType
from .transport import AnswerTooLarge, Transport

Trim: TypeAlias = Callable[[JsonObject], object]
"""Called with each object as soon as it is received, to remove what the caller does not need."""

PAGE_SIZE = 500
# The size of a page determines the number of objects in the next one. An object can have over a megabyte.
_PAGE_BYTES = 1 << 20
_LARGEST_PAGE = 4 << 20
_FIRST_PAGE_SIZE = 50
_STEP = 8
# etcd stores objects of up to 1.5 MiB; an event contains one object as JSON.
_LONGEST_EVENT = 16 << 20


@dataclass(frozen=True)
class ObjectList:
    """A collection as it was at `resource_version`. It is not complete if it has more objects than were requested."""

    items: list[JsonObject]
    resource_version: str
    is_complete: bool = True


@dataclass(frozen=True)
class WatchEvent:
    """One event of a watch. `type` is ADDED, MODIFIED, DELETED or BOOKMARK."""

    type: str
    object: JsonObject


async def read_pages(
    transport: Transport, call: Call, trim: Trim | None, most: int | None
) -> AsyncGenerator[ObjectList, None]:
    """Yield the pages of a list. See `KubeClient.list_pages`.

    Pages have about 1 MiB, because a larger page would block the event loop while it is parsed. A page that is much
    larger, or has many more values, is abandoned, and requested again with fewer objects.
    """
    received, continuation, size = 0, "", min(PAGE_SIZE, _FIRST_PAGE_SIZE)
    while True:
        size = size if most is None else min(size, most - received)
        position = {"continue": continuation} if continuation else {}
        page_call = replace(call, parameters={"limit": str(size), **call.parameters, **position})
        try:
            page, page_bytes = await transport.request_sized(page_call, _LARGEST_PAGE if size > 1 else sys.maxsize)
        except AnswerTooLarge:
            size = max(1, size // _STEP)
            continue
        try:
            items = [_complete_item(item, call.resource, trim) for item in page.get("items") or ()]
        except (KeyError, TypeError) as error:
            raise call.build_unreachable("the list contains an invalid object") from error
        metadata = page.get("metadata") or {}
        continuation = metadata.get("continue") or ""
        received += len(items)
        yield ObjectList(items, str(metadata.get("resourceVersion", "")), is_complete=not continuation)
        if not continuation or received == most:
            return
        if items:
            size = max(1, min(PAGE_SIZE, size * _STEP, len(items) * _PAGE_BYTES // page_bytes))


async def read_events(
    transport: Transport, call: Call, seconds: float, trim: Trim | None, on_open: Callable[[], None] | None
) -> AsyncGenerator[WatchEvent, None]:
    """Yield the events of a watch that ends after `seconds` at the latest. See `KubeClient.watch`."""
    async with (
        transport.stream(call, total_seconds=seconds) as response,
        aclosing(split_lines(response.content, longest=_LONGEST_EVENT)) as lines,
    ):
        if on_open is not None:
            on_open()
        try:
            async for line in lines:
                if line.strip() and (event := await _parse_event(call, line, trim)) is not None:
                    yield event
        except LineTooLong as error:
            raise call.build_error(502, {"reason": "EventTooLarge", "message": str(error)}) from error


async def _parse_event(call: Call, line: bytes, trim: Trim | None) -> WatchEvent | None:
    """Return the event of a line; None if its type is unknown, as in a later version of the API."""
    try:
        event = await read_json(line, call.object_level)
        kind, item = event["type"], event["object"]
        if kind == "ERROR":
            failure = call.build_error(int(dict(item).get("code") or 500), item)
        elif kind == "BOOKMARK":
            return WatchEvent(kind, dict(item))
        else:
            known = kind in ("ADDED", "MODIFIED", "DELETED")
            return WatchEvent(kind, _complete_item(item, call.resource, trim)) if known else None
    except (ValueError, KeyError, TypeError) as error:
        # If a proxy ends the stream in the middle of a line, the line is incomplete.
        raise call.build_unreachable("the watch returned an incomplete event") from error
    raise failure


def _complete_item(item: JsonObject, resource: ResourceType, trim: Trim | None) -> JsonObject:
    """Add what the items of a list of built-in kinds lack. Raise KeyError or TypeError if the item is no object."""
    str.encode(item["metadata"]["name"])
    item.setdefault("apiVersion", resource.api_version)
    item.setdefault("kind", resource.kind)
    if trim is not None:
        trim(item)
    return item


class LineTooLong(Exception):
    """A line exceeds the limit of the reader."""


async def split_lines(content: aiohttp.StreamReader, *, longest: int, cut: bool = False) -> AsyncGenerator[bytes, None]:
    r"""Yield the lines of a stream without their line ends. The last line may lack `\n`.

    aiohttp's own `readline` fails on lines longer than its buffer, which large objects exceed.

    Args:
        content: The body of an answer.
        longest: The limit of a line in bytes.
        cut: Shorten longer lines to `longest` instead of raising.

    Raises:
        LineTooLong: A line exceeds `longest` and `cut` is not set.
    """
    pending = bytearray()
    skipping = False  # skip the rest of a shortened line
    async for chunk in content.iter_any():
        *complete, rest = chunk.split(b"\n")
        for piece in complete:
            if not skipping:
                pending += piece
                _check_length(pending, longest, cut)
                yield bytes(pending[:longest])
            pending.clear()
            skipping = False
        if skipping:
            continue
        pending += rest
        if len(pending) > longest:
            _check_length(pending, longest, cut)
            yield bytes(pending[:longest])
            pending.clear()
            skipping = True
    if pending:
        yield bytes(pending)


def _check_length(line: bytearray, longest: int, cut: bool) -> None:
    if len(line) > longest and not cut:
        raise LineTooLong(f"a line is longer than {longest} bytes")
