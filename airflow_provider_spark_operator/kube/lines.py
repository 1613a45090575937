"""Lines out of a streamed answer, however its chunks fall and however long a line is."""

from collections.abc import AsyncGenerator

import aiohttp


class LineTooLong(Exception):
    """A line is longer than the reader is willing to keep in memory."""


async def split_lines(content: aiohttp.StreamReader, *, longest: int, cut: bool = False) -> AsyncGenerator[bytes, None]:
    r"""The lines of a stream without their line ends, the last one also where `\n` is missing.

    aiohttp's own `readline` gives up on lines longer than its buffer, which large objects reach.

    Args:
        content: The body of an answer.
        longest: In bytes.
        cut: Shorten longer lines to `longest` instead of raising.

    Raises:
        LineTooLong: A line exceeds `longest` and `cut` is not set.
    """
    pending = bytearray()
    skipping = False  # the rest of a line that was cut
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
