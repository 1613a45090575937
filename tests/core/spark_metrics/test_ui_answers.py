"""The answers of the Spark UI, also those that Spark never gives."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from airflow_provider_spark_operator.core.spark_metrics.metrics import Counts, Peak, Skew, Work
from airflow_provider_spark_operator.core.spark_metrics.ui_answers import (
    StageEntry,
    add_running_tasks,
    choose_stages,
    find_worst,
    read_executors,
    read_jobs,
    read_number,
    read_skew,
    read_stages,
)

NOW = datetime(2026, 11, 27, 16, 3, 30, tzinfo=UTC)
GARBAGE: tuple[Any, ...] = (
    {},
    None,
    "text",
    1,
    [[]],
    [None],
    ["x"],
    [{"stageIds": 1, "numTasks": "many", "id": [], "maxTasks": -1}],
)
EXECUTOR = {
    "id": "1",
    "maxTasks": 2,
    "addTime": "2026-11-27T16:03:00.500GMT",
    "totalDuration": 10_000,
    "totalGCTime": 500,
    "totalShuffleRead": 7,
    "totalShuffleWrite": 8,
    "peakMemoryMetrics": {
        "JVMHeapMemory": 100,
        "JVMOffHeapMemory": 40,
        "DirectPoolMemory": 10,
        "ProcessTreeJVMRSSMemory": 200,
        "ProcessTreePythonRSSMemory": 30,
    },
}
STAGE = {
    "status": "COMPLETE",
    "stageId": 3,
    "attemptId": 1,
    "name": "count",
    "numTasks": 4,
    "diskBytesSpilled": 11,
    "firstTaskLaunchedTime": "2026-11-27T16:03:00.000GMT",
    "completionTime": "2026-11-27T16:03:02.500GMT",
}


@pytest.mark.parametrize("value", [None, True, "1", -1, float("nan"), float("inf"), 2**60, [], {}])
def test_value_that_is_no_number_counts_as_zero(value: object) -> None:
    assert read_number(value) == 0


def test_jobs_show_stages_and_tasks_without_skipped_ones() -> None:
    job = {"stageIds": [1, 2, 3], "numTasks": 10, "numSkippedTasks": 4, "numCompletedTasks": 5, "numFailedTasks": 1}
    job |= {"numSkippedStages": 1, "numCompletedStages": 1, "numFailedStages": 1}

    assert read_jobs([job, job]) == (Counts(2, 4, 2), Counts(10, 12, 2))


def test_no_more_is_done_than_there_is() -> None:
    assert read_jobs([{"numCompletedStages": 3, "numCompletedTasks": 9}]) == (Counts(3, 3, 0), Counts(9, 9, 0))


def test_executors_show_work_and_memory_by_role() -> None:
    ended = EXECUTOR | {"id": "2", "removeTime": "2026-11-27T16:03:10.500GMT", "peakMemoryMetrics": {}}
    driver = {"id": "driver", "maxTasks": 0, "totalDuration": 99, "peakMemoryMetrics": {"JVMHeapMemory": 60}}

    work, peaks = read_executors([EXECUTOR, ended, driver], NOW)

    lives = {"alive_millis": 29_500 + 10_000, "longest_millis": 29_500}
    assert work == Work(20_000, 2 * 29_500 + 2 * 10_000, 1000, 14, 16, **lives)
    assert peaks == {"executor": Peak(100, 50, 230, 30), "driver": Peak(60, 0, 0)}


def test_executors_that_memory_may_have_ended_are_counted() -> None:
    reasons = ("exit code 52(JVM OOM)", "exit code 137(SIGKILL, possible container OOM)", "the node was removed", 5)
    work, _ = read_executors([{"id": str(number), "removeReason": each} for number, each in enumerate(reasons)], NOW)
    assert work.memory_losses == 2


def test_tasks_that_have_not_ended_count_until_the_answer() -> None:
    work = read_executors([EXECUTOR | {"activeTasks": 2}] * 2, NOW)[0]
    begins = {"7": "2026-11-27T16:03:20.000GMT", "8": "2026-11-27T16:03:29.500GMT", "9": "2026-11-27T16:03:31.000GMT"}
    stage = {"tasks": {name: {"launchTime": begin} for name, begin in begins.items()}}

    assert work.unknown_tasks == 4
    assert work.busy == (20_000, 118_000)
    known = add_running_tasks(work, [stage, {"tasks": {"1": {}}}, {}], NOW)
    assert known == replace(work, running_millis=10_500, unknown_tasks=2)
    assert known.busy == (30_500, 30_500 + 2 * 29_500)
    complete = add_running_tasks(work, [stage, stage], NOW)
    assert complete.unknown_tasks == 0
    assert complete.busy == (41_000, 41_000)


def test_task_that_began_after_the_list_of_executors_is_none_of_its_tasks() -> None:
    later = {"tasks": {"1": {"launchTime": "2026-11-27T16:03:30.200GMT"}}}
    assert add_running_tasks(Work(unknown_tasks=1), [later], NOW) == Work(unknown_tasks=1)


def test_executor_without_a_time_has_no_slots() -> None:
    assert read_executors([EXECUTOR | {"addTime": "yesterday"}], NOW)[0].slot_millis == 0


def test_stages_show_spilled_bytes_and_completed_ones() -> None:
    active = STAGE | {"status": "ACTIVE", "completionTime": None}

    assert read_stages([STAGE, active]) == (22, [StageEntry(3, 1, "count", 4, 2500)])
    assert read_stages([STAGE | {"description": "joins"}])[1] == [StageEntry(3, 1, "joins", 4, 2500)]


@pytest.mark.parametrize("answer", GARBAGE)
def test_garbage_is_no_work(answer: object) -> None:
    assert read_jobs(answer) == (Counts(), Counts())
    assert read_executors(answer, NOW)[0] == Work()
    assert add_running_tasks(Work(), answer, NOW) == Work()
    assert add_running_tasks(Work(), [{"tasks": answer}], NOW) == Work()
    assert read_stages(answer) == (0, [])
    assert read_skew(answer, StageEntry(0, 0, "", 2, 1)) is None


def test_stages_are_read_that_can_be_more_skewed() -> None:
    long, longer, short, single = (
        StageEntry(number, 0, "", tasks, millis)
        for number, (tasks, millis) in enumerate([(2, 500), (2, 900), (2, 80), (1, 9000)])
    )
    stages = [long, longer, short, single]

    assert choose_stages(stages, frozenset(), None, 2) == [longer, long]
    assert choose_stages(stages, frozenset({(1, 0)}), Skew(9, "", 200, 100), 2) == [long]


def test_skew_is_the_longest_task_and_the_median() -> None:
    stage = StageEntry(3, 0, "count", 4, 900)

    assert read_skew({"executorRunTime": [100.0, 800.0]}, stage) == Skew(3, "count", 800, 100)
    assert read_skew({"executorRunTime": [900.0, 800.0]}, stage) == Skew(3, "count", 800, 800)
    assert read_skew({"executorRunTime": [900.0]}, stage) is None


def test_worst_stage_has_the_longest_excess() -> None:
    mild, bad = Skew(1, "", 100, 50), Skew(2, "", 900, 800)

    assert find_worst(None, None) is None
    assert find_worst(mild, None) == find_worst(None, mild) == mild
    assert find_worst(mild, bad) == bad
