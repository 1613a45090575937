"""One run of a DAG in real Airflow processes, which a test watches and influences."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import yaml

from demo.airflow_environment import build_airflow_environment
from demo.dag_run import RUN_ID
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
        components: The Airflow processes.

    Attributes:
        processes: The Airflow processes, by name.
        states: The current states of the tasks, by task id.
    """

    def __init__(self, folder: Path, environment: dict[str, str], components: Components) -> None:
        self._folder = folder
        self._environment = environment
        self._components = components
        self.processes: dict[str, psutil.Process] = {}
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

    async def wait_for_end(self) -> dict[str, str | None]:
        """Wait for the end of the run, and return the states of its tasks."""
        assert self._following is not None
        await self._following
        return self.states

    def has_noted_end(self, task_id: str, try_number: int = 1) -> bool:
        """Return whether the scheduler has recorded the end of the worker process of this try.

        The worker process ends when the task defers. Airflow fails a task whose trigger fires before this record.
        """
        key = f"TaskInstanceKey(dag_id='{DAG_ID}', task_id='{task_id}', run_id='{RUN_ID}', try_number={try_number},"
        log = self._folder / "logs" / "scheduler.log"
        return f"Received executor event with state success for task instance {key}" in log.read_text()

    def write(self, dag_file: str) -> None:
        """Write the DAG file, which processes that start later read."""
        folder = self._folder / "dags"
        folder.mkdir(exist_ok=True)
        (folder / "deferred.py").write_text(dag_file)

    def clear(self, *task_ids: str) -> None:
        """Read the DAG file again and clear tasks, all by default."""
        self._act("clear", *task_ids)

    def mark(self, task_id: str, state: str) -> None:
        """Mark a task, for example as failed."""
        self._act("mark", task_id, state)

    def delete(self) -> None:
        """Delete the run."""
        self._act("delete")

    def _act(self, action: str, *arguments: str) -> None:
        command = (sys.executable, "-m", "tests.airflow.user", action, DAG_ID, *arguments)
        done = subprocess.run(command, env=self._environment, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    async def start(self, name: str, kind: str) -> psutil.Process:
        """Start a process of Airflow, and return it.

        Args:
            name: The name of its log.
            kind: A key of `AIRFLOW_COMMANDS`.
        """
        command = (sys.executable, "-m", "airflow", *AIRFLOW_COMMANDS[kind])
        guard = psutil.Process((await self._components.start(name, command)).process.pid)
        while not (children := guard.children()):  # noqa: ASYNC110 - a child of another process
            await asyncio.sleep(_POLL_SECONDS)
        self.processes[name] = children[0]
        return children[0]

    def log(self, task_id: str) -> Path:
        """Return the log of the latest try of a task."""
        return find_log(self._folder / "airflow", DAG_ID, task_id)


@asynccontextmanager
async def run_real_dag(
    cluster: Cluster | None,
    folder: Path,
    dag_file: str,
    connections: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
) -> AsyncIterator[RealRun]:
    """Run the DAG of the file once. All processes end with the block.

    Args:
        cluster: The cluster of the default connection. None if the DAG does not use that connection.
        folder: The folder of the test.
        dag_file: The content of the DAG file.
        connections: More connections in the database, by id, as JSON.
        settings: More environment variables of the Airflow processes.
    """
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(cluster.kubeconfig if cluster is not None else {}))
    environment = build_airflow_environment(folder / "airflow", folder / "dags", kubeconfig) | dict(settings or {})
    async with asyncio.timeout(DEADLINE_SECONDS), Components(environment, folder / "logs") as components:
        run = RealRun(folder, environment, components)
        run.write(dag_file)
        command = (sys.executable, "-m", "demo.dag_run", DAG_ID)
        reports = read_task_states(await components.start("dag run", command, pipe_output=True))
        await anext(reports)
        for conn_id, document in (connections or {}).items():
            add = (sys.executable, "-m", "airflow", "connections", "add", conn_id, "--conn-json", document)
            await asyncio.to_thread(subprocess.run, add, env=environment, check=True, capture_output=True)
        for name in AIRFLOW_COMMANDS:
            await run.start(name, name)
        run.follow(reports)
        yield run
