"""What Spark did, in the record of a run and in the log of a task."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.report.run_record import LARGEST, LONGEST_TRIES, build_record
from airflow_provider_spark_operator.core.report.timeline import build_timeline
from airflow_provider_spark_operator.core.spark.spark_conf import DYNAMIC_ALLOCATION_KEY
from airflow_provider_spark_operator.core.spark_metrics.metrics import (
    LONGEST,
    OTHER_MEMORY,
    Counts,
    Peak,
    Skew,
    Source,
    SparkMetrics,
    Work,
    build_metrics,
    describe_metrics,
    describe_progress,
    find_settings,
    format_bytes,
    read_peaks,
)
from airflow_provider_spark_operator.core.spark_metrics.sampling import find_line_pause
from tests.core.report.documents import at, build_application, build_spark_pod
from tests.core.report.record_schema import VALIDATOR

TIME = datetime(2026, 11, 27, 16, 3, 30, tzinfo=UTC)
METRICS = SparkMetrics(
    Source.UI,
    TIME,
    Counts(11, 12),
    Counts(40, 50, 1),
    Work(10_500, 42_000, 210, 3 * 2**30, 2**20, alive_millis=21_000),
    512,
    Skew(0, "collect at job.py:8", 6280, 319),
    {"driver": Peak(2**20), "executor": Peak(2**28, 2**20, 2**29 + 1, 2**21)},
    {"driver": 512, "executor": 1024},
)
HUGE = 2**70


def test_record_has_the_figures() -> None:
    built = build_metrics(METRICS)
    facts = {each["name"]: each["text"] for each in built.pop("facts")}
    assert facts["progress"] == "stages 11/12, tasks 40/50 (1 failed)"
    assert facts["executors busy"] == "25 % of the time"
    assert built == {
        "source": "ui",
        "time": "2026-11-27T16:03:30Z",
        "stages": {"done": 11, "total": 12, "failed": 0},
        "tasks": {"done": 40, "total": 50, "failed": 1},
        "taskSeconds": 10.5,
        "executorSeconds": 42.0,
        "aliveSeconds": 21.0,
        "idleShare": 0.75,
        "gcSeconds": 0.21,
        "shuffleReadBytes": 3 * 2**30,
        "shuffleWriteBytes": 2**20,
        "spilledBytes": 512,
        "skew": {"stage": 0, "name": "collect at job.py:8", "longestSeconds": 6.28, "medianSeconds": 0.319},
        "memory": {
            "driver": {"heapMiB": 512, "peakHeapMiB": 1},
            "executor": {
                "heapMiB": 1024,
                "peakHeapMiB": 256,
                "peakOffHeapMiB": 1,
                "peakRssMiB": 513,
                "peakOtherMiB": 2,
            },
        },
    }


@pytest.mark.parametrize(
    ("source", "work", "text", "idle"),
    [
        (Source.UI, Work(1000, 8000, running_millis=3000), "50 % of the time", (0.5, None)),
        (Source.UI, Work(1000, 8000, unknown_tasks=1, longest_millis=2000), "12 % to 37 % of the time", (0.625, 0.875)),
        (Source.UI, Work(1000, 8000, unknown_tasks=9, longest_millis=2000), "12 % to 100 % of the time", (0, 0.875)),
        (Source.EVENT_LOG, Work(9000, 8000), "100 % of the time", (0, None)),
    ],
)
def test_log_shows_when_the_figures_of_the_spark_ui_were_read(
    source: Source, work: Work, text: str, idle: tuple[float, float | None]
) -> None:
    metrics = replace(METRICS, source=source, work=work)
    built = build_metrics(metrics)

    assert {"name": "executors busy", "text": text} in built["facts"]
    assert (built["idleShare"], built.get("idleShareAtMost")) == idle
    assert f"; executors busy: {text}; " in describe_metrics(metrics)
    assert describe_metrics(metrics).endswith("; read at 16:03:30 UTC") is (source is Source.UI)


@pytest.mark.parametrize(
    ("value", "is_set"), [("true", True), (True, True), ("2g", True), ("False", False), ("", False)]
)
def test_settings_that_prevent_suggestions_are_found(value: object, is_set: bool) -> None:
    name = "spark.memory.offHeap.enabled"

    assert find_settings({name: value, "spark.executor.cores": "4"}) == ((name,) if is_set else ())


def test_unknown_figures_are_absent() -> None:
    built = build_metrics(SparkMetrics(Source.EVENT_LOG, TIME, heaps={"executor": 1024}))

    assert not {"skew", "memory"} & set(built)


def build_largest() -> JsonObject:
    counts, peak = Counts(HUGE, HUGE, HUGE), Peak(HUGE, HUGE, HUGE, HUGE)
    largest = SparkMetrics(
        Source.EVENT_LOG,
        TIME,
        counts,
        counts,
        Work(HUGE // 2, HUGE, HUGE, HUGE, HUGE, 0, 1, HUGE, HUGE, HUGE // 3),
        HUGE,
        Skew(HUGE, "\U0001f4a5" * 10_000, HUGE, HUGE),
        {"driver": peak, "executor": peak},
        {"driver": HUGE, "executor": HUGE},
        (*OTHER_MEMORY, DYNAMIC_ALLOCATION_KEY),
    )
    return build_metrics(largest)


def test_largest_figures_fit_with_100_executors() -> None:
    largest = build_largest()
    states = (("Submitted", 0), ("RunningHealthy", 7))
    pods = [build_spark_pod(f"pi-0-exec-{number}") for number in range(100)]
    record = build_record(build_timeline(build_application(*states), at(100), all_pods=pods), spark=largest)

    VALIDATOR.validate(record)
    assert len(json.dumps(largest)) <= LONGEST
    assert len(record["executors"]) == 100
    assert len(json.dumps(record)) <= LARGEST - LONGEST_TRIES


def test_log_shows_the_progress_and_the_figures() -> None:
    assert describe_progress(METRICS) == "stages 11/12, tasks 40/50 (1 failed)"
    assert describe_metrics(METRICS) == (
        "stages 11/12, tasks 40/50 (1 failed); executors busy: 25 % of the time; garbage "
        "collection: 2 % of the time of tasks; shuffle: 3.0 GiB read, 1.0 MiB written; spilled to disks: 512 B; most "
        "skewed stage: 0 (collect at job.py:8), longest task 6.3 s, median 0.3 s; largest heap of the driver: "
        "1.0 MiB of 512.0 MiB; largest heap of an executor: 256.0 MiB of 1.0 GiB; largest memory of an executor: "
        "512.0 MiB; read at 16:03:30 UTC"
    )


@pytest.mark.parametrize(
    ("longest", "median", "is_shown"), [(2001, 1000, True), (2000, 1000, False), (1099, 100, False), (1100, 100, True)]
)
def test_stage_is_shown_as_skewed_if_its_longest_task_matters(longest: int, median: int, is_shown: bool) -> None:
    metrics = replace(METRICS, skew=Skew(1, "count", longest, median))

    assert ("most skewed stage: 1 (count)" in describe_metrics(metrics)) is is_shown


def test_log_without_work_shows_the_data_alone() -> None:
    empty = SparkMetrics(Source.UI, TIME, peaks={"driver": Peak(off_heap=1)})

    assert describe_metrics(empty) == (
        "stages 0/0, tasks 0/0; shuffle: 0 B read, 0 B written; spilled to disks: 0 B; read at 16:03:30 UTC"
    )


@pytest.mark.parametrize(("size", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (2**70, "1048576.0 PiB")])
def test_bytes_have_a_unit(size: int, text: str) -> None:
    assert format_bytes(size) == text


def test_heap_without_a_known_size_is_shown_alone() -> None:
    line = describe_metrics(SparkMetrics(Source.UI, TIME, peaks={"executor": Peak(2**20)}))

    assert "; largest heap of an executor: 1.0 MiB; " in line


def test_executors_lost_to_memory_are_shown_if_there_are_any() -> None:
    assert "out of memory" not in describe_metrics(METRICS)
    line = describe_metrics(replace(METRICS, work=Work(memory_losses=2)))
    assert "; executors lost, probably out of memory: 2; " in line


def test_lines_become_rare() -> None:
    assert [find_line_pause(lines) for lines in (0, 9, 10, 20, 90)] == [30, 30, 60, 120, 900]


def test_memory_is_read_from_a_record() -> None:
    record = {"spark": build_metrics(METRICS)}

    assert read_peaks(record) == {"driver": Peak(2**20), "executor": Peak(2**28, 2**20, 2**29 + 2**20, 2**21)}
    assert read_peaks({"spark": {"memory": {"driver": {"peakHeapMiB": "x"}, "executor": 5}}}) == {
        "driver": Peak(),
        "executor": Peak(),
    }
    assert read_peaks({}) == {}
