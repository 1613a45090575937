"""Suggestions from the last runs of a task, and the runs that do not permit one."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.spark_metrics.advice import (
    LEAST_RUNS,
    MARGIN,
    MAX_RUNS,
    Advice,
    advise,
    choose_runs,
    explain,
    measure_run,
)


def build_sizes(heap: int = 8192, peak: float = 3174, **changes: float) -> dict[str, Any]:
    sizes = {
        "heapMiB": heap,
        "peakHeapMiB": peak,
        "peakOffHeapMiB": 200,
        "peakOtherMiB": 100,
        "peakRssMiB": heap,
        "podMiB": heap * 1.1,
    }
    return sizes | changes


def build_run(
    driver: dict[str, Any] | None = None, executor: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    work = {"executors": 8, "taskSeconds": 90.0, "executorSeconds": 100.0, "spilledBytes": 0, "outOfMemory": False}
    executor = build_sizes() if executor is None else executor
    return {**work, "driver": driver or build_sizes(1024, 900), "executor": executor, **more}


MEMORY = Advice(
    "executor_memory",
    "executors used at most 3.1 of 8.0 GiB of heap over the last 3 runs: executor_memory='4g', with "
    "conf={'spark.executor.memoryOverhead': '819m'} (8.80 → 4.80 GiB for each executor)",
)


def test_executor_memory_is_the_largest_peak_with_the_margin() -> None:
    runs = [build_run(executor=build_sizes(peak=peak)) for peak in (2000, 3174, 1500)]

    assert advise(runs) == MEMORY


def test_number_of_executors_is_suggested_if_their_memory_fits() -> None:
    runs = [build_run(executor=build_sizes(peak=8000), taskSeconds=share) for share in (10.0, 31.0, 20.0)]

    text = "8 executors were busy at most 31 % of the time over the last 3 runs: executor_instances=4"
    assert advise(runs) == Advice("executor_instances", text)


def test_memory_of_the_driver_is_suggested_last() -> None:
    driver = build_sizes(4096, 300, podMiB=4096 + 384)
    text = "the driver used at most 0.3 of 4.0 GiB of heap over the last 3 runs: driver_memory='512m' "
    text += "(4.38 → 0.88 GiB for the driver)"

    assert advise([build_run(driver, build_sizes(peak=8000))] * 3) == Advice("driver_memory", text)


def test_one_change_is_suggested_at_a_time() -> None:
    assert advise([build_run(build_sizes(4096, 300), taskSeconds=10.0)] * 3) == MEMORY


@pytest.mark.parametrize("number", range(LEAST_RUNS))
def test_few_runs_permit_no_suggestion(number: int) -> None:
    assert advise([build_run(build_sizes(4096, 300), taskSeconds=1.0)] * number) is None


@pytest.mark.parametrize(
    "change",
    [
        {"outOfMemory": True},
        {"spilledBytes": 1},
        {"settings": ["spark.memory.offHeap.enabled"]},
        {"settings": ["spark.executor.pyspark.memory"]},
        {"executors": 2},
        {"executor": build_sizes(peak=0)},
        {"executor": build_sizes(peakRssMiB=0)},
        {"executor": build_sizes(peak=7000)},
        {"executor": build_sizes(peakOtherMiB=700)},
        {"executor": build_sizes(podMiB=0)},
        {"executor": build_sizes(4096)},
        {"executor": {}},
        {"executor": "text"},
        {"executors": float("nan")},
    ],
    ids=str,
)
def test_one_run_that_needed_more_or_was_not_measured_prevents_less_memory(change: dict[str, Any]) -> None:
    assert advise([build_run(), build_run(), build_run(**change)]) is None


def test_runs_with_another_size_of_the_heap_do_not_count() -> None:
    assert advise([build_run(executor=build_sizes(16384, 9000)), *[build_run()] * 3]) == MEMORY


def test_runs_with_another_number_of_executors_do_not_count() -> None:
    assert advise([*[build_run(executors=2)] * 3, *[build_run()] * 2]) is None


@pytest.mark.parametrize(
    "change",
    [
        {"taskSeconds": 90.0},
        {"executorSeconds": 0},
        {"executors": 4},
        {"executors": 0},
        {"executorSeconds": "x"},
        {"outOfMemory": True},
        {"spilledBytes": 1},
        {"settings": ["spark.dynamicAllocation.enabled"]},
    ],
    ids=str,
)
def test_one_run_that_needed_more_or_was_not_measured_prevents_fewer_executors(change: dict[str, Any]) -> None:
    full = build_sizes(peak=8000)
    idle = build_run(executor=full, taskSeconds=1.0)

    assert advise([idle, idle, idle | change]) is None


def test_run_out_of_memory_with_another_size_prevents_each_suggestion() -> None:
    small = build_run(executor={}, executors=2, outOfMemory=True)

    assert advise([small, *[build_run()] * 3]) is None


def build_history(*days: int) -> list[dict[str, Any]]:
    return [build_run(end=f"2026-{1 + day // 28:02}-{1 + day % 28:02}T08:00:00Z") for day in days]


def test_latest_runs_count_in_the_order_of_their_ends() -> None:
    runs = build_history(*range(14))

    assert choose_runs([*runs[8:], *runs[:8], runs[13], build_run(), build_run(end=5)]) == runs[-MAX_RUNS:]
    assert choose_runs([]) == []


def test_old_runs_do_not_count() -> None:
    runs = build_history(0, 100, 101)

    assert choose_runs(runs) == runs[1:]


@pytest.mark.parametrize("peak", [1, 400, 1000, 1024, 2049, 5000])
def test_suggestion_is_at_least_the_peak_with_the_margin(peak: int) -> None:
    advice = advise([build_run(executor=build_sizes(peak=peak))] * 3)
    assert advice is not None
    size = advice.text.partition("executor_memory='")[2].partition("'")[0]

    assert int(size[:-1]) * (1024 if size.endswith("g") else 1) >= max(512, peak * MARGIN)


RECORD: dict[str, Any] = {
    "end": "2026-11-27T08:00:00Z",
    "live": False,
    "verdict": {"outcome": "Succeeded"},
    "totals": {"executorsAtOnce": 2},
    "requests": {"executor": {"memoryGiB": 8.8}},
    "executors": [{"state": "Ended", "exit": "exit code 0"}],
    "spark": {
        "source": "eventLog",
        "taskSeconds": 1.5,
        "executorSeconds": 3,
        "spilledBytes": 4,
        "settings": ["spark.dynamicAllocation.enabled"],
        "memory": {"executor": {"heapMiB": 8192, "peakHeapMiB": 3000, "facts": "x"}, "driver": 5},
    },
}


@pytest.mark.parametrize(
    ("runs", "reason"),
    [
        ([build_run()] * 2, "measured runs: 2. At least 3 are required"),
        ([build_run(outOfMemory=True), build_run(), build_run()], "a run was out of memory"),
        ([build_run(executor={}, driver={"podMiB": 1}, executorSeconds=0)] * 3, "not measured: set spark.executor."),
        ([build_run()] * 3, "nothing to change"),
    ],
)
def test_missing_suggestion_has_a_reason(runs: list[dict[str, Any]], reason: str) -> None:
    assert explain(runs).startswith(reason)


def test_record_shows_what_a_run_used() -> None:
    assert measure_run(RECORD) == {
        "end": "2026-11-27T08:00:00Z",
        "executors": 2,
        "taskSeconds": 1.5,
        "executorSeconds": 3,
        "spilledBytes": 4,
        "outOfMemory": False,
        "settings": ["spark.dynamicAllocation.enabled"],
        "driver": {},
        "executor": {"heapMiB": 8192, "peakHeapMiB": 3000, "podMiB": 9011},
    }


def test_time_of_tasks_in_the_spark_ui_permits_no_number_of_executors() -> None:
    run = measure_run(RECORD | {"spark": RECORD["spark"] | {"source": "ui", "time": "2026-11-27T07:59:10Z"}})

    assert run is not None
    assert run["executorSeconds"] == 0


@pytest.mark.parametrize("time", [{}, {"time": "2026-11-27T07:58:00Z"}, {"time": "soon"}])
def test_run_that_was_not_measured_until_its_end_is_not_used(time: dict[str, str]) -> None:
    assert measure_run(RECORD | {"spark": RECORD["spark"] | {"source": "ui"} | time}) is None


@pytest.mark.parametrize("change", [{"live": True}, {"verdict": {"outcome": "Failed"}}, {"spark": 5}, {"spark": {}}])
def test_run_that_shows_nothing_is_not_used(change: dict[str, Any]) -> None:
    assert measure_run(RECORD | change) is None


@pytest.mark.parametrize(
    "change",
    [
        {"executors": [{"exit": "exit code 137 (OOMKilled)"}]},
        {"executors": [{"exit": "exit code 52"}]},
        {"spark": RECORD["spark"] | {"memoryLosses": 1}},
        {"attempts": [{"driver": {"exit": "OOMKilled"}}, {"driver": None}]},
        {"verdict": {"outcome": "Failed", "outOfMemory": ["executor"]}, "spark": None},
        {"earlierTries": [{"verdict": {"outcome": "Failed", "outOfMemory": ["driver"]}}]},
        {"missing": [{"what": "earlierTries", "why": "Airflow 3.2 does not keep earlier tries"}]},
    ],
    ids=str,
)
def test_run_that_can_have_been_out_of_memory_counts_as_such(change: dict[str, Any]) -> None:
    run = measure_run(RECORD | change)

    assert run is not None
    assert run["outOfMemory"] is True


@pytest.mark.parametrize("number", [True, "1", -1, 2**60, float("nan"), None])
def test_strange_number_counts_as_zero(number: object) -> None:
    run = measure_run(RECORD | {"totals": {"executorsAtOnce": number}})

    assert run is not None
    assert run["executors"] == 0
