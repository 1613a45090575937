"""Thousands of running applications on one controller: `python -m bench.running [NUMBER]`.

The cluster of `SIM_KUBECONFIG` must let drivers with the label `simulated-life=endless` run until they are deleted. The
benchmark starts the controller again when all applications run, and counts its writes.
"""

import asyncio
import sys
import time
from collections.abc import Sequence

from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from bench.applications import create_fleet
from bench.controller import CONTROLLER, run_program
from bench.goals import require_cluster

NUMBER = 10_000
PER_SECOND = 14.0
CALM_SECONDS = 60.0
_RUNNING = r'spark_operator_applications\{state="RunningHealthy"\}'
_WRITES = r'spark_operator_api_requests_total\{resource="(?!leases).*verb="(?:create|delete|patch|update)"\}'


async def measure(number: int, kubeconfig: str) -> dict[str, float]:
    """Return the values of the goals."""
    async with await open_client(ClusterAccess(kubeconfig=kubeconfig)) as client, create_fleet(client) as applications:
        async with run_program(CONTROLLER, kubeconfig, applications.namespace) as program:
            await applications.create(number, PER_SECOND, is_endless=True)
            begun = time.monotonic()
            async with asyncio.timeout(600):
                while await program.read_metric(_RUNNING) < number:  # noqa: ASYNC110 - not a state of this process
                    await asyncio.sleep(1)
            print(f"{number:,} run {time.monotonic() - begun:.0f} s after the last creation, {program.memory:.0f} MiB")
            values = {f"{number:,} running applications: memory of the controller, MiB": program.memory}
        async with run_program(CONTROLLER, kubeconfig, applications.namespace) as program:
            values[f"{number:,} running applications: seconds until a restart is ready"] = program.ready_after
            await asyncio.sleep(CALM_SECONDS)
            values[f"{number:,} running applications: writes after a restart"] = await program.read_metric(_WRITES)
            print(f"restarted: {program.memory:.0f} MiB, {program.cpu_seconds:.1f} s of CPU in {CALM_SECONDS:.0f} s")
    return values


def main(arguments: Sequence[str]) -> dict[str, float]:
    """Run the benchmark, print the results, and return the values of the goals."""
    return asyncio.run(measure(int(arguments[0]) if arguments else NUMBER, require_cluster()))


if __name__ == "__main__":
    main(sys.argv[1:])
