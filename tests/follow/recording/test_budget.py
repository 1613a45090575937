"""When a budget is checked while an application runs, on a virtual clock."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.report.budget import Budget
from airflow_provider_spark_operator.follow.recording.budget import BudgetCheck
from airflow_provider_spark_operator.follow.recording.recorder import RunRecorder
from tests.follow.applications import RUNNING, build_driver, build_stored
from tests.follow.recording.test_recorder import REFERENCE, Client, Store

if TYPE_CHECKING:
    from airflow_provider_spark_operator.kube.client import KubeClient

CORES = 360


async def build_at_once(build: Callable[[], object]) -> object:
    return build()


async def test_application_is_ended_within_seconds_after_its_limit_with_one_list_of_pods_per_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asyncio, "to_thread", build_at_once)  # a virtual clock does not wait for a thread
    client, store, warnings, begin = Client(), Store(), list[tuple[float, str]](), asyncio.get_running_loop().time()
    started = client.get_time().isoformat()
    status = {
        "phase": "Running",
        "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": started}],
    }
    driver = build_driver(status=status)
    driver["spec"] = {"containers": [{"name": "spark", "resources": {"requests": {"cpu": str(CORES)}}}]}
    client.pods = [driver]
    recorder = RunRecorder(REFERENCE, store.save)
    recorder.begin(cast("KubeClient", client))
    resource = build_stored("pi", "u1", "5", *RUNNING)
    recorder.update(read_progress(resource), resource)

    def measure() -> float:
        return asyncio.get_running_loop().time() - begin

    ended = asyncio.Event()
    # The driver requests a core-hour in 10 s: 80 % of the limit after 160 s, and all of it after 200 s.
    check = BudgetCheck(Budget(20, ends_application=True), recorder, lambda text: warnings.append((measure(), text)))
    await check.follow(ended.set)
    await recorder.stop()
    assert ended.is_set()
    assert measure() == pytest.approx(201, abs=1.5)
    (time, warning), (_, last) = warnings
    assert time == pytest.approx(161, abs=1.5)
    assert warning.startswith("has used 16")
    assert (last, check.exceeded) == ("has used 20 of at most 20 core-hours", "20.1 of at most 20 core-hours")
    assert len(client.read_at) == 4


def test_final_record_above_the_budget_warns() -> None:
    warnings = list[str]()
    check = BudgetCheck(Budget(1), RunRecorder(REFERENCE, Store().save), warnings.append)
    check.conclude({"totals": {"requested": {"driver": {"coreHours": 1.5}}}})
    assert warnings == ["has used 1.5 of at most 1 core-hours"]
