"""A thousand watchers in a real triggerer share one watch; a completion starts a DAG in a real scheduler.

`ASSET_WATCHERS` is the number of watchers.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
import yaml

from demo.airflow_environment import build_airflow_environment
from demo.processes import Component, Components
from demo.run import AIRFLOW_COMMANDS
from tests.airflow.test_real_asset_watcher import DAG_FILE, Events, succeed_at_once
from tests.cluster import Cluster, stay_submitted

WATCHERS = int(os.environ.get("ASSET_WATCHERS", "1000"))
ENDED = 20
# The supervisor of a triggerer on a busy machine answers some requests per second, and each watcher sends two.
DEADLINE_SECONDS = 300 + WATCHERS

pytestmark = [pytest.mark.airflow, pytest.mark.scheduler, pytest.mark.timeout(DEADLINE_SECONDS + 40)]

MANY_DAG_FILE = f"""
from airflow.sdk import DAG, Asset, AssetWatcher
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow_provider_spark_operator.triggers.spark_application_event import SparkApplicationEventTrigger

def build_asset(number):
    trigger = SparkApplicationEventTrigger(
        namespace="jobs", kubernetes_conn_id="kubernetes_default", name_pattern=f"report-{{number}}-*"
    )
    return Asset(f"report-{{number}}", watchers=[AssetWatcher(name=f"report-{{number}}", trigger=trigger)])

with DAG("consumer", schedule=[build_asset(number) for number in range({WATCHERS})]):
    EmptyOperator(task_id="read")
"""


@asynccontextmanager
async def run_airflow(cluster: Cluster, folder: Path, dag_file: str) -> AsyncIterator[tuple[Components, Events]]:
    """Create Airflow's database with the assets of a DAG file, and report their events."""
    dags, kubeconfig = folder / "dags", folder / "kubeconfig"
    dags.mkdir()
    (dags / "consumer.py").write_text(dag_file)
    kubeconfig.write_text(yaml.safe_dump(cluster.kubeconfig))
    environment = build_airflow_environment(folder / "airflow", dags, kubeconfig)
    async with asyncio.timeout(DEADLINE_SECONDS), Components(environment, folder / "logs") as components:
        reporting = (sys.executable, "-m", "tests.airflow.watched_assets")
        events = Events(await components.start("reporter", reporting, pipe_output=True))
        assert await events.read() == {}
        yield components, events


async def start(components: Components, name: str) -> Component:
    return await components.start(name, (sys.executable, "-m", "airflow", *AIRFLOW_COMMANDS[name]))


def count_watchers(log: Path) -> int:
    """Return the number of triggers that have begun to watch."""
    return log.read_text().count("watching SparkApplications")


async def wait_for_watchers(log: Path, count: int) -> None:
    while count_watchers(log) < count:  # noqa: ASYNC110 - a file of another process
        await asyncio.sleep(0.2)


def count_connections(component: Component, port: int) -> int:
    """Return the number of connections that the processes of a component have to a port."""
    processes = psutil.Process(component.process.pid).children(recursive=True)
    connections = [one for process in processes for one in process.net_connections("tcp")]
    return sum(one.status == psutil.CONN_ESTABLISHED and one.raddr.port == port for one in connections if one.raddr)


async def test_thousand_watchers_share_one_watch(cluster: Cluster, tmp_path: Path) -> None:
    cluster.script = stay_submitted
    port = urlsplit(cluster.kubeconfig["clusters"][0]["cluster"]["server"]).port
    assert port is not None
    before = cluster.do(lambda: cluster.store.changes.count_subscribers(cluster.kind))
    async with run_airflow(cluster, tmp_path, MANY_DAG_FILE) as (components, events):
        triggerer = await start(components, "triggerer")
        await wait_for_watchers(tmp_path / "logs" / "triggerer.log", WATCHERS)
        assert cluster.do(lambda: cluster.store.changes.count_subscribers(cluster.kind)) == before + 1
        uids = set()
        for number in range(0, WATCHERS, WATCHERS // ENDED):
            uids.add(cluster.create(f"report-{number}-a")["metadata"]["uid"])
            await asyncio.to_thread(cluster.play, succeed_at_once, f"report-{number}-a")
        counts = await events.read()
        while counts.keys() != uids:
            counts = await events.read()
        # One connection is for the watch. A list may keep a second connection open for the next request.
        assert count_connections(triggerer, port) <= 2
    assert counts == dict.fromkeys(uids, 1)


async def test_ended_application_starts_a_dag(cluster: Cluster, tmp_path: Path) -> None:
    cluster.script = stay_submitted
    async with run_airflow(cluster, tmp_path, DAG_FILE) as (components, _):
        for name in AIRFLOW_COMMANDS:
            await start(components, name)
        await wait_for_watchers(tmp_path / "logs" / "triggerer.log", 1)
        cluster.create("report-1")
        await asyncio.to_thread(cluster.play, succeed_at_once, "report-1")
        logs = tmp_path / "airflow" / "logs" / "dag_id=consumer"
        while not any("report-1" in log.read_text() for log in logs.rglob("attempt=1.log")):  # noqa: ASYNC110 - files
            await asyncio.sleep(0.2)
        assert len(cluster.applications()) == 1
