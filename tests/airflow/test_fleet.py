"""Many deferred tasks in a real Airflow, whose processes are killed: each task ends as its application did.

The credentials are rotated twice during the test. The API server rejects the old ones before new ones exist.

The test runs the scheduler, the triggerer, workers and the execution API of Airflow with PostgreSQL (or SQLite).
Applications run on a real API server with a simulated node (`SIM_KUBECONFIG`), whose drivers succeed after moments. The
controller starts when most tasks are deferred. A ResourceQuota has room for a quarter of the drivers. Other tasks wait
for capacity. `make airflow` runs the test. `SIM_TASKS` is the number of tasks.
"""

import asyncio
import os
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest

from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_RESULT_TAKEN_BY
from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from airflow_provider_spark_operator.follow.submission.adoption import AdoptionState, read_adoption_state
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import AlreadyExists
from airflow_provider_spark_operator.kube.listwatch import Changed, Listed, Removed, list_and_watch
from airflow_provider_spark_operator.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    RESOURCE_QUOTAS,
    SERVICE_ACCOUNTS,
    SPARK_APPLICATIONS,
)
from demo.airflow_environment import build_airflow_environment
from demo.processes import Component, Components
from demo.run import AIRFLOW_COMMANDS, read_task_states
from tests.airflow.database import database
from tests.airflow.rotation import RotatingCredentials, rotate_credentials
from tests.airflow.worker_processes import kill_if_running_task, kill_tree

KUBECONFIG = os.environ.get("SIM_KUBECONFIG", "")
TASKS = int(os.environ.get("SIM_TASKS", "200"))
ROTATIONS = 2
# A restarted triggerer on a busy machine reports an outage within this time.
_REPORT_SECONDS = 180
# On a busy machine, a worker process takes seconds to start and to resume each task. The task of a killed worker runs
# again.
DEADLINE_SECONDS = 600 + 15 * TASKS

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.scheduler,
    pytest.mark.timeout(DEADLINE_SECONDS + 60),
    pytest.mark.skipif(not KUBECONFIG, reason="SIM_KUBECONFIG names no real API server with a simulated node"),
]

# The times after which Airflow regards a process as dead. The defaults are minutes, which only make the test longer.
# Shorter times are not safe: on a busy machine, a scheduler with late heartbeats regards its own tasks as orphans.
SHORT_TIMEOUTS = {
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "15",
    "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "60",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "120",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
    "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "60",
}

DAG_FILE = """
from datetime import timedelta

from airflow.sdk import DAG
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.retry_policy import SparkRetryPolicy

PROGRAM = {{"py_file": "local:///opt/job.py", "image": "spark:4.3.0", "service_account": "spark"}}
COMMON = {{"namespace": "{namespace}", "deferrable": True, "get_logs": False}}
COMMON["retry_policy"] = SparkRetryPolicy(capacity_wait=timedelta(hours=1))

# A task loses a try when its worker or the scheduler is killed, or when it submits with rejected credentials.
COMMON |= {{"retries": 100, "retry_delay": timedelta(seconds=5)}}

with DAG("fleet", schedule=None, max_active_tasks={tasks}):
    for number in range({tasks}):
        # The driver of every tenth task cannot be built.
        bad = number % 10 == 9
        SparkApplicationOperator(
            task_id=f"{{'bad' if bad else 'good'}}_{{number}}",
            conf={{"spark.kubernetes.driver.podTemplateFile": {template!r}}} if bad else None,
            **PROGRAM, **COMMON,
        )
"""


@pytest.fixture
async def client() -> AsyncIterator[KubeClient]:
    async with await open_client(ClusterAccess(kubeconfig=Path(KUBECONFIG))) as client:
        yield client


@pytest.fixture
async def namespace(client: KubeClient) -> AsyncIterator[str]:
    """A new namespace in a cluster with the definitions. It is deleted after the test."""
    name = f"fleet-{uuid4().hex[:8]}"
    for definition in build_custom_resource_definitions():
        try:
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition, None)
        except AlreadyExists:
            continue
    while not await client.is_served(SPARK_APPLICATIONS):  # noqa: ASYNC110 - the server needs a moment
        await asyncio.sleep(0.1)
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, None)
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "spark"}}
    await client.create(SERVICE_ACCOUNTS, account, name)
    yield name
    await client.delete(NAMESPACES, name, None)


