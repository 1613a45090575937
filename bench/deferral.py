"""The cost of deferred tasks: `python -m bench.deferral [NUMBER...]`.

The first part runs 1, 100, 1,000 and 5,000 deferred tasks in one event loop, as a triggerer does. It measures
connections and requests while nothing happens, and the delay from the write of a status until the task has its event.
The largest number of tasks also runs with running drivers: without the record of the run, with it, and with the
driver's log too. The XComs of the record are counted. Then 1,000 applications end in the same second. The last part
compares 100 tasks with the trigger of Airflow's own KubernetesPodOperator and SparkKubernetesOperator, with their
default poll interval.
The API is the embedded one, in its own process; a real API server answers faster and permits more connections.
"""

import asyncio
import logging
import math
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import aiohttp
from airflow.sdk.execution_time import task_runner

from bench.goals import compute_p99

NUMBERS = (1, 100, 1000, 5000)
# Longer than a client keeps idle connections, which is twice 15 s, and as long as the time between two lists of pods.
IDLE_SECONDS = 60.0
# Tasks that wait read pods and Events all the time, at most this number per second and process.
_BACKGROUND_REQUESTS = 20


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
    ending: int = 500
    seconds: float = 20.0


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

    @property
    def hourly(self) -> float:
        """Seconds of processor time that one task needs in an hour in which nothing happens."""
        return 3600 * self.idle_processor / self.load.tasks

    @property
    def p99(self) -> float:
        """Seconds from the write of a status to the event of the task, 99th percentile."""
        return compute_p99(sorted(self.latencies))

    def __str__(self) -> str:
        return (
            f"{self.load.tasks:,} {self.load.situation}, {self.load.ending / self.load.seconds:,.0f} ends a second: "
            f"follow after {self.seconds_to_follow:.1f} s, {self.connections} connections, {self.kibibytes_each:.1f} "
            f"KiB each; idle {self.idle_requests:.2f} requests a second, {self.hourly:.2f} s of CPU per task and hour; "
            f"end p50 {1000 * statistics.median(self.latencies):.0f} ms, p99 {1000 * self.p99:.0f} ms; XComs "
            f"{self.records_at_start} at the start, {self.records_idle} idle, {self.records} in total"
        )


def serve(pipe: Connection, load: Load) -> None:
    """Serve the API with the applications of a load, and complete some of them on request.

    This function runs in its own process. It sends when the end of each application was written.
    """
    from airflow_provider_spark_operator.testing.applications import Application
    from airflow_provider_spark_operator.testing.cluster import NAMESPACE, ScriptedCluster

    async def begin(application: Application) -> None:
        if is_waiting:
            application.enter("Submitted", "DriverRequested")
        else:
            application.start(executors=2)
            application.log.write("26/01/01 00:00:00 INFO SparkContext: Running Spark version 4.1.0")
        begun.append(application)

    def end(applications: Sequence[Application]) -> None:
        for application in applications:
            if not is_waiting:
                application.end_driver(0)
            written[application.name] = time.time()
            application.enter("Succeeded", "ResourceReleased")

    is_waiting = load.situation is Situation.WAITING
    begun: list[Application] = []
    written: dict[str, float] = {}
    cluster = ScriptedCluster()
    cluster.script = begin
    with cluster.serve():
        for index in range(load.tasks):
            cluster.create(f"app-{index}")
        cluster.wait_until(lambda: len(begun) == load.tasks)
        names = {each.name: (each.uid, each.driver) for each in begun}
        pipe.send((cluster.kubeconfig, NAMESPACE, names))
        remaining, since = begun[: pipe.recv()], time.monotonic()
        while remaining:
            # If the API is too slow for the ends, several are written at once.
            due = math.ceil((time.monotonic() - since) * load.ending / load.seconds) - len(written)
            cluster.do(partial(end, remaining[:due]))
            del remaining[:due]
            time.sleep(0.01)
        pipe.send(written)
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
    finished: asyncio.Queue[tuple[str, float]] = asyncio.Queue()

    async def task(name: str, uid: str, driver: str) -> None:
        if load.situation is Situation.PEER:
            await _follow_pod(driver, kubeconfig, namespace)
        else:
            await _follow(name, uid, load, access, namespace)
        finished.put_nowait((name, time.time()))

    tasks = [asyncio.create_task(task(name, uid, driver)) for name, (uid, driver) in found.items()]
    if is_recorded:
        await _wait_until_quiet(supervisor, number)
    else:
        await _wait_until_quiet(requests, asked + number)  # each follower reads its own application once
    following, memory, recorded = time.perf_counter() - begun, _read_memory(), supervisor.count
    asked, used = requests.count, time.process_time()
    await asyncio.sleep(IDLE_SECONDS)
    recorded_later = supervisor.count - recorded
    idle, processor = (requests.count - asked) / IDLE_SECONDS, (time.process_time() - used) / IDLE_SECONDS
    connections = _count_connections(port)
    pipe.send(ending)
    ended = [await finished.get() for _ in range(ending)]
    written = await asyncio.to_thread(pipe.recv)
    for one in tasks:
        one.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    pipe.send("enough")
    latencies = tuple(at - written[name] for name, at in ended)
    records = (recorded, recorded_later, supervisor.count)
    kibibytes = (memory - before) / number
    return Cost(load, following, connections, idle, processor, kibibytes, *records, latencies)


