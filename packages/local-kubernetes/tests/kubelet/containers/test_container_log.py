import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from local_kubernetes.api.server.podlogs import LogOptions
from local_kubernetes.kubelet.containers.container_log import MAX_LINE_BYTES, ContainerLog

START = datetime(2026, 1, 2, 3, 4, 5, 600_000, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def log(tmp_path: Path, clock: Clock) -> Iterator[ContainerLog]:
    log = ContainerLog(tmp_path / "main" / "0.log", max_file_bytes=1000, clock=clock)
    yield log
    log.close()


async def read(log: ContainerLog, **query: object) -> bytes:
    return b"".join([piece async for piece in log.read(LogOptions(**query))])  # type: ignore[arg-type]


async def test_lines_are_written_in_the_format_of_container_runtimes(log: ContainerLog) -> None:
    log.write("stdout", b"one\ntw")
    log.write("stderr", b"error\n")
    log.write("stdout", b"o\nrest")
    log.flush("stdout")

    assert log.path.read_text() == (
        "2026-01-02T03:04:05.600000000Z stdout F one\n"
        "2026-01-02T03:04:05.600000000Z stderr F error\n"
        "2026-01-02T03:04:05.600000000Z stdout F two\n"
        "2026-01-02T03:04:05.600000000Z stdout P rest\n"
    )
    assert await read(log) == b"one\nerror\ntwo\nrest"


async def test_a_long_line_is_split_in_the_file_and_whole_for_the_reader(tmp_path: Path, clock: Clock) -> None:
    log = ContainerLog(tmp_path / "0.log", clock=clock)
    line = b"x" * (2 * MAX_LINE_BYTES + 5)

    log.write("stdout", line[:100])
    log.write("stdout", line[100:] + b"\nnext\n")
    log.close()

    assert len(log.path.read_bytes().splitlines()) == 4
    assert await read(log) == line + b"\nnext\n"
    assert (await read(log, timestamps=True)).count(b"2026-") == 2


async def test_full_file_is_rotated_and_two_files_are_kept(log: ContainerLog) -> None:
    for number in range(100):
        log.write("stdout", f"line {number}\n".encode())

    files = sorted(path.name for path in log.path.parent.iterdir())
    assert files == ["0.log", "0.log.1"]
    assert all(path.stat().st_size <= 1000 for path in log.path.parent.iterdir())
    lines = (await read(log)).decode().splitlines()
    assert lines == [f"line {number}" for number in range(100 - len(lines), 100)]


@pytest.mark.parametrize("wanted", [0, 1, 3, 17, 1000])
async def test_the_last_lines_are_found_across_both_files(log: ContainerLog, wanted: int) -> None:
    for number in range(40):
        log.write("stdout", f"line {number}\n".encode())
    everything = (await read(log)).splitlines()

    assert (await read(log, tail_lines=wanted)).splitlines() == everything[
        len(everything) - wanted if wanted < len(everything) else 0 :
    ]


async def test_log_begins_at_the_requested_time(log: ContainerLog, clock: Clock) -> None:
    log.write("stdout", b"old\n")
    clock.now += timedelta(seconds=10)
    log.write("stdout", b"new\n")

    assert await read(log, since=START + timedelta(seconds=1)) == b"new\n"
    assert await read(log, since=START) == b"old\nnew\n"
    assert await read(log, since=START + timedelta(hours=1)) == b""


async def test_follower_receives_every_line_across_rotations(log: ContainerLog) -> None:
    follower = asyncio.create_task(read(log, follow=True))
    for number in range(200):
        log.write("stdout", f"line {number}\n".encode())
        await asyncio.sleep(0)
    log.close()

    assert (await follower).decode().splitlines() == [f"line {number}" for number in range(200)]


async def test_follower_of_a_closed_log_reaches_its_end(log: ContainerLog) -> None:
    log.write("stdout", b"done\n")
    log.close()

    assert await read(log, follow=True) == b"done\n"


async def test_log_stops_at_the_byte_limit(log: ContainerLog) -> None:
    log.write("stdout", b"0123456789\n" * 3)

    assert await read(log, limit_bytes=15) == b"0123456789\n0123"


async def test_carriage_return_before_a_line_end_is_dropped(log: ContainerLog) -> None:
    log.write("stdout", b"one\r\ntwo\r")
    log.write("stdout", b"\n50 %\rdone\n")

    assert await read(log) == b"one\ntwo\n50 %\rdone\n"