class Fleet:
    """The processes of Airflow. A test can kill each process, which then starts again."""

    def __init__(self, components: Components) -> None:
        self._components = components
        self._present: dict[str, Component] = {}
        self._starts: Counter[str] = Counter()
        self.killed_workers = 0

    async def start(self, name: str) -> None:
        """Start a process of Airflow, for the first time or again."""
        self._starts[name] += 1
        command = (sys.executable, "-m", "airflow", *AIRFLOW_COMMANDS[name])
        self._present[name] = await self._components.start(f"{name} {self._starts[name]}", command)

    async def kill(self, name: str) -> None:
        """Kill the process and all its child processes, as the loss of a machine does. Then start it again."""
        for process in self._descendants(name):
            kill_tree(process)
        await self._present[name].process.wait()
        await self.start(name)

    def kill_a_worker(self) -> bool:
        """Kill a worker process and the process of its task. Return whether there was a worker with a task."""
        candidates = self._descendants("scheduler")
        random.shuffle(candidates)
        was_killed = any(map(kill_if_running_task, candidates))
        self.killed_workers += was_killed
        return was_killed

    def _descendants(self, name: str) -> list[psutil.Process]:
        return psutil.Process(self._present[name].process.pid).children(recursive=True)


async def count_live(client: KubeClient, namespace: str, most: Counter[str]) -> None:
    """Count how many applications of each task are live at the same time, after each change."""
    live: dict[str, str] = {}
    async with aclosing(list_and_watch(client, SPARK_APPLICATIONS, namespace)) as changes:
        async for change in changes:
            match change:
                case Listed(items):
                    live = {item["metadata"]["uid"]: _get_owner(item) for item in items if _is_live(item)}
                case Changed(item) if _is_live(item):
                    live[item["metadata"]["uid"]] = _get_owner(item)
                case Changed(item) | Removed(item):
                    live.pop(item["metadata"]["uid"], None)
            most |= Counter(live.values())


