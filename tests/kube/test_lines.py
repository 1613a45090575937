from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_spark_operator.kube.collection import LineTooLong, split_lines

if TYPE_CHECKING:
    import aiohttp


class Chunks:
    def __init__(self, chunks: Sequence[bytes]) -> None:
        self._chunks = chunks

    async def iter_any(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk


async def collect_lines(chunks: Sequence[bytes], longest: int = 1000, *, cut: bool = False) -> list[bytes]:
    content = cast("aiohttp.StreamReader", Chunks(chunks))
    return [line async for line in split_lines(content, longest=longest, cut=cut)]


@given(st.lists(st.binary(max_size=9).map(lambda data: data.replace(b"x", b"\n"))))
async def test_lines_do_not_depend_on_where_the_chunks_fall(chunks: list[bytes]) -> None:
    whole = b"".join(chunks).split(b"\n")
    assert await collect_lines(chunks) == (whole if whole[-1] else whole[:-1])


@given(st.lists(st.sampled_from([b"a", b"bb", b"\n", b"c\nd"])), st.integers(1, 4))
async def test_cut_lines_are_the_beginnings_of_the_lines(chunks: list[bytes], longest: int) -> None:
    uncut = await collect_lines(chunks)
    assert await collect_lines(chunks, longest, cut=True) == [line[:longest] for line in uncut]


@pytest.mark.parametrize("chunks", [[b"abcd\n"], [b"ab", b"cd"], [b"abc", b"d\nx\n"]])
async def test_too_long_line_is_rejected(chunks: list[bytes]) -> None:
    with pytest.raises(LineTooLong, match="longer than 3 bytes"):
        await collect_lines(chunks, 3)
