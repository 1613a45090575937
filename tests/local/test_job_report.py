"""The job of docs/guides/report-results.md with real Spark: its report, and the exit code of a failed check."""

import re
from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.follow.access.reference import ApplicationReference
from airflow_provider_spark_operator.follow.ending.evidence import gather_evidence
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from airflow_provider_spark_operator.local.cluster import RunningCluster, run_cluster
from tests.cli.process import start_command, wait_for_exit

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "report-results.md").read_text()
(JOB,) = re.findall(r"^```python\n(# jobs/quality.py\n.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
DEADLINE = 160


async def submit(cluster: RunningCluster, folder: Path, name: str, rows: int) -> tuple[ExitCode, str, str]:
    (folder / "quality.py").write_text(JOB)
    options = ("--name", name, "--image", "spark:4.3.0", "--executor-instances", "1", "--follow")
    command = ("submit", str(folder / "quality.py"), *options, "--kubeconfig", str(cluster.kubeconfig), "--", str(rows))
    async with start_command(*command, home=folder) as process:
        code, out, err = await wait_for_exit(process, DEADLINE)
    assert code is not None
    return ExitCode(code), out, err


@pytest.mark.spark
@pytest.mark.timeout(400)
async def test_report_arrives_and_a_failed_check_is_exit_code_1(tmp_path: Path) -> None:
    async with run_cluster(tmp_path / "home") as cluster:
        code, out, err = await submit(cluster, tmp_path, "full", 1000)
        assert code == ExitCode.SUCCESS, err
        assert {"progress: 50%", "rows: 1000", "check not_empty passed: 1000 rows"} <= set(out.splitlines())
        code, _, err = await submit(cluster, tmp_path, "empty", 0)
        assert code == ExitCode.CHECK_FAILED
        assert "SparkApplication default/empty failed: check not_empty failed: 0 rows; the program itself" in err
        resource = await cluster.client.get(SPARK_APPLICATIONS, "full", "default")
        evidence = await gather_evidence(cluster.client, ApplicationReference.of(resource, SPARK_APPLICATIONS))
    assert evidence.report.to_json() == {
        "checks": {"not_empty": {"passed": True, "detail": "1000 rows"}},
        "metadata": {"rows": 1000, "table": "orders"},
        "progress": 0.5,
    }
    assert evidence.driver_message is not None, "the termination message was not read"
