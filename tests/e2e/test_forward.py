"""Run `spark-operator forward` with the port forwarding of a real kubelet."""

import asyncio
import json
import signal
from contextlib import suppress
from pathlib import Path

import aiohttp

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import PODS, SPARK_APPLICATIONS
from tests.cli.applications.test_forward import find_address
from tests.cli.process import read_line, start_command, wait_for_exit
from tests.e2e.jobs import build_endless
from tests.e2e.node import DEADLINE, KUBECONFIG, NEEDED
from tests.e2e.test_lifecycle import wait_for_application

pytestmark = NEEDED


async def test_forward_shows_the_spark_ui_and_that_of_the_next_attempt(
    client: KubeClient, driven: str, tmp_path: Path
) -> None:
    restart = {"restartConfig": {"restartPolicy": "OnFailure", "restartBackoffMillis": 0}}
    document = build_endless("job", applicationTolerations=restart)
    document["spec"]["sparkConf"]["spark.ui.enabled"] = "true"
    await client.create(SPARK_APPLICATIONS, document, driven)
    await wait_for_application(client, driven, "job", "RunningHealthy")
    words = ("forward", "job", "--port", "0", "--kubeconfig", str(KUBECONFIG), "-n", driven)
    async with start_command(*words, home=tmp_path) as process:
        address = find_address(await read_line(process, "Forwarding "))
        assert "Spark Jobs" in await fetch(f"{address}/jobs/")
        first = await read_application_id(address)

        await client.delete(PODS, "job-0-driver", driven)

        await fetch(address, 503, "is not running")
        await fetch(f"{address}/jobs/", text="Spark Jobs")
        assert await read_application_id(address) != first
        process.send_signal(signal.SIGINT)
        code, _, err = await wait_for_exit(process)
    assert (code, "Traceback" in err) == (ExitCode.SUCCESS, False), err
    assert "attempt 2: " in err


async def fetch(address: str, status: int = 200, text: str = "") -> str:
    """Read a page until it has a status, and contains a text. A driver that ends closes its connections."""
    async with asyncio.timeout(DEADLINE), aiohttp.ClientSession() as session:
        while True:
            with suppress(aiohttp.ClientError):
                async with session.get(address) as response:
                    page = await response.text()
                    if response.status == status and text in page:
                        return page
            await asyncio.sleep(0.5)


async def read_application_id(address: str) -> str:
    (application,) = json.loads(await fetch(f"{address}/api/v1/applications"))
    return str(application["id"])
