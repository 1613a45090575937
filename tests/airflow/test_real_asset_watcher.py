"""A watcher of applications whose real triggerer is killed again and again: each application fires exactly once.

`ASSET_KILLS` is the number of kills. Ten applications end around each of them.
"""

import asyncio
import json
import os
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from airflow_provider_spark_operator.testing.applications import Application
from demo.airflow_environment import build_airflow_environment
from demo.processes import Component, Components
from demo.run import AIRFLOW_COMMANDS
from tests.airflow.database import database
from tests.airflow.test_real_log import kill
from tests.cluster import Cluster, stay_submitted

KILLS = int(os.environ.get("ASSET_KILLS", "20"))
ENDS_PER_KILL = 10
# A triggerer needs many seconds of a busy machine to start.
DEADLINE_SECONDS = 120 + 60 * KILLS

pytestmark = [pytest.mark.airflow, pytest.mark.scheduler, pytest.mark.timeout(DEADLINE_SECONDS + 60)]

# Short times are safe, because only one triggerer runs at a time, and the next one takes longer to start.
SHORT_TIMEOUTS = {
    "AIRFLOW__TRIGGERER__JOB_HEARTBEAT_SEC": "1",
    "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "4",
}
DAG_FILE = """
from airflow.sdk import DAG, Asset, AssetWatcher, task
from airflow_provider_spark_operator.triggers.spark_application_event import SparkApplicationEventTrigger

TRIGGER = SparkApplicationEventTrigger(namespace="jobs", kubernetes_conn_id="kubernetes_default", name_pattern="*-*")
REPORTS = Asset("reports", watchers=[AssetWatcher(name="reports", trigger=TRIGGER)])

with DAG("consumer", schedule=[REPORTS]):

    @task
    def read(*, triggering_asset_events):
        print(triggering_asset_events)

    read()
"""


class Events:
    """The asset events in Airflow's database, as a process reports them."""

    def __init__(self, reporter: Component) -> None:
        assert reporter.process.stdout is not None
        self._reporter = reporter
        self._lines = reporter.process.stdout

    async def read(self) -> Counter[str]:
        """Wait for a change, and return the number of events of each application, by uid."""
        line = await self._lines.readline()
        if not line:
            await self._reporter.process.wait()
            raise self._reporter.build_failure()
        return Counter(json.loads(line))


async def succeed_at_once(application: Application) -> None:
    application.enter("Succeeded", "ResourceReleased")


class Triggerers:
    """The triggerers of the test, one after another."""

    def __init__(self, components: Components, logs: Path) -> None:
        self._components = components
        self._logs = logs
        self._number = 0

    async def start(self) -> Component:
        """Start a triggerer."""
        self._number += 1
        command = (sys.executable, "-m", "airflow", *AIRFLOW_COMMANDS["triggerer"])
        return await self._components.start(f"triggerer {self._number}", command)

    async def wait_until_watching(self) -> None:
        """Wait until the trigger of the asset runs in the latest triggerer."""
        log = self._logs / f"triggerer-{self._number}.log"
        while "watching SparkApplications" not in log.read_text():  # noqa: ASYNC110 - a file
            await asyncio.sleep(0.1)


async def end_some(cluster: Cluster, names: list[str]) -> None:
    for name in names:
        await asyncio.to_thread(cluster.play, succeed_at_once, name)
        await asyncio.sleep(random.uniform(0, 0.3))


@asynccontextmanager
async def run_consumer(cluster: Cluster, folder: Path) -> AsyncIterator[tuple[Triggerers, Events]]:
    """Store the DAG with its asset in a database. All processes end with the block."""
    dags, kubeconfig = folder / "dags", folder / "kubeconfig"
    dags.mkdir()
    (dags / "consumer.py").write_text(DAG_FILE)
    kubeconfig.write_text(yaml.safe_dump(cluster.kubeconfig))
    environment = build_airflow_environment(folder / "airflow", dags, kubeconfig) | SHORT_TIMEOUTS
    async with database() as store, asyncio.timeout(DEADLINE_SECONDS):
        environment |= store.settings if store else {}
        async with Components(environment, folder / "logs") as components:
            if store:
                await store.start(components)
            reporting = (sys.executable, "-m", "tests.airflow.watched_assets")
            events = Events(await components.start("reporter", reporting, pipe_output=True))
            assert await events.read() == {}
            yield Triggerers(components, folder / "logs"), events


def end_earlier_applications(cluster: Cluster) -> None:
    cluster.script = stay_submitted
    for number in range(3):
        cluster.create(f"earlier-{number}")
        cluster.play(succeed_at_once, f"earlier-{number}")


async def test_application_that_ends_fires_its_watcher(cluster: Cluster, tmp_path: Path) -> None:
    end_earlier_applications(cluster)
    async with run_consumer(cluster, tmp_path) as (triggerers, events):
        await triggerers.start()
        await triggerers.wait_until_watching()
        uid = cluster.create("report-0")["metadata"]["uid"]
        await asyncio.to_thread(cluster.play, succeed_at_once, "report-0")
        assert await events.read() == {uid: 1}


@pytest.mark.needs_airflow("3.3")  # older versions have no place for the record of delivered applications
async def test_killed_triggerer_fires_exactly_once_for_each_application(cluster: Cluster, tmp_path: Path) -> None:
    end_earlier_applications(cluster)
    async with run_consumer(cluster, tmp_path) as (triggerers, events):
        counts, uids = await _kill_repeatedly(cluster, triggerers, events)
    assert len(uids) == KILLS * ENDS_PER_KILL
    assert counts == dict.fromkeys(uids, 1)


async def _kill_repeatedly(cluster: Cluster, triggerers: Triggerers, events: Events) -> tuple[Counter[str], set[str]]:
    uids: set[str] = set()
    triggerer = await triggerers.start()
    await triggerers.wait_until_watching()
    for round_ in range(KILLS):
        names = [f"report-{round_}-{number}" for number in range(ENDS_PER_KILL)]
        uids |= {cluster.create(name)["metadata"]["uid"] for name in names}
        ending = asyncio.create_task(end_some(cluster, names))
        # Airflow stores events about a second after the trigger has fired them.
        await asyncio.sleep(random.uniform(0, 4))
        await kill(triggerer)
        triggerer = await triggerers.start()
        await ending
        await triggerers.wait_until_watching()
    counts: Counter[str] = Counter()
    while not counts.keys() >= uids:
        counts = await events.read()
    # A triggerer that starts once more would repeat what is not recorded.
    await kill(triggerer)
    await triggerers.start()
    await triggerers.wait_until_watching()
    marker = cluster.create("the-last")["metadata"]["uid"]
    await asyncio.to_thread(cluster.play, succeed_at_once, "the-last")
    while marker not in counts:
        counts = await events.read()
    del counts[marker]
    return counts, uids
