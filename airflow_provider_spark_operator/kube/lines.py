"""Split a streamed answer into lines."""

from collections.abc import AsyncGenerator

import aiohttp


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
