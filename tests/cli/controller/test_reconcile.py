import asyncio
import json
import re
import signal
from pathlib import Path

import aiohttp
import pytest

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.kubernetes.ownership import read_tenure
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, LEASES, NAMESPACES
from tests.cli.process import read_line, start_command, wait_for_exit
from tests.cli.verbs import Verbs
from tests.definitions import build_definitions
from tests.local_api import NAMESPACE, install_definitions, serve_api
from tests.reconcile.harness import Api, build_application


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, ExitCode.SUCCESS), (signal.SIGINT, ExitCode.INTERRUPTED), (signal.SIGHUP, ExitCode.INTERRUPTED)],
)
async def test_controller_runs_from_its_ready_line_until_a_signal(
    tmp_path: Path, number: signal.Signals, code: ExitCode
) -> None:
    async with serve_api() as kubeconfig, await open_client(ClusterAccess(kubeconfig_document=kubeconfig)) as client:
        await install_definitions(client)
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps(kubeconfig))
        words = ["reconcile", "--kubeconfig", str(path), "--health-port", "0", "--metrics-port", "0"]
        words += ["--log-format", "json"]
        async with start_command(*words, home=tmp_path) as process:
            ready = await read_line(process, "ready ")
            settings = dict(word.split("=", 1) for word in ready.split()[1:])
            assert settings["namespaces"] == NAMESPACE  # the namespace of the kubeconfig's context
            assert (await fetch(settings["health-port"], "/readyz"))[0] == 200
            api = Api(client, NAMESPACE)
            await api.submit(build_application())
            await api.wait_for_state(ApplicationState.DRIVER_REQUESTED)
            status, page = await fetch(settings["metrics-port"], "/metrics")
            assert status == 200
            created = r'^spark_operator_api_requests_total\{resource="pods",status="201",verb="create"\} 1\.0$'
            assert re.search(created, page, re.MULTILINE)
            process.send_signal(number)
            exit_code, out, log = await wait_for_exit(process)
    assert (exit_code, out) == (code, "")
    entries = [json.loads(line) for line in log.splitlines()]
    assert f"holds lease {NAMESPACE}/spark-operator-lease as " in log
    assert any({"application": f"{NAMESPACE}/pi", "level": "info"}.items() <= entry.items() for entry in entries)


@pytest.mark.parametrize(
    ("definitions", "problem"),
    [
        ([], "does not serve SparkApplication of spark.apache.org"),
        (build_definitions("v1beta1"), "serves SparkApplication of spark.apache.org only as v1beta1, not as v1"),
    ],
    ids=["none", "of an earlier operator"],
)
async def test_unsupported_definitions_print_one_sentence(
    tmp_path: Path, definitions: list[dict[str, object]], problem: str
) -> None:
    async with serve_api() as kubeconfig, await open_client(ClusterAccess(kubeconfig_document=kubeconfig)) as client:
        for definition in definitions:
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition, None)
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps(kubeconfig))
        async with start_command("reconcile", "--kubeconfig", str(path), home=tmp_path) as process:
            exit_code, out, log = await wait_for_exit(process)
    assert (exit_code, out) == (ExitCode.API_FAILED, "")
    assert log.startswith(f"spark-operator: error: {client.server} {problem}. Install the CustomResourceDefinitions ")
    assert log.count("\n") == 1


async def test_second_controller_takes_over_when_the_leader_ends(tmp_path: Path) -> None:
    async with serve_api() as kubeconfig, await open_client(ClusterAccess(kubeconfig_document=kubeconfig)) as client:
        await install_definitions(client)
        api = Api(client, NAMESPACE)
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps(kubeconfig))
        words = ("reconcile", "--kubeconfig", str(path), "--lease", "ours", "--health-port", "0")
        async with start_command(*words, home=tmp_path) as first:
            assert f" lease={NAMESPACE}/ours " in await read_line(first, "ready ")
            await api.submit(build_application())
            await api.wait_for_state(ApplicationState.DRIVER_REQUESTED)
            async with start_command(*words, home=tmp_path) as second:
                ready = await read_line(second, "ready ")
                port = dict(word.split("=", 1) for word in ready.split()[1:])["health-port"]
                assert (await fetch(port, "/readyz"))[0] == 200
                first.send_signal(signal.SIGTERM)
                exit_code, _, log = await wait_for_exit(first)
                assert (exit_code, log.splitlines()[-1].endswith("released lease jobs/ours")) == (0, True), log
                await api.submit(build_application("later"))
                await api.wait_for_state(ApplicationState.DRIVER_REQUESTED, name="later")
                second.send_signal(signal.SIGTERM)
                assert (await wait_for_exit(second))[0] == 0
        assert read_tenure(await client.get(LEASES, "ours", NAMESPACE)).transitions == 1


