import asyncio
import json
import re
import signal
import socket
import threading
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.testing.applications import Application
from tests.cli.applications.test_logs import build_next_attempt
from tests.cli.pods_with_ports import serve_ports
from tests.cli.process import DEADLINE, read_line, start_command, wait_for_exit
from tests.cli.relay import Relay, serve_relay
from tests.cli.verbs import Verbs
from tests.cluster import Cluster, run_on, stay_submitted


async def fetch(address: str, status: int = 200, text: str = "") -> str:
    """Read a page until it has a status, and contains a text."""
    async with asyncio.timeout(DEADLINE), aiohttp.ClientSession() as session:
        while True:
            async with session.get(address) as response:
                page = await response.text()
                if response.status == status and text in page:
                    return page
            await asyncio.sleep(0.05)


def find_address(line: str) -> str:
    found = re.search(r"http://127\.0\.0\.1:\d+", line)
    assert found, line
    return found[0]


@asynccontextmanager
async def forward_through_relay(cluster: Cluster, home: Path) -> AsyncIterator[tuple[Relay, Process, str]]:
    """Forward the Spark UI of the application `pi` through a relay, and yield both with the address of the UI."""
    async with serve_relay(cluster.kubeconfig) as (relay, kubeconfig):
        (home / "relayed").write_text(json.dumps(kubeconfig))
        words = ["forward", "pi", "--port", "0", "--kubeconfig", str(home / "relayed")]
        async with start_command(*words, home=home) as process:
            address = find_address(await read_line(process, "Forwarding "))
            assert await fetch(address) == "pi-0-driver:4040"
            yield relay, process, address


async def test_spark_ui_of_the_driver_is_served(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    serve_ports(monkeypatch)
    scripted_cluster.script = run_on
    scripted_cluster.create("pi")
    async with start_command("forward", "pi", "--port", "0", home=tmp_path) as process:
        line = await read_line(process, "Forwarding ")
        assert line.endswith("to the Spark UI of SparkApplication jobs/pi")
        assert await fetch(find_address(line)) == "pi-0-driver:4040"
        process.send_signal(signal.SIGINT)
        code, _, err = await wait_for_exit(process)
    assert (code, "Traceback" in err) == (ExitCode.SUCCESS, False)


async def test_address_explains_that_the_driver_does_not_run_yet(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    serve_ports(monkeypatch)
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("pi")
    async with start_command("forward", "pi", "--port", "0", home=tmp_path) as process:
        address = find_address(await read_line(process, "Forwarding "))
        assert await fetch(address, 503) == "the driver of SparkApplication jobs/pi is not running\n"
        scripted_cluster.play(run_on)
        assert await fetch(address) == "pi-0-driver:4040"


async def test_error_of_the_node_is_shown_and_printed_once(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    serve_ports(monkeypatch, lambda *_: False)
    scripted_cluster.script = run_on
    scripted_cluster.create("pi")
    async with start_command("forward", "pi", "--port", "0", home=tmp_path) as process:
        address = find_address(await read_line(process, "Forwarding "))
        for _ in range(2):
            assert await fetch(address, 503) == "connection refused\n"
        process.send_signal(signal.SIGINT)
        _, _, err = await wait_for_exit(process)
    assert err.count("error: connection refused") == 1


async def test_address_shows_the_new_driver_after_a_restart(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    serve_ports(monkeypatch)
    scripted_cluster.script = run_on
    scripted_cluster.create("pi")
    async with start_command("forward", "pi", "--port", "0", home=tmp_path) as process:
        address = find_address(await read_line(process, "Forwarding "))
        assert await fetch(address) == "pi-0-driver:4040"
        scripted_cluster.play(build_next_attempt(scripted_cluster))
        assert await fetch(address, text="pi-1-driver:4040")
        process.send_signal(signal.SIGINT)
        code, _, err = await wait_for_exit(process)
    assert code == ExitCode.SUCCESS
    assert err.index(": RunningHealthy") < err.index(": ScheduledToRestart") < err.rindex(": RunningHealthy")


async def test_address_works_again_after_an_outage_of_the_api_server(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    serve_ports(monkeypatch)
    scripted_cluster.script = run_on
    scripted_cluster.create("pi")
    async with forward_through_relay(scripted_cluster, tmp_path) as (relay, process, address):
        await relay.close()
        assert "could not" in await fetch(address, 503)
        await relay.open()
        assert await fetch(address) == "pi-0-driver:4040"
        scripted_cluster.play(end)
        code, _, err = await wait_for_exit(process)
    assert (code, "Traceback" in err) == (ExitCode.SUCCESS, False)
    assert "SparkApplication jobs/pi has ended, so the Spark UI is no longer available" in err


async def test_lost_connection_to_the_pod_ends_only_this_connection(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    opened = threading.Event()

    def accept(*_: object) -> bool:
        opened.set()
        return True

    serve_ports(monkeypatch, accept)
    scripted_cluster.script = run_on
    scripted_cluster.create("pi")
    async with forward_through_relay(scripted_cluster, tmp_path) as (relay, process, address):
        opened.clear()
        # The pod answers the first bytes. This connection sends none, so it stays open.
        reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
        assert await asyncio.to_thread(opened.wait, DEADLINE)
        await relay.cut()
        async with asyncio.timeout(DEADLINE):
            await reader.read()
        writer.close()
        assert await fetch(address) == "pi-0-driver:4040"
        process.send_signal(signal.SIGINT)
        code, _, err = await wait_for_exit(process)
    assert (code, "Traceback" in err) == (ExitCode.SUCCESS, False)


async def end(application: Application) -> None:
    """Let the running driver succeed."""
    application.succeed()


async def test_end_of_the_application_ends_the_command(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    serve_ports(monkeypatch)
    scripted_cluster.script = run_on
    scripted_cluster.create("pi")
    async with start_command("forward", "pi", "--port", "0", home=tmp_path) as process:
        await read_line(process, "Forwarding ")
        scripted_cluster.play(end)
        code, _, err = await wait_for_exit(process)
    assert code == ExitCode.SUCCESS
    assert "SparkApplication jobs/pi has ended, so the Spark UI is no longer available" in err


async def test_deletion_of_the_application_ends_the_command(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    serve_ports(monkeypatch)
    scripted_cluster.script = run_on
    scripted_cluster.create("pi")
    async with start_command("forward", "pi", "--port", "0", home=tmp_path) as process:
        await read_line(process, "Forwarding ")
        scripted_cluster.delete("pi")
        code, _, err = await wait_for_exit(process)
    assert code == ExitCode.INFRASTRUCTURE_FAILED
    assert "SparkApplication jobs/pi was deleted" in err


def test_ended_application_is_refused(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.create("pi")
    scripted_cluster.wait_for_end()
    assert "SparkApplication jobs/pi has ended" in run_verb("forward pi", ExitCode.INVALID).err


def test_port_in_use_is_refused(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    serve_ports(monkeypatch)
    scripted_cluster.script = run_on
    scripted_cluster.create("pi")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert main(["forward", "pi", "--port", str(port)]) == ExitCode.INVALID
    assert f"--port {port}: could not listen on the port" in capsys.readouterr().err
