"""What the controller costs, beside a loop that only makes its requests: `python -m bench.controller [-h]`.

Both are processes of their own on a real API server whose node is simulated (`SIM_KUBECONFIG`; its drivers run some
seconds, then succeed), one after the other, with the same applications. Processor time is the kernel's account of
the process; when a driver had been requested, and when an application was over, its status says.
"""

import argparse
import asyncio
import os
import re
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from bench.applications import LAST_STATE, Fleet, fleet
from bench.chart import Curve, draw

CONTROLLER = "controller"
BARE_LOOP = "bare loop"
NUMBERS = (100, 500)
_TICKS = os.sysconf("SC_CLK_TCK")
_COUNTED = re.compile(r"^spark_operator_api_requests_total\{.*\} (\S+)$", re.MULTILINE)
_HEADINGS = (
    ("", "{:<12}", "program"),
    ("apps", "{:>7,}", "number"),
    ("standing", "{:>9,}", "standing"),
    ("per s", "{:>7.1f}", "per_second"),
    ("requests", "{:>9.1f}", "requests"),
    ("CPU ms", "{:>8.1f}", "processor"),
    ("MiB", "{:>6.0f}", "memory"),
    ("driver p50", "{:>11.2f}", "driver_median"),
    ("p99 s", "{:>7.2f}", "driver_high"),
    ("end p50", "{:>8.2f}", "end_median"),
    ("p99 s", "{:>7.2f}", "end_high"),
    ("ready s", "{:>8.2f}", "ready_after"),
    ("load", "{:>6.1f}", "load"),
)


@dataclass(frozen=True)
class Load:
    """Applications to run.

    Attributes:
        number: how many.
        rate: how many are created in a second; None for all at once.
        standing: how many that are over lie about beside them.
    """

    number: int
    rate: float | None = None
    standing: int = 0


@dataclass(frozen=True)
class Lives:
    """When applications were created, had their driver requested, and were over, by name; in seconds."""

    created: Mapping[str, float]
    requested: Mapping[str, float]
    ended: Mapping[str, float]

    def delays(self, moments: Mapping[str, float]) -> list[float]:
        """How long after its creation each application came to its moment, sorted."""
        return sorted(moment - self.created[name] for name, moment in moments.items())

    def since_beginning(self, moments: Mapping[str, float]) -> list[float]:
        """The moments since the first creation, sorted."""
        begun = min(self.created.values())
        return sorted(moment - begun for moment in moments.values())


@dataclass(frozen=True)
class Cost:
    """What a load took; seconds, and per application requests and milliseconds of processor time."""

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
        return "".join(form.format(getattr(self, name)) for _, form, name in _HEADINGS)


class Program:
    """The process that is measured."""

    def __init__(self, process: asyncio.subprocess.Process, ready: str, ready_after: float) -> None:
        self.ready_after = ready_after
        self._process = process
        self._port = re.search(r"metrics-port=(\d+)", ready)

    @property
    def processor(self) -> float:
        """Seconds of processor time that it has taken."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    @property
    def memory(self) -> float:
        """The most that it has had in memory, in MiB."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]

    async def requests(self) -> float:
        """How many requests it has made; the bare loop tells when it ends."""
        if self._port is None:
            self._process.send_signal(signal.SIGTERM)
            output, _ = await self._process.communicate()
            return float(output.split()[-1])
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{self._port[1]}/metrics") as page,
        ):
            return sum(map(float, _COUNTED.findall(await page.text())))


@asynccontextmanager
async def run_program(name: str, kubeconfig: str, namespace: str) -> AsyncIterator[Program]:
    """Run a program that manages `namespace`; yield it when it is ready, and stop it at the end."""
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


async def measure(name: str, load: Load, client: KubeClient, kubeconfig: str) -> tuple[Cost, Lives]:
    """Have a program run a load, in a namespace of its own."""
    async with fleet(client) as applications:
        await applications.create_finished(load.standing)
        busy = os.getloadavg()[0]
        async with run_program(name, kubeconfig, applications.namespace) as program:
            before = await program.requests() if name == CONTROLLER else 0.0
            used, begun = program.processor, time.monotonic()
            await _run(applications, load)
            elapsed, processor = time.monotonic() - begun, program.processor - used
            memory = program.memory
            requests = await program.requests() - before
        lives = Lives(
            applications.created,
            await applications.read_moments("DriverRequested"),
            await applications.read_moments(LAST_STATE),
        )
    drivers, ends = lives.delays(lives.requested), lives.delays(lives.ended)
    cost = Cost(
        name,
        load.number,
        load.standing,
        load.number / elapsed,
        requests / load.number,
        1000 * processor / load.number,
        memory,
        statistics.median(drivers),
        _high(drivers),
        statistics.median(ends),
        _high(ends),
        program.ready_after,
        busy,
    )
    return cost, lives


async def _run(applications: Fleet, load: Load) -> None:
    ending = asyncio.create_task(applications.wait_for_the_end(load.number))
    try:
        await applications.create(load.number, load.rate)
        await ending
    finally:
        ending.cancel()


def _high(sorted_seconds: Sequence[float]) -> float:
    return sorted_seconds[max(0, round(len(sorted_seconds) * 0.99) - 1)]


async def measure_all(programs: Iterable[str], loads: Iterable[Load], kubeconfig: str) -> dict[str, Lives]:
    """Measure each load with each program, and print a line of each; the lives of the last load, by program."""
    latest = {}
    async with await open_client(ClusterAccess(kubeconfig=kubeconfig)) as client:
        for load in loads:
            for name in programs:
                cost, latest[name] = await measure(name, load, client, kubeconfig)
                print(cost, flush=True)
    return latest


def draw_lives(lives: Mapping[str, Lives]) -> str:
    """Draw the chart of the lives under each program."""
    curves = [
        Curve(f"{title}, {name}", one.since_beginning(moments), color, dashed=name == BARE_LOOP)
        for name, one in lives.items()
        for title, moments, color in (("driver", one.requested, "#2c7bb6"), ("completed", one.ended, "#d7191c"))
    ]
    number = max(len(one.created) for one in lives.values())
    return draw(f"{number:,} applications: drivers requested and applications completed", curves)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.controller", description=__doc__)
    parser.add_argument("--at-once", type=int, nargs="*", metavar="N", default=NUMBERS, help="created at once")
    parser.add_argument("--steady", type=int, nargs="*", metavar="N", default=(), help="created at --rate")
    parser.add_argument("--rate", type=float, default=8.0, help="applications in a second (default: %(default)s)")
    parser.add_argument("--standing", type=int, default=0, metavar="N", help="beside so many that are over")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="measure everything so many times")
    parser.add_argument("--only", choices=(CONTROLLER, BARE_LOOP), help="measure one of the two")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw the last load there")
    options = parser.parse_args()
    kubeconfig = os.environ.get("SIM_KUBECONFIG")
    if not kubeconfig:
        print("to measure the controller, set SIM_KUBECONFIG to a cluster whose node is simulated, such as by KWOK")
        return
    loads = [Load(number, None, options.standing) for number in options.at_once]
    loads += [Load(number, options.rate, options.standing) for number in options.steady]
    programs = [options.only] if options.only else [CONTROLLER, BARE_LOOP]
    print("".join(re.sub(r",|\.\d", "", form).replace("f", "").format(text) for text, form, _ in _HEADINGS))
    lives = asyncio.run(measure_all(programs, loads * options.rounds, kubeconfig))
    if options.svg:
        options.svg.write_text(draw_lives(lives), encoding="utf-8")


if __name__ == "__main__":
    main()
