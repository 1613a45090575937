"""The job of docs/guides/streaming.md with real Spark: it runs, stops on request, and continues as a new version."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.verdict.verdict import Outcome, judge_progress
from airflow_provider_spark_operator.kube.resources import PODS, SPARK_APPLICATIONS
from airflow_provider_spark_operator.local.cluster import RunningCluster, run_cluster
from tests.cli.process import start_command, wait_for_exit

from kubelet.running_node import wait_until_async

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "streaming.md").read_text()
(JOB,) = re.findall(r"^```python\n(# clicks.py\n.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
(MANIFEST,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
# Fails the test if a batch of the first version is processed again or left out.
CHECK = """
print("ROWS", spark.read.parquet(output).selectExpr("count(*)", "count(DISTINCT value)", "max(value) + 1").first())
"""
DEADLINE = 160


def build_document(folder: Path, job: str) -> dict[str, Any]:
    """Return the manifest of the page with a job and folders of this machine."""
    (folder / "clicks.py").write_text(job)
    document: dict[str, Any] = yaml.safe_load(MANIFEST)
    spec = document["spec"]
    spec["pyFiles"] = f"local://{folder}/clicks.py"
    spec["driverArgs"] = [str(folder / "output"), str(folder / "checkpoint"), spec["driverArgs"][2]]
    spec["sparkConf"]["spark.kubernetes.container.image"] = "spark:4.3.0"
    spec["applicationTolerations"]["resourceRetainPolicy"] = "Always"
    return document


def read_commits(folder: Path) -> list[int]:
    return sorted(int(path.name) for path in (folder / "checkpoint" / "commits").glob("[0-9]*"))


async def run_and_stop(cluster: RunningCluster, folder: Path, job: str) -> str:
    """Run the job until it has committed two more batches, and stop it. Return its log."""
    client, before = cluster.client, len(read_commits(folder))
    await client.create(SPARK_APPLICATIONS, build_document(folder, job), "default")

    async def has_progress() -> bool:
        return len(read_commits(folder)) >= before + 2

    await wait_until_async(has_progress, seconds=DEADLINE)
    async with start_command("stop", "clicks", "--kubeconfig", str(cluster.kubeconfig), home=folder) as process:
        code, _, err = await wait_for_exit(process, DEADLINE)
    assert code == ExitCode.SUCCESS, err
    seen = read_progress(await client.get(SPARK_APPLICATIONS, "clicks", "default"))
    assert (judge_progress(seen).outcome, seen.attempt) == (Outcome.SUCCEEDED, 0)
    log = "\n".join([line async for line in client.logs("default", "clicks-0-driver")])
    await client.delete(SPARK_APPLICATIONS, "clicks", "default")

    async def is_gone() -> bool:
        return not any([(await client.list(kind, "default")).items for kind in (PODS, SPARK_APPLICATIONS)])

    await wait_until_async(is_gone, seconds=60)
    return log


@pytest.mark.spark
@pytest.mark.timeout(600)
async def test_job_stops_on_request_and_continues_as_a_new_version(tmp_path: Path) -> None:
    async with run_cluster(tmp_path / "home") as cluster:
        log = await run_and_stop(cluster, tmp_path, JOB)
        assert "Streaming query made progress" in log
        assert "Traceback" not in log
        first = read_commits(tmp_path)
        log = await run_and_stop(cluster, tmp_path, f"{JOB}{CHECK}")
    assert read_commits(tmp_path)[: len(first)] == first
    (counts,) = re.findall(r"ROWS Row\(.*?=(\d+), .*?=(\d+), .*?=(\d+)\)", log)
    assert len(set(counts)) == 1, counts
