"""The figures of an event log: those by hand, and logs that Spark never writes."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from airflow_provider_spark_operator.core.spark_metrics.event_log import EventLog
from airflow_provider_spark_operator.core.spark_metrics.metrics import Counts, Peak, Skew, Source, SparkMetrics, Work

MEMORY = "spark.executor.memory"


def write(name: str, **members: Any) -> bytes:
    return json.dumps({"Event": f"SparkListener{name}", **members}, separators=(",", ":")).encode()


def write_task(begin: int, end: int, *, stage: int = 0, executor: str = "1", failed: bool = False) -> bytes:
    metrics = {
        "Executor Run Time": end - begin,
        "JVM GC Time": 1,
        "Disk Bytes Spilled": 2,
        "Shuffle Read Metrics": {"Remote Bytes Read": 3, "Local Bytes Read": 4},
        "Shuffle Write Metrics": {"Shuffle Bytes Written": 5},
    }
    info = {"Launch Time": begin, "Finish Time": end, "Failed": failed, "Executor ID": executor}
    return write(
        "TaskEnd",
        **{
            "Stage ID": stage,
            "Stage Attempt ID": 0,
            "Task End Reason": {"Reason": "ExceptionFailure" if failed else "Success"},
            "Task Info": info,
            "Task Metrics": metrics,
            "Task Executor Metrics": {"JVMHeapMemory": end},
        },
    )


def write_stage(name: str, number: int, tasks: int, **more: str) -> bytes:
    stage = {"Stage ID": number, "Stage Attempt ID": 0, "Stage Name": f"stage {number}", "Number of Tasks": tasks}
    return write(name, **{"Stage Info": {**stage, **more}})


LOG = (
    write("LogStart"),
    write(
        "EnvironmentUpdate",
        **{"Spark Properties": {"spark.task.cpus": "2", MEMORY: "512m", "spark.executor.pyspark.memory": "1g"}},
    ),
    write("ExecutorAdded", Timestamp=1000, **{"Executor ID": "1", "Executor Info": {"Total Cores": 4}}),
    write("ExecutorAdded", Timestamp=2000, **{"Executor ID": "2", "Executor Info": {"Total Cores": 2}}),
    write_stage("StageSubmitted", 0, 3),
    write_task(1000, 1100),
    write_task(1000, 1900),
    write_task(1000, 1200),
    write_task(1000, 1200, failed=True),
    write("ExecutorRemoved", Timestamp=3000, **{"Executor ID": "2"}),
    write_stage("StageCompleted", 0, 3),
    write_stage("StageSubmitted", 1, 2),
    write_task(2000, 2500, stage=1, executor="driver"),
    write_task(2000, 4500, stage=1),
    write_stage("StageCompleted", 1, 2, **{"Failure Reason": "cancelled"}),
    write("ApplicationEnd", Timestamp=5000),
)


def read(*lines: bytes) -> SparkMetrics | None:
    log = EventLog()
    for line in lines:
        log.add(line)
    return log.build()


def test_figures_equal_those_by_hand() -> None:
    assert read(*LOG) == SparkMetrics(
        Source.EVENT_LOG,
        datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC),
        Counts(1, 2, 1),
        Counts(5, 5, 1),
        Work(100 + 900 + 200 + 200 + 500 + 2500, 2 * 4000 + 1000, 6, 42, 30, alive_millis=4000 + 1000),
        12,
        Skew(0, "stage 0", 900, 200),
        {"executor": Peak(4500), "driver": Peak(2500)},
        {"driver": 1024, "executor": 512},
        ("spark.executor.pyspark.memory",),
    )


def test_stage_with_a_description_has_it_instead_of_its_name() -> None:
    submitted = json.loads(write_stage("StageSubmitted", 0, 3)) | {"Properties": {"spark.job.description": "joins"}}
    metrics = read(json.dumps(submitted, separators=(",", ":")).encode(), *LOG[5:])
    assert metrics is not None
    assert metrics.skew == Skew(0, "joins", 900, 200)


def test_log_without_the_end_of_the_application_has_no_figures() -> None:
    assert read(*LOG[:-1]) is None


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"not JSON",
        b'{"Event":"SparkListenerTaskEnd"',
        b'{"Event":"SparkListenerTaskEnd","x":' + b"[" * 100_000,
        b'{"Event":"SparkListenerTaskEnd","x":"' + b"x" * 2**20 + b'"}',
        b'{"Event":"SparkListenerUnknown"}',
        b'{"Event":"SparkListener\xff"}',
        write("TaskStart", **{"Stage ID": 1}),
        write("ExecutorAdded", **{"Executor ID": ["x"], "Executor Info": 5, "Timestamp": "x"}),
        write("EnvironmentUpdate", **{"Spark Properties": dict.fromkeys(("spark.driver.memory", MEMORY), "x")}),
        write_stage("StageCompleted", 9, 2, **{"Failure Reason": "x"})[:-5],
    ],
)
def test_line_that_spark_never_writes_changes_nothing(line: bytes) -> None:
    end = write("ApplicationEnd", Timestamp=5000)

    assert read(line, end) == read(end)


def test_times_far_apart_are_limited() -> None:
    found = read(write("ApplicationEnd", Timestamp=2**53 - 1))

    assert found is not None
    assert found.time.year == 9999


def test_removal_of_an_unknown_executor_adds_no_time() -> None:
    found = read(write("ExecutorRemoved", Timestamp=3000, **{"Executor ID": "7"}), write("ApplicationEnd"))

    assert found is not None
    assert (found.work.slot_millis, found.work.alive_millis) == (0, 0)


def test_executor_that_ran_out_of_memory_is_counted_and_kept() -> None:
    reason = "The executor with id 2 exited with exit code 52(JVM OOM)."
    removal = write("ExecutorRemoved", Timestamp=3000, **{"Executor ID": "2", "Removed Reason": reason})
    found = read(removal, write_task(1000, 1900), write("ApplicationEnd"))

    assert found is not None
    assert found.work.memory_losses == 1


def test_strange_number_of_cores_counts_as_one() -> None:
    environment = write("EnvironmentUpdate", **{"Spark Properties": {"spark.task.cpus": "99999999999999"}})
    added = write("ExecutorAdded", Timestamp=1000, **{"Executor ID": "1", "Executor Info": {"Total Cores": 4}})
    found = read(environment, added, write("ApplicationEnd", Timestamp=2000))

    assert found is not None
    assert found.work.slot_millis == 4000