async def test_each_task_ends_as_its_application_although_processes_are_killed(
    client: KubeClient, namespace: str, tmp_path: Path
) -> None:
    quota = {"metadata": {"name": "full"}, "spec": {"hard": {"pods": str(max(1, TASKS // 4))}}}
    await client.create(RESOURCE_QUOTAS, quota, namespace)
    at_once = Counter[str]()
    counting = asyncio.create_task(count_live(client, namespace, at_once))
    dags, kubeconfig = tmp_path / "dags", tmp_path / "kubeconfig"
    dags.mkdir()
    template = tmp_path / "template.yaml"
    template.write_text("spec: {containers: 5}")
    (dags / "fleet.py").write_text(DAG_FILE.format(namespace=namespace, tasks=TASKS, template=str(template)))
    began = time.monotonic()
    environment = build_airflow_environment(tmp_path / "airflow", dags, kubeconfig)
    environment |= SHORT_TIMEOUTS
    async with database() as store, rotate_credentials(client, namespace, Path(KUBECONFIG), kubeconfig) as credentials:
        environment |= store.settings if store else {}
        async with asyncio.timeout(DEADLINE_SECONDS), Components(environment, tmp_path / "logs") as components:
            if store:
                await store.start(components)
            fleet = Fleet(components)
            states = await _run(components, fleet, credentials, namespace, kubeconfig)

    assert counting.cancel()  # it has counted until now
    assert len(states) == TASKS
    waits = _count_logs(tmp_path, "without using a retry", "*")  # of a worker on Airflow 3.4, else of a triggerer
    assert waits > 0
    wrong = {name: state for name, state in states.items() if state != ("failed" if "bad" in name else "success")}
    assert wrong == {}
    found = (await client.list(SPARK_APPLICATIONS, namespace)).items
    owners = {_get_owner(item) for item in found}
    assert len(owners) == TASKS
    assert at_once == dict.fromkeys(owners, 1)
    # A worker may be killed after it records the end of the application and before it reports to Airflow. Its task then
    # runs a second application, because no transaction includes both databases.
    # If a try is lost while the cluster is full, its application of that time also remains.
    earlier = [one for one, later in pairwise(sorted(found, key=_age)) if _get_owner(one) == _get_owner(later)]
    assert all(ANNOTATION_RESULT_TAKEN_BY in item["metadata"]["annotations"] for item in earlier)
    again = [item for item in earlier if "exceeded quota" not in str(item["status"])]
    assert len(again) <= fleet.killed_workers
    assert fleet.killed_workers > 0
    assert len(credentials.rejected_seconds) == ROTATIONS
    print(
        f"{TASKS} tasks in {time.monotonic() - began:.0f} s, {waits} logs with waits for capacity; "
        f"{fleet.killed_workers} workers killed, "
        f"{len(again)} applications run again; credentials rejected for "
        f"{' and '.join(f'{seconds:.1f} s' for seconds in credentials.rejected_seconds)}; "
        f"{_count_logs(tmp_path, 'the Kubernetes API is not available: ')} triggers report that, "
        f"{_count_logs(tmp_path, 'the Kubernetes API is available again')} its end"
    )


def _is_live(application: Mapping[str, Any]) -> bool:
    return read_adoption_state(application) is AdoptionState.LIVE


def _count_logs(folder: Path, words: str, kind: str = ".trigger.*.log") -> int:
    """Count the logs that contain the words. By default, only those of triggers."""
    logs = (folder / "airflow" / "logs" / "dag_id=fleet").rglob(f"attempt=*.log{kind}")
    return sum(words in log.read_text(errors="replace") for log in logs)


def _age(application: Mapping[str, Any]) -> tuple[str, str]:
    return _get_owner(application), application["metadata"]["creationTimestamp"]


def _get_owner(application: Mapping[str, Any]) -> str:
    return str(application["metadata"]["labels"]["airflow.spark-operator/task"])


async def _run(
    components: Components, fleet: Fleet, credentials: RotatingCredentials, namespace: str, kubeconfig: Path
) -> dict[str, str | None]:
    command = (sys.executable, "-m", "demo.dag_run", "fleet")
    reports = read_task_states(await components.start("dag run", command, pipe_output=True))
    states = dict(await anext(reports))
    for name in AIRFLOW_COMMANDS:
        await fleet.start(name)
    some, most = asyncio.Event(), asyncio.Event()

    def count_deferred() -> int:
        return Counter(states.values())["deferred"]

    async def controller() -> None:
        arguments = ("reconcile", "--kubeconfig", str(kubeconfig), "--namespaces", namespace)
        program = (sys.executable, "-m", "airflow_provider_spark_operator.cli", *arguments)
        started = await components.start("controller", program, pipe_output=True)
        # The controller ends if the API server rejects its credentials before it is ready.
        if started.process.stdout is None or not await started.process.stdout.readline():
            await started.process.wait()
            raise started.build_failure()

    async def kill() -> None:
        await some.wait()
        await _kill_at_random(fleet, credentials, controller, most, count_deferred, kubeconfig.parent)

    # A task group, so that a failure of `kill` ends the test even if no task changes its state.
    async with asyncio.TaskGroup() as group:
        killing = group.create_task(kill())
        async for report in reports:
            states |= report
            if count_deferred() >= TASKS // 4:
                some.set()
            if count_deferred() >= TASKS * 9 // 10:
                most.set()
        killing.cancel()
    return states


async def _kill_at_random(
    fleet: Fleet,
    credentials: RotatingCredentials,
    controller: Callable[[], Awaitable[None]],
    most: asyncio.Event,
    count_deferred: Callable[[], int],
    folder: Path,
) -> None:
    """Kill processes during submissions, start the applications after `most` of them, and kill during resumptions.

    The credentials are rotated in both parts. The new triggerer starts with the rejected ones.
    """
    rejections = partial(_count_logs, folder, "the Kubernetes API is not available: ")

    async def replace_triggerer() -> None:
        before = rejections()
        await fleet.kill("triggerer")
        async with asyncio.timeout(_REPORT_SECONDS):
            # If no task is deferred, as happens with few tasks, no trigger reports an outage.
            while rejections() == before and count_deferred():  # noqa: ASYNC110 - files of another process
                await asyncio.sleep(1)

    fleet.kill_a_worker()
    await credentials.rotate(replace_triggerer)
    await fleet.kill("scheduler")
    await most.wait()
    await controller()
    while not fleet.kill_a_worker():  # noqa: ASYNC110 - no event reports a resumed task
        await asyncio.sleep(0.1)
    await credentials.rotate(replace_triggerer)
    for _ in range(3):
        await asyncio.sleep(random.uniform(3, 10))
        fleet.kill_a_worker()
        await fleet.kill("triggerer")
