import asyncio
import json
import signal
from pathlib import Path

import aiohttp
import pytest

from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from tests.cli.process import ended, line_of, running
from tests.reconcile.stage import NAMESPACE, Stage, application, furnish, serving


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, ExitCode.SUCCESS), (signal.SIGINT, ExitCode.INTERRUPTED)]
)
async def test_it_works_from_its_ready_line_until_a_signal(
    tmp_path: Path, number: signal.Signals, code: ExitCode
) -> None:
    async with (
        serving() as kubeconfig,
        await open_client(ClusterAccess(kubeconfig_document=kubeconfig)) as client,
    ):
        await furnish(client)
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps(kubeconfig))
        words = ("reconcile", "--kubeconfig", str(path), "--health-port", "0", "--log-format", "json")
        async with running(*words, home=tmp_path) as process:
            ready = await line_of(process, "ready ")
            settings = dict(word.split("=", 1) for word in ready.split()[1:])
            assert settings["namespaces"] == NAMESPACE  # that of the kubeconfig's context
            assert await probe(settings["health-port"]) == 200
            stage = Stage(client, NAMESPACE)
            await stage.submit(application())
            await stage.until_state(ApplicationState.DRIVER_REQUESTED)
            process.send_signal(number)
            exit_code, out, log = await ended(process)
    assert (exit_code, out) == (code, "")
    entries = [json.loads(line) for line in log.splitlines()]
    assert {"application": f"{NAMESPACE}/pi", "level": "info"}.items() <= entries[0].items()


async def test_definitions_that_are_not_installed_are_missed_in_one_sentence(tmp_path: Path) -> None:
    async with serving() as kubeconfig:
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps(kubeconfig))
        async with running("reconcile", "--kubeconfig", str(path), home=tmp_path) as process:
            exit_code, _, log = await ended(process)
    assert exit_code == ExitCode.API_FAILED
    (line,) = log.splitlines()
    assert line.startswith("spark-operator: error: cannot list sparkapplications.spark.apache.org in namespace jobs")
    assert "is the definition of sparkapplications.spark.apache.org installed" in line


async def probe(port: str) -> int:
    # The ready line comes when the caches are filled, so there is nothing to wait for.
    url = f"http://127.0.0.1:{port}/readyz"
    async with asyncio.timeout(30), aiohttp.ClientSession() as session, session.get(url) as response:
        return response.status