async def _wait_until_quiet(counter: Requests | Supervisor, least: int) -> None:
    """Wait until at least `least` were counted, and then only requests in the background for a second."""
    known, most = -1, _BACKGROUND_REQUESTS if isinstance(counter, Requests) else 0
    while known < max(least, counter.count - most):
        known = counter.count
        await asyncio.sleep(1.0)


def _read_memory() -> float:
    """Read the memory of this process in KiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4


def _count_connections(port: int) -> int:
    """Count the connections of this machine to `port`."""
    rows = map(str.split, Path("/proc/self/net/tcp").read_text().splitlines()[1:])
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


def main(arguments: Sequence[str]) -> dict[str, float]:
    """Run the benchmark, print the results, and return the values of the goals."""
    os.environ["AIRFLOW__LOGGING__LOGGING_LEVEL"] = "WARNING"  # of the processes that measure
    numbers = [int(argument) for argument in arguments] or list(NUMBERS)
    plan = [Load(number, Situation.WAITING) for number in numbers]
    plan += [Load(max(numbers), each) for each in (Situation.RUNNING, Situation.RECORDED, Situation.LOGGED)]
    plan.append(Load(1000, Situation.LOGGED, 1000, 1.0))
    plan += [Load(100, each) for each in (Situation.LOGGED, Situation.PEER)]
    costs = []
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        for load in plan:
            costs.append(pool.submit(measure, load).result())
            print(costs[-1], flush=True)
    running, recorded, logged, same_second, ours, peer = costs[-6:]
    values = {"seconds from the end to the resume, p99 of 1,000 in one second": same_second.p99}
    if logged.load.tasks == NUMBERS[-1]:
        values |= {
            "KiB of the record of a deferred task, of 5,000": recorded.kibibytes_each - running.kibibytes_each,
            "requests per second of 5,000 deferred tasks with their record": recorded.idle_requests,
            "XComs per second of 5,000 deferred tasks with their record": recorded.records_at_start
            / recorded.seconds_to_follow,
            "seconds from the end to the event with the record, p99 of 25 per second": recorded.p99,
            "CPU seconds of a deferred task with its log, per hour, of 5,000": logged.hourly,
            "KiB of a deferred task with its log, of 5,000": logged.kibibytes_each,
        }
    compared = "100 deferred tasks with logs / with Airflow's trigger for pods"
    return values | {
        f"{compared}, CPU": ours.idle_processor / peer.idle_processor,
        f"{compared}, memory": ours.kibibytes_each / peer.kibibytes_each,
        f"{compared}, end p99": ours.p99 / peer.p99,
    }


if __name__ == "__main__":
    main(sys.argv[1:])
