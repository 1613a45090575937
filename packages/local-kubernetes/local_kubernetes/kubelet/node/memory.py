"""Kills containers that exceed their memory limit, as a kernel does with control groups."""

import asyncio
import subprocess
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from resource import getpagesize
from time import monotonic

from ... import guard

_PROC = Path("/proc")
_INTERVAL = 0.5
# Measuring takes at most this share of the time, whatever the number of processes is.
_LARGEST_SHARE = 0.05


@dataclass(frozen=True)
class _Watched:
    guard: int
    leader: int
    limit: int
    exceeded: Callable[[], None]


class MemoryLimits:
    """Measures the memory of containers with a limit at intervals.

    Counts the pages that the container's processes have written, and shared pages once; mapped files do not count. A
    peak between two measurements is not noticed.
    """

    def __init__(self) -> None:
        self._watched: dict[int, _Watched] = {}
        self._begun = asyncio.Event()

    @contextmanager
    def enforce(self, guard_pid: int, leader: int, limit: int | None, exceeded: Callable[[], None]) -> Iterator[None]:
        """Watch a container until the context ends.

        Args:
            guard_pid: Process id of the container's guard.
            leader: Process id of the container's first process.
            limit: Limit in bytes. If None, there is no limit.
            exceeded: Called once when the container exceeds the limit.
        """
        if limit is None:
            yield
            return
        self._watched[leader] = _Watched(guard_pid, leader, limit, exceeded)
        self._begun.set()
        try:
            yield
        finally:
            self._watched.pop(leader, None)

    async def run(self) -> None:
        """Measure until cancelled; do nothing while no container has a limit."""
        while True:
            if not self._watched:
                self._begun.clear()
                await self._begun.wait()
            before = monotonic()
            watched = list(self._watched.values())
            for each in await asyncio.to_thread(_find_exceeded, watched):
                if self._watched.pop(each.leader, None) is each:
                    each.exceeded()
            await asyncio.sleep(max(_INTERVAL, (monotonic() - before) / _LARGEST_SHARE))


def _find_exceeded(watched: list[_Watched]) -> list[_Watched]:
    """Return the containers that exceed their limit."""
    table = list(guard.list_processes())
    sizes = None if (_PROC / "self" / "statm").exists() else _read_sizes_by_ps()
    found = []
    for each in watched:
        members = guard.find_members(each.guard, each.leader, table)
        used = sum(sizes.get(pid, 0) for pid in members) if sizes is not None else _measure_use(members, each.limit)
        if used > each.limit:
            found.append(each)
    return found


def _measure_use(members: Set[int], limit: int) -> int:
    """Return the bytes that processes have written; measure exactly only if a quick estimate exceeds `limit`."""
    private = sum(map(_own_bytes, members))
    return private if private <= limit else sum(map(_read_proportional_bytes, members))


def _own_bytes(pid: int) -> int:
    """Return the resident memory of a process without mapped files; 0 if the process does not exist."""
    try:
        _size, resident, shared, *_rest = (_PROC / str(pid) / "statm").read_text().split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * getpagesize()


def _read_proportional_bytes(pid: int) -> int:
    """Return the same with shared pages divided among their processes; slower, because it reads every page."""
    try:
        lines = (_PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return _own_bytes(pid)
    kibibytes = [line.split()[1] for line in lines if line.startswith("Pss_Anon:")]
    return int(kibibytes[0]) * 1024 if kibibytes else _own_bytes(pid)


def _read_sizes_by_ps() -> Mapping[int, int]:
    listing = subprocess.run(["/bin/ps", "-axo", "pid=,rss="], capture_output=True, text=True, check=False)
    return {int(pid): int(kibibytes) * 1024 for pid, kibibytes in map(str.split, listing.stdout.splitlines())}
