"""The cost of deferred tasks: `python -m bench.deferral [NUMBER...]`.

The first part measures the import time of a DAG file, compared with the Spark operator of Airflow's own provider. The
second part runs 1, 100, 1,000 and 5,000 deferred tasks in one event loop, as a triggerer does. It measures connections
and requests while nothing happens, and the delay from the write of a status until the task has its event. The largest
number of tasks also runs with running drivers: without the record of the run, with it, and with the driver's log too.
The XComs of the record are counted. Then 1,000 applications end in the same second. The last part compares 100 tasks
with the trigger of Airflow's own KubernetesPodOperator and SparkKubernetesOperator, with their default poll interval.
The API is the embedded one, in its own process; a real API server answers faster and permits more connections.
"""

import asyncio
import logging
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import aclosing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import aiohttp
from airflow.sdk.execution_time import task_runner

NUMBERS = (1, 100, 1000, 5000)
SAME_SECOND = 1000
COMPARED = 100
# Longer than a client keeps idle connections, which is twice 15 s, and as long as the time between two lists of pods.
IDLE_SECONDS = 60.0
ENDING = 500
ENDING_SECONDS = 20.0
# Tasks that wait read pods and Events all the time, at most this number per second and process.
_BACKGROUND_REQUESTS = 20
_TRIES = 5
_OPERATORS = {
    "airflow.sdk alone": "airflow.sdk",
    "SparkApplicationOperator": "airflow_provider_spark_operator.operators.spark_application",
    "SparkApplicationSensor": "airflow_provider_spark_operator.sensors.spark_application",
    "SparkClusterOperator": "airflow_provider_spark_operator.operators.spark_cluster",
    "SparkApplicationHook": "airflow_provider_spark_operator.hooks.spark_application",
    "SparkKubernetesOperator (cncf-kubernetes)": "airflow.providers.cncf.kubernetes.operators.spark_kubernetes",
}
_COLUMNS = (
    ("", "", "{:<8}"),
    ("", "tasks", "{:>6}"),
    ("follow", "after s", "{:>8.1f}"),
    ("connec-", "tions", "{:>8}"),
    ("requests", "/s idle", "{:>9.2f}"),
    ("CPU %", "idle", "{:>6.1f}"),
    ("CPU s per", "task, hour", "{:>11.2f}"),
    ("memory", "KiB each", "{:>9.1f}"),
    ("end", "p50 ms", "{:>8.0f}"),
    ("end", "p99 ms", "{:>8.0f}"),
    ("XComs", "at start", "{:>9}"),
    ("XComs", "idle", "{:>6}"),
    ("XComs", "in all", "{:>7}"),
)
_PROGRAM = """
import time
from airflow.sdk import DAG, BaseOperator, BaseSensorOperator
begun = time.process_time()
import {module}
print(time.process_time() - begun)
"""


class Situation(StrEnum):
    """The situation of all applications while nothing happens, and what follows them."""

    WAITING = "waiting"
    RUNNING = "running"
    RECORDED = "recorded"
    LOGGED = "logged"  # recorded, with the driver's log
    PEER = "peer"  # running, followed by Airflow's trigger for pods


@dataclass(frozen=True)
class Load:
    """N deferred tasks, and how many of their applications end in how many seconds."""

    tasks: int
    situation: Situation
    ending: int = ENDING
    seconds: float = ENDING_SECONDS


@dataclass(frozen=True)
class Cost:
    """The cost of N deferred tasks."""

    load: Load
    seconds_to_follow: float
    connections: int
    idle_requests: float
    idle_processor: float
    kibibytes_each: float
    records_at_start: int
    records_idle: int
    records: int
    latencies: tuple[float, ...]

    def __str__(self) -> str:
        high = sorted(self.latencies)[max(0, round(len(self.latencies) * 0.99) - 1)]
        values = (
            self.load.situation,
            self.load.tasks,
            self.seconds_to_follow,
            self.connections,
            self.idle_requests,
            100 * self.idle_processor,
            3600 * self.idle_processor / self.load.tasks,
            self.kibibytes_each,
            1000 * statistics.median(self.latencies),
            1000 * high,
            self.records_at_start,
            self.records_idle,
            self.records,
        )
        return " ".join(form.format(value) for (*_, form), value in zip(_COLUMNS, values, strict=True))


def measure_import(module: str) -> float:
    """Measure the CPU time of an import without Airflow's own, in a new interpreter; return the best of a few runs."""
    command = [sys.executable, "-c", _PROGRAM.format(module=module)]
    # An installed package is compiled. If Python cannot store the compiled files, each run would measure the compiler.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as cache:
        environment |= {"PYTHONPYCACHEPREFIX": cache}
        runs = [
            subprocess.run(command, capture_output=True, text=True, check=True, env=environment)  # noqa: S603
            for _ in range(_TRIES)
        ]
    return min(float(run.stdout.split()[-1]) for run in runs)