async def test_lease_flag_overrides_the_settings(tmp_path: Path) -> None:
    async with serve_api() as kubeconfig, await open_client(ClusterAccess(kubeconfig_document=kubeconfig)) as client:
        await install_definitions(client)
        path, config = tmp_path / "kubeconfig", tmp_path / "apache.properties"
        path.write_text(json.dumps(kubeconfig))
        config.write_text("spark.kubernetes.operator.namespace=elsewhere\n")
        for given, lease in ((f"{NAMESPACE}/ours", f"{NAMESPACE}/ours"), ("ours", "elsewhere/ours")):
            words = ("--kubeconfig", str(path), "--config", str(config), "--lease", given)
            async with start_command("reconcile", *words, home=tmp_path) as process:
                assert f" lease={lease}" in await read_line(process, "ready ")


@pytest.mark.parametrize("lease", ["/ours", "jobs/", "jobs/ours/x", ""])
def test_invalid_lease_name_is_refused(lease: str, run_verb: Verbs) -> None:
    assert "must be NAME or NAMESPACE/NAME" in run_verb(["reconcile", "--lease", lease], ExitCode.INVALID).err


async def test_changed_settings_file_applies_without_a_restart(tmp_path: Path) -> None:
    async with serve_api() as kubeconfig, await open_client(ClusterAccess(kubeconfig_document=kubeconfig)) as client:
        await install_definitions(client)
        await client.create(NAMESPACES, {"metadata": {"name": "more"}}, None)
        path, config = tmp_path / "kubeconfig", tmp_path / "controller.properties"
        path.write_text(json.dumps(kubeconfig))
        config.write_text("spark.kubernetes.operator.watchedNamespaces=jobs\n")
        async with start_command(
            "reconcile", "--kubeconfig", str(path), "--config", str(config), home=tmp_path
        ) as process:
            await read_line(process, "ready namespaces=jobs ")
            config.write_text("spark.kubernetes.operator.watchedNamespaces=jobs,more\n")
            api = Api(client, "more")
            await api.submit(build_application())
            assert await api.wait_for_state(ApplicationState.DRIVER_REQUESTED)


TAKEN = "port in use"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--health-port", TAKEN], f"--health-port {TAKEN}: could not listen on the port: "),
        (
            ["--metrics-port", TAKEN, "--metrics-address", "127.0.0.1"],
            f"--metrics-port {TAKEN}: could not listen on the port: ",
        ),
        (
            ["--webhook", "jobs", "--webhook-port", "0", "--webhook-address", "192.0.2.1"],
            "--webhook-address 192.0.2.1: could not listen on the address: ",
        ),
    ],
)
async def test_server_that_cannot_listen_is_reported_with_its_flag(
    tmp_path: Path, words: list[str], error: str
) -> None:
    async with serve_api() as kubeconfig, await open_client(ClusterAccess(kubeconfig_document=kubeconfig)) as client:
        await install_definitions(client)
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps(kubeconfig))
        taken = client.server.rpartition(":")[2]
        words = [word.replace(TAKEN, taken) for word in words]
        async with start_command("reconcile", "--kubeconfig", str(path), *words, home=tmp_path) as process:
            exit_code, _, log = await wait_for_exit(process)
    assert exit_code == ExitCode.INVALID
    assert log.splitlines()[-1].startswith(f"spark-operator: error: {error.replace(TAKEN, taken)}")


async def fetch(port: str, path: str) -> tuple[int, str]:
    # The ready line is printed when the caches are filled, so the test need not wait.
    url = f"http://127.0.0.1:{port}{path}"
    async with asyncio.timeout(30), aiohttp.ClientSession() as session, session.get(url) as response:
        return response.status, await response.text()
