"""The figures of a real Spark on the local cluster, as a task records them."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from airflow_provider_spark_operator.core.spark_metrics.metrics import Source, SparkMetrics, build_metrics
from airflow_provider_spark_operator.follow.access.reference import ApplicationReference
from airflow_provider_spark_operator.follow.narration.narrator import Narration
from airflow_provider_spark_operator.follow.recording import spark_sampler
from airflow_provider_spark_operator.follow.recording.spark_sampler import SparkSampler
from airflow_provider_spark_operator.follow.watching.wait import wait_for_end
from airflow_provider_spark_operator.follow.watching.watch import WatchHub
from airflow_provider_spark_operator.hooks.event_log import read_event_log
from airflow_provider_spark_operator.hooks.task_log import TaskLog
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from airflow_provider_spark_operator.local.cluster import run_cluster

SECONDS = 8.0
PROGRAM = f"""
import time
from pyspark import TaskContext
from pyspark.sql import SparkSession
context = SparkSession.builder.getOrCreate().sparkContext
def skew(index, rows):
    time.sleep({SECONDS} if index == 0 else 0.2)
    return [index]
context.parallelize(range(8), 8).mapPartitionsWithIndex(skew).collect()
context.parallelize(range(100000), 4).map(lambda row: (row % 100, f"value {{row}}")).groupByKey(4).count()
def fail_once(index, rows):
    if index == 1 and TaskContext.get().attemptNumber() == 0:
        raise ValueError("once")
    return [index]
context.parallelize(range(4), 2).mapPartitionsWithIndex(fail_once).collect()
print("computed", flush=True)
time.sleep(15)
"""
STAGES, TASKS = 4, 8 + 4 + 4 + 2


def build_document(script: Path, events: Path) -> dict[str, Any]:
    conf = {
        "spark.kubernetes.container.image": "spark:4.3.0",
        "spark.kubernetes.authenticate.driver.serviceAccountName": "spark",
        "spark.executor.instances": "2",
        "spark.executor.memory": "512m",
        "spark.driver.memory": "600m",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file://{events}",
        "spark.executor.processTreeMetrics.enabled": "true",
    }
    return {
        "apiVersion": "spark.apache.org/v1",
        "kind": "SparkApplication",
        "metadata": {"name": "measured"},
        "spec": {
            "mainClass": "org.apache.spark.deploy.PythonRunner",
            "pyFiles": f"local://{script}",
            "runtimeVersions": {"sparkVersion": "4.3.0"},
            "sparkConf": conf,
        },
    }


@pytest.mark.spark
@pytest.mark.timeout(400)
async def test_spark_ui_shows_the_work_of_a_real_application(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(spark_sampler, "FIRST_SECONDS", 1.0)
    monkeypatch.setattr(spark_sampler, "SAMPLE_SECONDS", 1.0)
    monkeypatch.setattr(spark_sampler, "MAX_FAILURES", 100)
    script, events = tmp_path / "job.py", tmp_path / "events"
    script.write_text(PROGRAM)
    events.mkdir()
    caplog.set_level("INFO")
    noted: list[tuple[SparkMetrics | None, str]] = []
    async with run_cluster(tmp_path / "home") as cluster:
        client = cluster.client
        created = await client.create(SPARK_APPLICATIONS, build_document(script, events), "default")
        reference = ApplicationReference.of(created, SPARK_APPLICATIONS)
        sampler = SparkSampler(reference, lambda *figures: noted.append(figures))
        sink = TaskLog(reference, logging.getLogger("task"))
        await wait_for_end(WatchHub(client), reference, Narration(sink, sampler=sampler))
    metrics = noted[-1][0]
    assert metrics is not None, noted
    works = [figures.work for figures, _ in noted if figures]
    assert any(work.running_millis > 0 and not work.unknown_tasks for work in works), works
    busy = [work.task_millis + work.running_millis for work in works if not work.unknown_tasks]
    assert busy == sorted(busy), "the time of a task that ends is at least the one that it had while it ran"
    built = build_metrics(metrics)
    assert built["stages"] == {"done": STAGES, "total": STAGES, "failed": 0}
    assert built["tasks"] == {"done": TASKS, "total": TASKS, "failed": 1}
    assert 2 * built["taskSeconds"] > SECONDS
    assert 0 < built["taskSeconds"] < built["executorSeconds"]
    assert built["shuffleReadBytes"] == built["shuffleWriteBytes"] > 0
    assert built["skew"]["stage"] == 0
    assert SECONDS <= built["skew"]["longestSeconds"] < SECONDS + 5
    assert built["skew"]["medianSeconds"] < 2
    memory = built["memory"]
    assert memory["executor"]["heapMiB"] == 512
    assert 10 < memory["executor"]["peakHeapMiB"] <= 512
    assert memory["executor"]["peakRssMiB"] > memory["executor"]["peakHeapMiB"]
    assert 10 < memory["driver"]["peakHeapMiB"] <= 600
    assert read_event_log(f"file://{events}", "measured-0") == replace(
        metrics,
        source=Source.EVENT_LOG,
        time=ANY,
        work=replace(metrics.work, slot_millis=ANY, alive_millis=ANY, longest_millis=0),
        peaks=ANY,
    )
    lines = [record.getMessage() for record in caplog.records if "stages " in record.getMessage()]
    assert any("tasks" in line and "executors busy" not in line for line in lines)
    assert "executors busy" in lines[-1]