def serve(pipe: Connection, load: Load) -> None:
    """Serve the API with the applications of a load, and complete some of them on request.

    This function runs in its own process. It reports when the end of each application was written.
    """
    from airflow_provider_spark_operator.testing.applications import Application
    from airflow_provider_spark_operator.testing.cluster import NAMESPACE, ScriptedCluster

    async def begin(application: Application) -> None:
        if is_waiting:
            application.enter("Submitted", "DriverRequested")
        else:
            application.start(executors=1)
        begun.append(application)

    def end(application: Application) -> None:
        if not is_waiting:
            application.end_driver(0)
        application.enter("Succeeded", "ResourceReleased", message=repr(time.time()))

    is_waiting = load.situation is Situation.WAITING
    begun: list[Application] = []
    cluster = ScriptedCluster()
    cluster.script = begin
    with cluster.serve():
        for index in range(load.tasks):
            cluster.create(f"app-{index}")
        cluster.wait_for_state("DriverRequested" if is_waiting else "RunningHealthy")
        names = {each.name: (each.uid, each.driver) for each in begun}
        pipe.send((cluster.kubeconfig, NAMESPACE, names))
        for application in begun[: pipe.recv()]:
            cluster.do(partial(end, application))
            time.sleep(load.seconds / load.ending)
        pipe.recv()


class Requests:
    """Counts the requests of this process to an API."""

    def __init__(self) -> None:
        self.count = 0
        original = aiohttp.ClientSession._request

        async def count_request(session: aiohttp.ClientSession, *arguments: Any, **options: Any) -> Any:
            self.count += 1
            return await original(session, *arguments, **options)

        aiohttp.ClientSession._request = count_request  # type: ignore[assignment,method-assign]


class Supervisor:
    """Takes the place of the triggerer's supervisor, and counts the XComs."""

    def __init__(self) -> None:
        self.count = 0
        task_runner.SUPERVISOR_COMMS = self  # type: ignore[assignment]

    def send(self, message: object) -> None:  # noqa: ARG002 - the interface is Airflow's
        """Count a message."""
        self.count += 1


async def _follow(name: str, uid: str, load: Load, access: Any, namespace: str) -> None:
    """Wait for the end of an application as its deferred task does."""
    from airflow_provider_spark_operator.follow.submission.stamp import TaskStamp
    from airflow_provider_spark_operator.triggers.spark_application import SparkApplicationTrigger

    is_logged = load.situation is Situation.LOGGED
    is_recorded = is_logged or load.situation is Situation.RECORDED
    stamp = asdict(TaskStamp("bench", name, "run", -1, 1, uid)) if is_recorded else None
    trigger = SparkApplicationTrigger(namespace, name, uid, stamp=stamp, driver_log=is_logged, record=is_recorded)
    event = await trigger.wait(access)
    assert event.outcome == "Succeeded", event  # noqa: S101 - a bench whose tasks fail measures nothing


async def _follow_pod(driver: str, kubeconfig: dict[str, Any], namespace: str) -> None:
    """Wait for the end of a driver as a deferred task of Airflow's own operators does."""
    from airflow.providers.cncf.kubernetes.triggers.pod import KubernetesPodTrigger

    trigger = KubernetesPodTrigger(
        driver, namespace, datetime.now(UTC), "spark-kubernetes-driver", config_dict=kubeconfig, in_cluster=False
    )
    event = await anext(aiter(trigger.run()))
    assert event.payload["status"] == "success", event  # noqa: S101 - see above


