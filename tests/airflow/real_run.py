"""One run of a DAG in real Airflow processes, which a test watches and influences."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import yaml

from demo.airflow_environment import build_airflow_environment
from demo.processes import Components
from demo.run import AIRFLOW_COMMANDS, read_task_states
from demo.task_log import find_log
from tests.cluster import Cluster

DAG_ID = "deferred"
DEADLINE_SECONDS = 400
_POLL_SECONDS = 0.2


class RealRun:
    """A DAG run and its Airflow processes.

    Args:
        folder: The folder of the test, for the files of Airflow.
        environment: Environment variables of the Airflow processes.

    Attributes:
        states: The current states of the tasks, by task id.
    """

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder = folder
        self._environment = environment
        self.states: dict[str, str | None] = {}
        self._following: asyncio.Task[None] | None = None

    def follow(self, reports: AsyncIterator[dict[str, str | None]]) -> None:
        """Update the states continuously."""

        async def follow() -> None:
            async for report in reports:
                self.states.update(report)

        self._following = asyncio.create_task(follow())

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition is true. Fail if the run ends before."""
        assert self._following is not None
        while not await asyncio.to_thread(condition):
            if self._following.done():
                self._following.result()
                raise AssertionError(f"the run ended early: {self.states}")
            await asyncio.sleep(_POLL_SECONDS)

    async def ended(self) -> dict[str, str | None]:
        """Wait for the end of the run, and return the states of its tasks."""
        assert self._following is not None
        await self._following
        return self.states

    def has_noted_deferrals(self, number: int) -> bool:
        """Whether the scheduler knows that this many workers have deferred.

        Airflow fails a task whose trigger fires before that.
        """
        log = self._folder / "logs" / "scheduler.log"
        return log.read_text().count("Received executor event with state success") >= number

    def write(self, dag_file: str) -> None:
        """Write the DAG file, which processes that start later read."""
        folder = self._folder / "dags"
        folder.mkdir(exist_ok=True)
        (folder / "deferred.py").write_text(dag_file)

    def clear(self) -> None:
        """Read the DAG file again and clear all tasks."""
        command = (sys.executable, "-m", "tests.airflow.clear", DAG_ID)
        subprocess.run(command, env=self._environment, check=True, capture_output=True)

    def log(self, task_id: str) -> Path:
        """Return the log of the latest try of a task."""
        return find_log(self._folder / "airflow", DAG_ID, task_id)


@asynccontextmanager
async def real_run(cluster: Cluster, folder: Path, dag_file: str) -> AsyncIterator[RealRun]:
    """Run the DAG of the file once. All processes end with the block."""
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(cluster.kubeconfig))
    environment = build_airflow_environment(folder / "airflow", folder / "dags", kubeconfig)
    run = RealRun(folder, environment)
    run.write(dag_file)
    async with asyncio.timeout(DEADLINE_SECONDS), Components(environment, folder / "logs") as components:
        command = (sys.executable, "-m", "demo.dag_run", DAG_ID)
        reports = read_task_states(await components.start("dag run", command, pipe_output=True))
        await anext(reports)
        for name, arguments in AIRFLOW_COMMANDS.items():
            await components.start(name, (sys.executable, "-m", "airflow", *arguments))
        run.follow(reports)
        yield run
