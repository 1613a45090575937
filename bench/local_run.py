"""The duration of `spark-operator local run`, compared with Spark alone: `python -m bench.local_run [ROUNDS]`.

A script of one line runs on a local cluster, and directly with Spark's class `SparkSubmit` and `local[1]`. Both use the
same JVM, JVM options and archive of classes. The benchmark prints the medians of several rounds, and the time of each
line that `local run` prints.
"""

import asyncio
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from airflow_provider_spark_operator.local.class_archive import build_recording_options, build_starting_options
from airflow_provider_spark_operator.local.software import SparkSoftware
from airflow_provider_spark_operator.local.spark import build_environment, build_recording_command
from bench.goals import NotMeasured

ROUNDS = 3
_SCRIPT = "from pyspark.sql import SparkSession; SparkSession.builder.getOrCreate().range(1).count()\n"


class Run(NamedTuple):
    """A run of the script: its wall-clock time and CPU time in seconds, and the time of each line of its output."""

    seconds: float
    processor: float
    lines: Sequence[tuple[float, str]]


def build_direct_command(script: str, folder: Path) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment that run the script without a cluster."""
    spark = asyncio.run(SparkSoftware().find(folder))
    if spark.class_archive is None:
        raise NotMeasured("write the archive of Spark's classes with spark-operator local prepare")
    recording = build_recording_options(spark.java, spark.class_archive)
    command = build_recording_command(spark, spark.class_archive, ["--master", "local[1]", script])
    options = ["-Xmx1g", *build_starting_options(spark.java, spark.class_archive)]
    java, *words = (word for word in command if word not in recording)
    return [java, *options, *words], build_environment(spark, os.environ)


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Run:
    """Run a command that must succeed."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with subprocess.Popen(  # noqa: S603 - the arguments are built here
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        assert process.stdout is not None  # noqa: S101 - for the type
        lines = [(time.perf_counter() - begun, line.rstrip()) for line in process.stdout]
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        raise RuntimeError("\n".join([" ".join(command), *(line for _, line in lines)]))
    return Run(seconds, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, lines)


def main(arguments: Sequence[str]) -> dict[str, float]:
    """Run the benchmark, print the results, and return the values of the goals."""
    ours, direct = [], []
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "one.py"
        script.write_text(_SCRIPT)
        command, environment = build_direct_command(str(script), Path(folder))
        cluster = [sys.executable, "-m", "airflow_provider_spark_operator.cli", "local", "run", str(script)]
        for _ in range(int(arguments[0]) if arguments else ROUNDS):
            ours.append(run(cluster))
            direct.append(run(command, environment))
            print(*(f"{seconds:6.2f} s  {line}" for seconds, line in ours[-1].lines), sep="\n", flush=True)
    (seconds, processor), (least_seconds, least_processor) = (
        (statistics.median(each.seconds for each in runs), statistics.median(each.processor for each in runs))
        for runs in (ours, direct)
    )
    print(f"local run {seconds:.2f} s, {processor:.2f} s of CPU; direct {least_seconds:.2f} s, {least_processor:.2f} s")
    name = "local run of one line / SparkSubmit with local[1]"
    return {f"{name}, seconds": seconds / least_seconds, f"{name}, CPU": processor / least_processor}


if __name__ == "__main__":
    main(sys.argv[1:])