async def measure_load(pipe: Connection, load: Load) -> Cost:
    """Defer a task for each application of the API behind `pipe`; measure them until the first ones end."""
    from airflow_provider_spark_operator.kube.connection import ClusterAccess

    requests, supervisor = Requests(), Supervisor()
    is_recorded = load.situation in (Situation.RECORDED, Situation.LOGGED)
    number, ending = load.tasks, min(load.tasks, load.ending)
    kubeconfig, namespace, found = await asyncio.to_thread(pipe.recv)
    access = ClusterAccess(kubeconfig_document=kubeconfig)
    port = int(kubeconfig["clusters"][0]["cluster"]["server"].rpartition(":")[2])
    before, begun, asked = _read_memory(), time.perf_counter(), requests.count
    ended: dict[str, float] = {}

    async def task(name: str, uid: str, driver: str) -> None:
        if load.situation is Situation.PEER:
            await _follow_pod(driver, kubeconfig, namespace)
        else:
            await _follow(name, uid, load, access, namespace)
        ended[name] = time.time()

    written = _Written(access, namespace)
    tasks = [asyncio.create_task(task(name, uid, driver)) for name, (uid, driver) in found.items()]
    async with aclosing(written.watch()) as watching:
        await anext(watching)
        if is_recorded:
            await _wait_until_quiet(supervisor, number)
        else:
            await _wait_until_quiet(requests, asked + number)  # each follower reads its own application once
        following, memory, recorded = time.perf_counter() - begun, _read_memory(), supervisor.count
        asked, used = requests.count, time.process_time()
        await asyncio.sleep(IDLE_SECONDS)
        recorded_later = supervisor.count - recorded
        idle, processor = (requests.count - asked) / IDLE_SECONDS, (time.process_time() - used) / IDLE_SECONDS
        connections = _count_connections(port) - 1  # one connection is the benchmark's own watch
        pipe.send(ending)
        async for _ in watching:
            if min(len(ended), len(written.times)) >= ending:
                break
    for one in tasks:
        one.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    pipe.send("enough")
    latencies = tuple(at - written.times[name] for name, at in ended.items())
    records = (recorded, recorded_later, supervisor.count)
    kibibytes = (memory - before) / number
    return Cost(load, following, connections, idle, processor, kibibytes, *records, latencies)


class _Written:
    """Return the time at which the end of each application was written, from its status. This watch is not measured."""

    def __init__(self, access: Any, namespace: str) -> None:
        self._access = access
        self._namespace = namespace
        self.times: dict[str, float] = {}

    async def watch(self) -> Any:
        """Yield at the start, then at least every 50 ms."""
        from airflow_provider_spark_operator.kube.connection import open_client
        from airflow_provider_spark_operator.kube.listwatch import Changed, list_and_watch
        from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS

        async def read() -> None:
            async with await open_client(self._access) as client:
                async for change in list_and_watch(client, SPARK_APPLICATIONS, self._namespace):
                    if isinstance(change, Changed):
                        current = change.object["status"]["currentState"]
                        if current.get("message"):
                            self.times[change.object["metadata"]["name"]] = float(current["message"])

        reading = asyncio.create_task(read())
        try:
            while True:
                yield None
                await asyncio.sleep(0.05)
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)


async def _wait_until_quiet(counter: Requests | Supervisor, least: int) -> None:
    """Wait until at least `least` were counted, and then only requests in the background for a second."""
    known, most = -1, _BACKGROUND_REQUESTS if isinstance(counter, Requests) else 0
    while known < max(least, counter.count - most):
        known = counter.count
        await asyncio.sleep(1.0)


def _read_memory() -> float:
    """Read the memory of this process in KiB, or its maximum if the present value is not available."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return float(next(line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmRSS")))


def _count_connections(port: int) -> int:
    """Count the connections of this machine to `port`; return 0 if they cannot be counted."""
    table = Path("/proc/self/net/tcp")
    rows = [line.split() for line in table.read_text().splitlines()[1:]] if table.exists() else []
    return sum(int(row[2].rpartition(":")[2], 16) == port and row[3] == "01" for row in rows)


def measure(load: Load) -> Cost:
    """Measure the cost of deferred tasks, in a process of its own: freed memory would be used again."""
    logging.getLogger("airflow_provider_spark_operator").setLevel(logging.WARNING)
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs, load))
    server.start()
    try:
        cost = asyncio.run(measure_load(ours, load))
        server.join(30)
        return cost
    finally:
        server.kill()


def main() -> None:
    """Run the benchmark and print the results."""
    os.environ["AIRFLOW__LOGGING__LOGGING_LEVEL"] = "WARNING"  # of the processes that measure
    numbers = [int(argument) for argument in sys.argv[1:]] or list(NUMBERS)
    plan = [Load(number, Situation.WAITING) for number in numbers]
    plan += [Load(max(numbers), each) for each in (Situation.RUNNING, Situation.RECORDED, Situation.LOGGED)]
    plan.append(Load(SAME_SECOND, Situation.LOGGED, SAME_SECOND, 1.0))
    plan += [Load(COMPARED, each) for each in (Situation.LOGGED, Situation.PEER)]
    print(
        f"{os.cpu_count()} processors, Python {sys.version.split()[0]}\n\n"
        "import beside airflow.sdk, in ms of a processor"
    )
    for name, module in _OPERATORS.items():
        print(f"  {name:<45}{1000 * measure_import(module):>8.0f}")
    for line in range(2):
        print(" ".join(f"{column[line]:>{len(column[2].format(0))}}" for column in _COLUMNS))
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        for load in plan:
            print(pool.submit(measure, load).result(), flush=True)


if __name__ == "__main__":
    main()
