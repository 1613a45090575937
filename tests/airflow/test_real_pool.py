"""Two pools of a real scheduler: one counts deferred tasks, the other one does not."""

import asyncio
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from airflow_provider_spark_operator.testing.applications import Application
from demo.airflow_environment import build_airflow_environment
from demo.processes import Components
from demo.run import AIRFLOW_COMMANDS, read_task_states
from tests.airflow.test_real_triggerer import DEADLINE_SECONDS
from tests.cluster import Cluster

pytestmark = [pytest.mark.airflow, pytest.mark.scheduler, pytest.mark.timeout(DEADLINE_SECONDS + 40)]

SLOTS = 2
POOLS = {"counted": ("--include-deferred",), "uncounted": ()}
TASKS = 4
DAG_FILE = f"""
from datetime import timedelta
from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

# Airflow fails a task whose trigger fires before the scheduler has recorded the deferral. The retries handle that.
with DAG("deferred", schedule=None, default_args={{"retries": 3, "retry_delay": timedelta(seconds=1)}}):
    for pool in {[*POOLS]}:
        for number in range({TASKS}):
            SparkApplicationOperator(
                task_id=f"{{pool}}_{{number}}", name=f"{{pool}}-{{number}}", pool=pool, deferrable=True,
                py_file="local:///opt/job.py", spark_version="4.3.0",
            )
"""


class Load:
    """The applications of each pool: how many have started, run, and have run at the same time."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.running: Counter[str] = Counter()
        self.most: Counter[str] = Counter()

    async def begin(self, application: Application) -> None:
        """Start an application, which runs until `end_all` ends it."""
        application.start()
        pool = application.name.partition("-")[0]
        self.running[pool] += 1
        self.most[pool] = max(self.most[pool], self.running[pool])
        self.started.append(application.name)

    async def end_all(self, cluster: Cluster) -> None:
        """End each application, after all of the pool that does not count them run at the same time."""
        while self.running["uncounted"] < TASKS:  # noqa: ASYNC110 - the script runs in another thread
            await asyncio.sleep(0.2)
        ended = 0
        while ended < TASKS * len(POOLS):
            for name in self.started[ended:]:
                self.running[name.partition("-")[0]] -= 1
                await asyncio.to_thread(cluster.play, end, name)
                ended += 1
            await asyncio.sleep(0.2)


async def end(application: Application) -> None:
    application.enter("Succeeded", driver=application.end_driver(0))
    application.enter("ResourceReleased")


async def create_pools(components: Components) -> None:
    for name, options in POOLS.items():
        command = ("-m", "airflow", "pools", "set", name, str(SLOTS), "Spark applications", *options)
        created = await components.start(f"pool {name}", (sys.executable, *command))
        if await created.process.wait():
            raise created.build_failure()


async def test_pool_limits_deferred_applications_only_if_it_counts_them(cluster: Cluster, tmp_path: Path) -> None:
    load = Load()
    cluster.script = load.begin
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "deferred.py").write_text(DAG_FILE)
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(cluster.kubeconfig))
    environment = build_airflow_environment(tmp_path / "airflow", tmp_path / "dags", kubeconfig)
    async with asyncio.timeout(DEADLINE_SECONDS), Components(environment, tmp_path / "logs") as components:
        command = (sys.executable, "-m", "demo.dag_run", "deferred")
        reports = read_task_states(await components.start("dag run", command, pipe_output=True))
        states = await anext(reports)
        await create_pools(components)
        for name, arguments in AIRFLOW_COMMANDS.items():
            await components.start(name, (sys.executable, "-m", "airflow", *arguments))
        ending = asyncio.create_task(load.end_all(cluster))
        async for report in reports:
            states = report
        await ending

    assert set(states.values()) == {"success"}
    assert load.most["uncounted"] == TASKS
    assert load.most["counted"] == SLOTS
