"""Jobs on a real node that report to the command line: a check that fails, and a stream that stops on request."""

from pathlib import Path

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.kubernetes.pods import get_status, list_containers
from airflow_provider_spark_operator.core.report.job_report import parse_message
from airflow_provider_spark_operator.follow.access.pods import read_driver_pod
from airflow_provider_spark_operator.follow.access.reference import ApplicationReference
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from tests.cli.process import start_command, wait_for_exit
from tests.e2e.node import CONF, DEADLINE, IMAGE, KUBECONFIG, NEEDED, wait_until

pytestmark = NEEDED

JOBS = Path(__file__).parents[2] / "example_dags" / "jobs"


async def run_command(home: Path, namespace: str, *words: str) -> tuple[int | None, str, str]:
    async with start_command(*words, "--kubeconfig", str(KUBECONFIG), "-n", namespace, home=home) as process:
        return await wait_for_exit(process, DEADLINE)


async def submit(home: Path, namespace: str, job: str, *words: str) -> tuple[int | None, str, str]:
    conf = [word for key, value in CONF.items() for word in ("--conf", f"{key}={value}")]
    options = ("--name", job, "--image", IMAGE, "--spark-version", "4.3.0", *conf)
    limit = ("--timeout", "3m") if "--follow" in words else ()
    return await run_command(home, namespace, "submit", str(JOBS / f"{job}.py"), *words, *options, *limit)


async def test_failed_check_is_in_the_termination_message(client: KubeClient, driven: str, tmp_path: Path) -> None:
    code, out, err = await submit(tmp_path, driven, "quality", "0", "--follow")
    assert code == ExitCode.CHECK_FAILED, err
    assert "check not_empty failed: 0 rows" in out
    assert "quality failed: check not_empty failed: 0 rows; the program itself succeeded" in err
    resource = await client.get(SPARK_APPLICATIONS, "quality", driven)
    pod = await read_driver_pod(client, ApplicationReference.of(resource, SPARK_APPLICATIONS))
    assert pod is not None
    (message,) = [container.message for container in list_containers(get_status(pod)) if container.message]
    assert parse_message(message).to_json() == {
        "checks": {"not_empty": {"passed": False, "detail": "0 rows"}},
        "metadata": {"rows": 0, "table": "orders"},
        "progress": 1.0,
    }


async def test_stream_reports_its_query_and_stops_on_request(client: KubeClient, driven: str, tmp_path: Path) -> None:
    code, _, err = await submit(tmp_path, driven, "clicks", "/tmp/clicks/output", "/tmp/clicks/checkpoint")
    assert code == ExitCode.SUCCESS, err

    async def has_reported() -> bool:
        return '"batch": ' in (await run_command(tmp_path, driven, "logs", "clicks"))[1]

    await wait_until(has_reported)
    code, _, err = await run_command(tmp_path, driven, "stop", "clicks")
    assert code == ExitCode.SUCCESS, err
    _, log, _ = await run_command(tmp_path, driven, "logs", "clicks")
    assert 'spark-task {"queries": {"clicks": {"batch": ' in log
