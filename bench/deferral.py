"""The cost of deferred tasks: `python -m bench.deferral [NUMBER...]`.

The first part measures the import time of a DAG file, compared with the Spark operator of Airflow's own provider. The
second part runs 1, 100, 1,000 and 5,000 deferred tasks in one event loop, as a triggerer does. It measures connections
and requests while nothing happens, and the delay from the write of a status until the task has its event. The largest
number of tasks also runs with running drivers, without and with the record of the run, whose XComs are counted. The API
is the embedded one, in its own process; a real API server answers faster and permits more connections.
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
from enum import StrEnum
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import aiohttp
from airflow.sdk.execution_time import task_runner

NUMBERS = (1, 100, 1000, 5000)
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
_PROGRAM = """
import time
from airflow.sdk import DAG, BaseOperator, BaseSensorOperator
begun = time.process_time()
import {module}
print(time.process_time() - begun)
"""


class Situation(StrEnum):
    """The situation of all applications while nothing happens, and whether their runs are recorded."""

    WAITING = "waiting"
    RUNNING = "running"
    RECORDED = "recorded"


@dataclass(frozen=True)
class Cost:
    """The cost of N deferred tasks."""

    situation: Situation
    tasks: int
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
        middle = statistics.median(self.latencies) * 1000
        high = sorted(self.latencies)[max(0, round(len(self.latencies) * 0.99) - 1)] * 1000
        return (
            f"{self.situation:<8} {self.tasks:>6} {self.seconds_to_follow:>10.1f} {self.connections:>12} "
            f"{self.idle_requests:>12.2f} {self.idle_processor:>8.1f} {self.kibibytes_each:>10.1f} {middle:>9.0f} "
            f"{high:>7.0f} {self.records_at_start:>8} {self.records_idle:>6} {self.records:>6}"
        )


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


def serve(pipe: Connection, number: int, situation: Situation) -> None:
    """Serve the API with `number` applications, and complete some of them on request.

    This function runs in its own process. It reports when the end of each application was written.
    """
    from airflow_provider_spark_operator.testing.applications import Application
    from airflow_provider_spark_operator.testing.cluster import NAMESPACE, ScriptedCluster

    async def begin(application: Application) -> None:
        if situation is Situation.WAITING:
            application.enter("Submitted", "DriverRequested")
        else:
            application.start(executors=1)

    def end(application: Application) -> None:
        application.enter("Succeeded", "ResourceReleased", message=repr(time.time()))

    cluster = ScriptedCluster()
    cluster.script = begin
    with cluster.serve():
        for index in range(number):
            cluster.create(f"app-{index}")
        cluster.wait_for_state("DriverRequested" if situation is Situation.WAITING else "RunningHealthy")
        found = cluster.applications()
        names = {item["metadata"]["name"]: item["metadata"]["uid"] for item in found}
        pipe.send((cluster.kubeconfig, NAMESPACE, names))
        for document in found[: pipe.recv()]:
            application = Application(cluster.resources, document)
            cluster.do(partial(end, application))
            time.sleep(ENDING_SECONDS / ENDING)
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


async def measure_number(pipe: Connection, number: int, situation: Situation) -> Cost:
    """Defer a task for each application of the API behind `pipe`; measure them until the first ones end."""
    from airflow_provider_spark_operator.follow.submission.stamp import TaskStamp
    from airflow_provider_spark_operator.kube.connection import ClusterAccess
    from airflow_provider_spark_operator.triggers.spark_application import SparkApplicationTrigger

    requests, supervisor, is_recorded = Requests(), Supervisor(), situation is Situation.RECORDED
    kubeconfig, namespace, found = await asyncio.to_thread(pipe.recv)
    access = ClusterAccess(kubeconfig_document=kubeconfig)
    port = int(kubeconfig["clusters"][0]["cluster"]["server"].rpartition(":")[2])
    before, begun, asked = _read_memory(), time.perf_counter(), requests.count
    ended: dict[str, float] = {}

    async def task(name: str, uid: str) -> None:
        stamp = asdict(TaskStamp("bench", name, "run", -1, 1, uid)) if is_recorded else None
        trigger = SparkApplicationTrigger(namespace, name, uid, stamp=stamp, driver_log=False, record=is_recorded)
        event = await trigger.wait(access)
        assert event.outcome == "Succeeded", event  # noqa: S101 - a bench whose tasks fail measures nothing
        ended[name] = time.time()

    written = _Written(access, namespace)
    tasks = [asyncio.create_task(task(name, uid)) for name, uid in found.items()]
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
        pipe.send(min(number, ENDING))
        async for _ in watching:
            if min(len(ended), len(written.times)) >= min(number, ENDING):
                break
    for one in tasks:
        one.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    pipe.send("enough")
    latencies = tuple(at - written.times[name] for name, at in ended.items())
    records = (recorded, recorded_later, supervisor.count)
    kibibytes = (memory - before) / number
    return Cost(situation, number, following, connections, idle, 100 * processor, kibibytes, *records, latencies)


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


def measure(number: int, situation: Situation) -> Cost:
    """Measure the cost of a number of tasks, in a process of its own: freed memory would be used again."""
    logging.getLogger("airflow_provider_spark_operator").setLevel(logging.WARNING)
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs, number, situation))
    server.start()
    try:
        cost = asyncio.run(measure_number(ours, number, situation))
        server.join(30)
        return cost
    finally:
        server.kill()


def main() -> None:
    """Run the benchmark and print the results."""
    numbers = [int(argument) for argument in sys.argv[1:]] or list(NUMBERS)
    plan = [(number, Situation.WAITING) for number in numbers]
    plan += [(max(numbers), situation) for situation in (Situation.RUNNING, Situation.RECORDED)]
    print(
        f"{os.cpu_count()} processors, Python {sys.version.split()[0]}\n\n"
        "import beside airflow.sdk, in ms of a processor"
    )
    for name, module in _OPERATORS.items():
        print(f"  {name:<45}{1000 * measure_import(module):>8.0f}")
    print(
        f"\n{'':<8} {'tasks':>6} {'following':>10} {'connections':>12} {'requests/s':>12} {'CPU':>8} {'memory':>10} "
        f"{'p50':>9} {'p99':>7} {'XComs':>8} {'XComs':>6} {'XComs':>6}\n{'':<8} {'':>6} {'after s':>10} {'':>12} "
        f"{'idle':>12} {'idle %':>8} {'KiB each':>10} {'ms':>9} {'ms':>7} {'at start':>8} {'idle':>6} {'in all':>6}"
    )
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        for number, situation in plan:
            print(pool.submit(measure, number, situation).result(), flush=True)


if __name__ == "__main__":
    main()
