"""The cost of the controller, compared with a loop that only sends its requests: `python -m bench.controller [-h]`.

Both run as separate processes, one after the other, with the same applications. They use a real API server with a
simulated node (`SIM_KUBECONFIG`), whose drivers run for some seconds, then succeed. The kernel measures the CPU time of
the process. The status of an application shows when its driver was requested and when the application completed.
"""

import argparse
import asyncio
import math
import os
import re
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from pathlib import Path

import aiohttp

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from bench.applications import LAST_STATE, create_fleet
from bench.goals import compute_p99, require_cluster

CONTROLLER = "controller"
BARE_LOOP = "bare loop"
NUMBERS = (20, 100, 500)
_TICKS = os.sysconf("SC_CLK_TCK")
_REQUESTS = r"spark_operator_api_requests_total\{.*\}"
_WIDTH = 14


@dataclass(frozen=True)
class Load:
    """The applications to run.

    Attributes:
        number: The number of applications.
        rate: The number of applications that are created per second; None to create all at once.
        standing: The number of completed applications that exist in the namespace.
    """

    number: int
    rate: float | None = None
    standing: int = 0


@dataclass(frozen=True)
class Cost:
    """The cost of a load: seconds, and for each application its requests and milliseconds of CPU time."""

    program: str
    number: int
    standing: int
    per_second: float
    requests: float
    processor: float
    memory: float
    driver_median: float
    driver_high: float
    end_median: float
    end_high: float
    ready_after: float
    load: float

    def __str__(self) -> str:
        values = (getattr(self, field.name) for field in fields(self))
        return "".join(f"{each:>{_WIDTH}{'.2f' if isinstance(each, float) else ''}}" for each in values)


