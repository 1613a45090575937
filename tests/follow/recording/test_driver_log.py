"""The rest of a driver's log at its end, on a virtual clock."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.follow.access.reference import ApplicationReference
from airflow_provider_spark_operator.follow.logs.logs import LogPosition
from airflow_provider_spark_operator.follow.narration import driver_log
from airflow_provider_spark_operator.follow.narration.driver_log import DriverLog, DriverLogOptions
from tests.follow.applications import SUCCEEDED, build_driver, build_stored

if TYPE_CHECKING:
    from airflow_provider_spark_operator.follow.narration.sink import Sink
    from airflow_provider_spark_operator.kube.client import KubeClient

SEEN = read_progress(build_stored("pi", "u1", "9", *SUCCEEDED))


class Rest:
    """The rest of one log, whose lines appear after the given seconds.

    Attributes:
        shown: The lines and remarks that were shown.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, lines: Mapping[str, float], pod: Any = None) -> None:
        self.shown: list[str] = []
        sink = SimpleNamespace(
            show_driver_line=lambda line, level: self.shown.append(line),
            show_remark=lambda level, sentence: self.shown.append(sentence),
        )
        options = DriverLogOptions(position=LogPosition())
        reference = ApplicationReference("jobs", "pi", "u1")
        client = cast("KubeClient", SimpleNamespace())
        self.log = DriverLog(client, reference, cast("Sink", sink), options)

        async def read(*_: object) -> Any:
            return pod or build_driver()

        async def follow(*_: object, **__: object) -> AsyncGenerator[str, None]:
            for line, seconds in lines.items():
                await asyncio.sleep(seconds)
                yield line

        monkeypatch.setattr(driver_log, "read_driver_pod", read)
        monkeypatch.setattr(driver_log, "follow_pod_log", follow)

    async def finish(self) -> None:
        """Read the rest, then leave."""
        await self.log.finish(SEEN)
        await self.log.close()


@pytest.mark.parametrize(("before", "begin"), [(0, 0.3), (4.8, 0.3), (4.8, 4.0), (100, 0.3)])
async def test_log_that_waits_for_another_one_is_shown(
    monkeypatch: pytest.MonkeyPatch, before: float, begin: float
) -> None:
    rest = Rest(monkeypatch, {"one": begin, "two": 1})
    slots = driver_log._rests.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(1))
    await slots.acquire()
    asyncio.get_running_loop().call_later(before, slots.release)
    await rest.finish()
    assert rest.shown == ["one", "two"]


async def test_log_that_waits_too_long_for_others_is_left_with_a_remark(monkeypatch: pytest.MonkeyPatch) -> None:
    rest = Rest(monkeypatch, {"one": 0})
    slots = driver_log._rests[asyncio.get_running_loop()] = asyncio.Semaphore(0)
    await rest.finish()
    slots.release()
    assert rest.shown == ["other logs were read for too long; the log of this driver is not shown"]


@pytest.mark.parametrize("has_ended", [False, True])
async def test_driver_that_still_runs_is_not_taken_for_its_end(
    monkeypatch: pytest.MonkeyPatch, has_ended: bool
) -> None:
    pod = build_driver()
    pod["status"] = {"phase": "Succeeded" if has_ended else "Running"}
    rest = Rest(monkeypatch, {"one": 0}, pod)
    await rest.finish()
    assert (rest.log.ended_pod is not None) == has_ended
