"""Connections of another user of this machine to the processes of a local cluster."""

import asyncio
import json
import os
import re
import stat
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS, SPARK_CLUSTERS
from airflow_provider_spark_operator.local.authentication import provide_secret
from airflow_provider_spark_operator.local.cluster import run_cluster
from tests.local.test_spark_cluster import SPARK_CLUSTER
from tests.reconcile.harness import build_application

from kubelet.running_node import wait_until_async

# A request of Spark's protocol, without authentication: the length, the type, a number, the length of the body, a body.
PROBE = """
import encodings.idna, http.client, json, os, socket, struct, sys, urllib.request
ports, files = json.loads(sys.argv[1])
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
body = bytes(8)
request = struct.pack(">QBQI", 21 + len(body), 3, 7, len(body)) + body
answers = {}
for port in ports:
    with socket.socket() as connection:  # the other user cannot read the modules of another function
        connection.settimeout(5)
        connection.connect(("127.0.0.1", port))
        connection.sendall(request)
        answer = b""
        try:
            while piece := connection.recv(65536):
                answer += piece
                if len(answer) > 8 and len(answer) >= struct.unpack(">Q", answer[:8])[0]:
                    break
        except OSError:
            pass
    if answer[8:9] == bytes([5]):
        answers[port] = answer[21:].decode(errors="replace")

pages = []
for port in set(ports) - answers.keys():
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/environment/", timeout=30) as page:
            pages.append(page.read().decode())
    except (OSError, http.client.HTTPException):
        pass

def read(file):
    try:
        with open(file, "rb") as opened:
            return opened.read().decode(errors="replace")
    except OSError:
        return ""

commands = [read(f"/proc/{pid}/cmdline") for pid in os.listdir("/proc") if pid.isdigit()]
print(json.dumps([answers, [file for file in files if read(file)], commands, pages]))
"""


def list_processes(home: Path) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if "java" in (process.info["cmdline"] or [""])[0] and str(home) in " ".join(process.info["cmdline"])
    ]


def list_ports(home: Path) -> list[int]:
    """Return the ports on which the JVMs of a cluster listen."""
    connections = [entry for process in list_processes(home) for entry in process.net_connections("tcp")]
    return sorted({entry.laddr.port for entry in connections if entry.status == psutil.CONN_LISTEN})


async def probe(ports: list[int], files: list[str]) -> tuple[dict[str, str], list[str], list[str], list[str]]:
    """Connect to each port and open each file as another user.

    Return Spark's answers, the open files, all commands, and the pages with the settings of drivers.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROBE, json.dumps([ports, files]), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    answers, readable, commands, pages = json.loads(out)
    return answers, readable, commands, pages


def test_secret_is_generated_once_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    first = provide_secret(tmp_path / "one")

    file, properties = first.folder / "secret", first.folder / "spark-defaults.conf"
    assert provide_secret(tmp_path / "one") == first
    assert provide_secret(tmp_path / "two").value != first.value
    assert len(first.value) == 64
    assert file.read_text() == first.value
    assert {stat.S_IMODE(each.stat().st_mode) for each in (file, properties)} == {0o600}
    assert re.fullmatch("spark.authenticate true\nspark.authenticate.secret [0-9a-f]{64}\n", properties.read_text())
    assert first.value not in properties.read_text()


@pytest.mark.spark
@pytest.mark.skipif(
    os.geteuid() != 0 or sys.platform != "linux", reason="only root can start a process of another user"
)
@pytest.mark.timeout(500)
async def test_connection_of_another_user_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "wait.py"
    script.write_text(
        "import time\nfrom pyspark.sql import SparkSession\n"
        "SparkSession.builder.getOrCreate().range(1).count()\nprint('counted', flush=True)\ntime.sleep(600)"
    )
    conf = {"spark.kubernetes.container.image": "spark:4.3.0", "spark.executor.instances": "1"}
    # A converted application sets spark.authenticate.
    conf |= {"spark.authenticate": "false", "spark.redaction.regex": "nothing"}
    on_cluster = {"spark.master": "spark://shared-master-svc.default.svc:7077", "spark.cores.max": "1"}
    runner = "org.apache.spark.deploy.PythonRunner"
    applications = [
        build_application(name, conf=properties, pyFiles=f"local://{script}", mainClass=runner)
        for name, properties in (("alone", conf), ("shared", conf | on_cluster))
    ]
    home = tmp_path / "home"
    async with run_cluster(home) as cluster:
        await cluster.client.create(SPARK_CLUSTERS, SPARK_CLUSTER, "default")
        for application in applications:
            del application["spec"]["jars"]
            await cluster.client.create(SPARK_APPLICATIONS, application, "default")

        async def is_running() -> bool:
            logs = "\n".join(file.read_text() for file in (home / "logs").rglob("*.log"))
            assert "Exception in thread" not in logs, logs
            return logs.count("counted") >= 2 and logs.count("Registering worker") >= 2

        await wait_until_async(is_running, seconds=400)
        pids = [process.pid for process in list_processes(home)]
        properties = [str(file) for file in home.rglob("spark.properties")]
        secret = provide_secret(home / "cache")
        files = [*(f"/proc/{pid}/environ" for pid in pids), *properties, *map(str, secret.folder.iterdir())]
        answers, readable, commands, pages = await probe(list_ports(home), files)
        secrets = {secret.value, *(find_executor_secret(pid) for pid in pids)} - {""}
    # The ports of the master, its two workers, the executors, and two ports of each driver.
    assert len(answers) >= 9, answers
    assert all("Expected SaslMessage" in answer for answer in answers.values()), answers
    assert properties
    assert readable == []
    assert len(secrets) == 2
    assert sum("spark.redaction.regex" in page for page in pages) == 2
    assert not [text for text in (*commands, *pages) if any(value in text for value in secrets)]


def find_executor_secret(pid: int) -> str:
    variables: dict[str, Any] = psutil.Process(pid).environ()
    return str(variables.get("_SPARK_AUTH_SECRET", ""))
