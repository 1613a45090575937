"""The delay until the controller decides on the end of a driver: `python -m bench.reaction [NUMBER]`.

Five applications start per second. Their drivers run for some seconds on a simulated node (`SIM_KUBECONFIG`), then
succeed. The benchmark compares the time at which its own watch receives the end of a driver with the time in the status
of the application. This is the time of the decision, shortly before the status is written.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import aclosing

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.listwatch import Changed, list_and_watch
from airflow_provider_spark_operator.kube.resources import PODS
from bench.applications import create_fleet
from bench.controller import CONTROLLER, run_program
from bench.goals import compute_p99, require_cluster

NUMBER = 150
PER_SECOND = 5.0


async def record_ends(client: KubeClient, namespace: str, ends: dict[str, float]) -> None:
    """Record the time at which the end of each driver is known, by application, until cancelled."""
    async with aclosing(list_and_watch(client, PODS, namespace)) as changes:
        async for change in changes:
            if isinstance(change, Changed) and change.object["status"].get("phase") == "Succeeded":
                ends.setdefault(change.object["metadata"]["labels"]["spark.operator/spark-app-name"], time.time())


async def measure(number: int, kubeconfig: str) -> list[float]:
    """Return the seconds between the end of each driver and the state that reports it, sorted."""
    ends: dict[str, float] = {}
    async with (
        await open_client(ClusterAccess(kubeconfig=kubeconfig)) as client,
        create_fleet(client) as applications,
        run_program(CONTROLLER, kubeconfig, applications.namespace),
    ):
        recording = asyncio.create_task(record_ends(client, applications.namespace, ends))
        try:
            await applications.run(number, PER_SECOND)
        finally:
            recording.cancel()
        noticed = await applications.read_moments("Succeeded")
    return sorted(noticed[name] - ended for name, ended in ends.items())


def main(arguments: Sequence[str]) -> dict[str, float]:
    """Run the benchmark, print the results, and return the value of the goal."""
    delays = asyncio.run(measure(int(arguments[0]) if arguments else NUMBER, require_cluster()))
    median, high = statistics.median(delays), compute_p99(delays)
    print(f"{len(delays)} drivers, seconds until their end was in the status: p50 {median:.3f}, p99 {high:.3f}")
    return {"seconds from the end of a driver to the status, p99": high}


if __name__ == "__main__":
    main(sys.argv[1:])
