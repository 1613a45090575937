"""A sink that records what it shows."""

import asyncio
from collections.abc import Iterable

from airflow_provider_spark_operator.core.dialects.progress import StateEntry
from airflow_provider_spark_operator.core.kubernetes.pods import ContainerStatus
from airflow_provider_spark_operator.follow.access.pods import ExecutorCount, describe_block
from airflow_provider_spark_operator.follow.ending.executor_ends import ExecutorEnd


class Recorder:
    """Records one line for each call. `states` contains only the states."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.states: list[str] = []
        self._changed = asyncio.Event()

    def show_state(self, entry: StateEntry, executors: ExecutorCount | None) -> None:
        self.states.append(entry.state)
        self._add(f"{entry.state}, {executors}" if executors else entry.state)

    def show_executors(self, executors: ExecutorCount) -> None:
        self._add(str(executors))

    def show_obstacle(self, sentence: str) -> None:
        self._add(sentence)

    def show_blocked_pod(self, role: str, name: str, container: ContainerStatus) -> None:
        self._add(f"{role} {name} is blocked: {describe_block(container)}")

    def show_driver_line(self, line: str, level: int) -> None:
        self._add(f"driver | {line}")

    def show_failure(self, events: Iterable[str], executors: Iterable[ExecutorEnd]) -> None:
        self._add(f"failure: {[*events]} {[*executors]}")

    def show_remark(self, level: int, sentence: str) -> None:
        self._add(sentence)

    async def wait_for(self, end: str) -> list[str]:
        """Wait until a line ends with `end`, and return all lines."""
        async with asyncio.timeout(30):
            while not any(line.endswith(end) for line in self.lines):
                self._changed.clear()
                await self._changed.wait()
        return self.lines

    def _add(self, line: str) -> None:
        self.lines.append(line)
        self._changed.set()
