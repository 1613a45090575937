"""The growth of the controller while applications are created and deleted: `python -m bench.churn [-h]`.

A real API server with a simulated node (`SIM_KUBECONFIG`) receives the applications of a day, one after the other. The
drivers on the node run for some seconds, then succeed. The time to live of an application is one second: it is deleted
that long after its end. The controller process reports its resources every few seconds. The first fifth of the run is
the warm-up.
"""

import argparse
import asyncio
import re
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from bench.applications import build_application, create_fleet
from bench.goals import require_cluster

_HELD = re.compile(r"^held ((?:\w+=\d+ ?)+)$", re.MULTILINE)
_TIME_TO_LIVE_MILLIS = 1000
_LOOKED_AT = ("rss", "files", "tasks", "objects")


@dataclass(frozen=True)
class Growth:
    """One resource of the process: its median early and late in the run, after the warm-up."""

    name: str
    early: float
    late: float

    def __str__(self) -> str:
        return f"{self.name:<8}{self.early:>12,.0f}{self.late:>12,.0f}{(self.late / self.early - 1) * 100:>+9.1f} %"


def read_samples(log: str) -> list[dict[str, int]]:
    """Read the resources that `bench.churn_controller` has reported in its log."""
    return [
        {name: int(value) for name, value in (word.split("=") for word in held.split())} for held in _HELD.findall(log)
    ]


def compute_growths(samples: Sequence[dict[str, int]]) -> list[Growth]:
    """Compute the use of each resource in the second and in the last fifth of the run."""
    fifth = max(1, len(samples) // 5)
    early, late = samples[fifth : 2 * fifth], samples[-fifth:]
    return [
        Growth(name, statistics.median(each[name] for each in early), statistics.median(each[name] for each in late))
        for name in _LOOKED_AT
    ]


@asynccontextmanager
async def run_controller(kubeconfig: str, namespace: str, seconds: float) -> AsyncIterator[Path]:
    """Run the controller while the body runs; yield the file with its output."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "controller.log"
        options = ("--kubeconfig", kubeconfig, "--namespaces", namespace)
        with log.open("wb") as stream:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "bench.churn_controller", str(seconds), *options),
                stdout=asyncio.subprocess.PIPE,
                stderr=stream,
            )
        try:
            assert process.stdout is not None  # noqa: S101 - asked for above
            await process.stdout.readline()
            yield log
        finally:
            process.terminate()
            await process.wait()


async def run_applications(client: KubeClient, namespace: str, number: int, per_second: float) -> None:
    """Create applications at a steady rate, and wait until the last application is deleted."""
    begun = asyncio.get_running_loop().time()
    for index in range(number):
        await asyncio.sleep(begun + index / per_second - asyncio.get_running_loop().time())
        document = build_application(f"app-{index:06}", namespace)
        document["spec"]["applicationTolerations"] = {"ttlAfterStopMillis": _TIME_TO_LIVE_MILLIS}
        await client.create(SPARK_APPLICATIONS, document, namespace)
    while (await client.list(SPARK_APPLICATIONS, namespace)).items:  # noqa: ASYNC110 - the state of an API is no Event
        await asyncio.sleep(1)


async def run(kubeconfig: str, options: argparse.Namespace) -> dict[str, float]:
    """Run the applications, print the results, and return the value of the goal."""
    async with (
        await open_client(ClusterAccess(kubeconfig=kubeconfig)) as client,
        create_fleet(client) as ours,
        run_controller(kubeconfig, ours.namespace, options.interval) as log,
    ):
        await run_applications(client, ours.namespace, options.number, options.rate)
        text = log.read_text()
    samples = read_samples(text)
    print(f"{options.number:,} applications at {options.rate:g} per second, {len(samples)} samples")
    print(f"{'':<8}{'early':>12}{'late':>12}{'growth':>11}")
    growths = compute_growths(samples)
    print(*growths, sep="\n")
    print(f"errors in the log: {len(re.findall(r' ERROR ', text))}")
    return {"growth of the controller's memory, percent": 100 * (growths[0].late / growths[0].early - 1)}


def main(arguments: Sequence[str]) -> dict[str, float]:
    """Run the benchmark, print the results, and return the value of the goal."""
    parser = argparse.ArgumentParser(description="Whether the controller grows while applications come and go.")
    parser.add_argument("--number", type=int, default=5000, help="number of applications (default: 5000)")
    parser.add_argument("--rate", type=float, default=8.0, help="applications per second (default: 8)")
    parser.add_argument("--interval", type=float, default=10.0, help="seconds between two samples (default: 10)")
    options = parser.parse_args(arguments)
    return asyncio.run(run(require_cluster(), options))


if __name__ == "__main__":
    main(sys.argv[1:])