class Program:
    """The measured process."""

    def __init__(self, process: asyncio.subprocess.Process, ready: str, ready_after: float) -> None:
        self.ready_after = ready_after
        self._process = process
        self._port = re.search(r"metrics-port=(\d+)", ready)

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of the process in seconds."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    @property
    def memory(self) -> float:
        """The maximum memory of the process in MiB."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]

    async def count_requests(self) -> float:
        """Return the number of requests that the process has sent. The bare loop reports it only at its end."""
        if self._port is None:
            self._process.send_signal(signal.SIGTERM)
            output, _ = await self._process.communicate()
            return float(output.split()[-1])
        return await self.read_metric(_REQUESTS)

    async def read_metric(self, series: str) -> float:
        """Return the sum of the series of the controller whose names and labels match a regular expression."""
        assert self._port is not None  # noqa: S101 - for the type
        url = f"http://127.0.0.1:{self._port[1]}/metrics"
        async with aiohttp.ClientSession() as session, session.get(url) as page:
            return sum(map(float, re.findall(rf"^{series} (\S+)$", await page.text(), re.MULTILINE)))


@asynccontextmanager
async def run_program(name: str, kubeconfig: str, namespace: str) -> AsyncIterator[Program]:
    """Run a program that manages `namespace`; yield the program when it is ready, and stop it at the end."""
    words = {
        CONTROLLER: (
            *("airflow_provider_spark_operator.cli", "reconcile", "--kubeconfig", kubeconfig),
            *("--namespaces", namespace, "--metrics-port", "0"),
        ),
        BARE_LOOP: ("bench.bare_loop", kubeconfig, namespace),
    }
    command = (sys.executable, "-m", *words[name])
    begun = time.monotonic()
    with tempfile.TemporaryFile() as log:
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, stderr=log)
        try:
            assert process.stdout is not None  # noqa: S101 - for the type
            line = (await process.stdout.readline()).decode()
            if not line.startswith("ready"):
                log.seek(0)
                raise SystemExit(f"bench: the {name} did not start:\n{log.read().decode()}")
            yield Program(process, line, time.monotonic() - begun)
        finally:
            if process.returncode is None:
                process.terminate()
                await process.wait()


async def measure(name: str, load: Load, client: KubeClient, kubeconfig: str) -> Cost:
    """Run a load with a program, in a new namespace."""
    async with create_fleet(client) as applications:
        await applications.create_finished(load.standing)
        busy = os.getloadavg()[0]
        async with run_program(name, kubeconfig, applications.namespace) as program:
            before = await program.count_requests() if name == CONTROLLER else 0.0
            used, begun = program.cpu_seconds, time.monotonic()
            await applications.run(load.number, load.rate)
            elapsed, processor = time.monotonic() - begun, program.cpu_seconds - used
            memory = program.memory
            requests = await program.count_requests() - before
        drivers, ends = [
            sorted(moment - applications.created[each] for each, moment in moments.items())
            for moments in (
                await applications.read_moments("DriverRequested"),
                await applications.read_moments(LAST_STATE),
            )
        ]
    return Cost(
        name,
        load.number,
        load.standing,
        load.number / elapsed,
        requests / load.number,
        1000 * processor / load.number,
        memory,
        statistics.median(drivers),
        compute_p99(drivers),
        statistics.median(ends),
        compute_p99(ends),
        program.ready_after,
        busy,
    )


async def measure_all(programs: Iterable[str], loads: Iterable[Load], kubeconfig: str) -> list[Cost]:
    """Run each load with each program, and print a line for each."""
    costs = []
    async with await open_client(ClusterAccess(kubeconfig=kubeconfig)) as client:
        async with create_fleet(client) as first:  # the first write takes seconds: the API server compiles its checks
            await first.create(1, None)
        for load in loads:
            for name in programs:
                costs.append(await measure(name, load, client, kubeconfig))
                print(costs[-1], flush=True)
    return costs


def compute_values(costs: Iterable[Cost]) -> dict[str, float]:
    """Return the values of the goals: medians of all rounds."""
    known = list(costs)

    def compute_median(name: str, program: str, number: int) -> float:
        found = [getattr(each, name) for each in known if (each.program, each.number) == (program, number)]
        return statistics.median(found) if found else math.nan

    processor = compute_median("processor", CONTROLLER, 500) / compute_median("processor", BARE_LOOP, 500)
    return {
        "500 applications at once / bare loop, CPU": processor,
        "requests of an application, of 500 at once": compute_median("requests", CONTROLLER, 500),
        "seconds until the driver is requested, p50 of 20 at once after the start": compute_median(
            "driver_median", CONTROLLER, 20
        ),
    }


def main(arguments: Sequence[str]) -> dict[str, float]:
    """Run the benchmark, print a table, and return the values of the goals."""
    parser = argparse.ArgumentParser(prog="python -m bench.controller", description=__doc__)
    parser.add_argument(
        "--at-once", type=int, nargs="*", metavar="N", default=NUMBERS, help="applications to create at once"
    )
    parser.add_argument(
        "--steady", type=int, nargs="*", metavar="N", default=(), help="applications to create at --rate"
    )
    parser.add_argument("--rate", type=float, default=8.0, help="applications per second (default: %(default)s)")
    parser.add_argument("--standing", type=int, default=0, metavar="N", help="completed applications in the namespace")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="number of repetitions")
    parser.add_argument("--only", choices=(CONTROLLER, BARE_LOOP), help="measure one of the two")
    options = parser.parse_args(arguments)
    kubeconfig = require_cluster()
    loads = [Load(number, None, options.standing) for number in options.at_once]
    loads += [Load(number, options.rate, options.standing) for number in options.steady]
    programs = [options.only] if options.only else [CONTROLLER, BARE_LOOP]
    print("".join(f"{field.name:>{_WIDTH}}" for field in fields(Cost)))
    return compute_values(asyncio.run(measure_all(programs, loads * options.rounds, kubeconfig)))


if __name__ == "__main__":
    main(sys.argv[1:])
