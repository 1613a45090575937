"""The delay until the controller notices the end of short drivers: `python -m bench.brief [NUMBER]`.

The drivers are bound to a simulated node: each becomes ready when it exists, and succeeds half a second later. The
benchmark needs `SIM_KUBECONFIG`, as `bench.controller` does.
"""

import asyncio
import os
import statistics
import sys
import time
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.listwatch import Changed, list_and_watch
from airflow_provider_spark_operator.kube.resources import PODS
from bench.applications import Fleet, create_fleet
from bench.controller import CONTROLLER, run_program

NUMBER = 50
PER_SECOND = 2.0
LIFE_SECONDS = 0.5
NODE = "played-by-the-bench"


class Node:
    """Simulates the node of all drivers of a namespace."""

    def __init__(self, client: KubeClient, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self.ended: dict[str, float] = {}

    async def run(self) -> None:
        """Simulate the node until cancelled."""
        known: set[str] = set()
        async with (
            asyncio.TaskGroup() as group,
            aclosing(list_and_watch(self._client, PODS, self._namespace)) as changes,
        ):
            async for change in changes:
                if isinstance(change, Changed) and change.object["metadata"]["name"] not in known:
                    known.add(change.object["metadata"]["name"])
                    group.create_task(self._play(change.object))
                elif isinstance(change, Changed) and "deletionTimestamp" in change.object["metadata"]:
                    group.create_task(self._remove(change.object))

    async def _play(self, pod: dict[str, Any]) -> None:
        await self._set(pod, _status(pod, "Running", {"running": {"startedAt": _now()}}))
        await asyncio.sleep(LIFE_SECONDS)
        end = {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": _now()}}
        self.ended[pod["metadata"]["labels"]["spark.operator/spark-app-name"]] = time.time()
        await self._set(pod, _status(pod, "Succeeded", end))

    async def _set(self, pod: dict[str, Any], status: dict[str, Any]) -> None:
        patch = {"status": status}
        await self._client.patch(PODS, pod["metadata"]["name"], self._namespace, patch, subresource="status")

    async def _remove(self, pod: dict[str, Any]) -> None:
        name = pod["metadata"]["name"]
        await self._client.delete(PODS, name, self._namespace, grace_seconds=0, propagation="Background")


def _status(pod: dict[str, Any], phase: str, state: dict[str, Any]) -> dict[str, Any]:
    runs = phase == "Running"
    name = pod["spec"]["containers"][0]["name"]
    container = {"name": name, "image": "x", "imageID": "", "ready": runs, "restartCount": 0, "state": state}
    ready = {"type": "Ready", "status": str(runs), "lastTransitionTime": _now()}
    return {"phase": phase, "startTime": _now(), "conditions": [ready], "containerStatuses": [container]}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


async def measure(number: int, kubeconfig: str) -> list[float]:
    """Return the seconds between the end of each driver and the state that reports it, sorted."""
    async with (
        await open_client(ClusterAccess(kubeconfig=kubeconfig)) as client,
        create_fleet(client, node=NODE) as applications,
        run_program(CONTROLLER, kubeconfig, applications.namespace),
    ):
        node = Node(client, applications.namespace)
        playing = asyncio.create_task(node.run())
        try:
            await _run(applications, number)
        finally:
            playing.cancel()
        noticed = await applications.read_moments("Succeeded")
    return sorted(noticed[name] - ended for name, ended in node.ended.items())


async def _run(applications: Fleet, number: int) -> None:
    ending = asyncio.create_task(applications.wait_for_completion(number))
    try:
        await applications.create(number, PER_SECOND)
        await ending
    finally:
        ending.cancel()


def main() -> None:
    """Run the benchmark and print the results."""
    kubeconfig = os.environ.get("SIM_KUBECONFIG")
    if not kubeconfig:
        print("to measure the delays, set SIM_KUBECONFIG to a cluster with a simulated node")
        return
    delays = asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else NUMBER, kubeconfig))
    print(
        f"{len(delays)} drivers that ended {LIFE_SECONDS} s after they were ready, seconds until it was noticed: "
        f"p50 {statistics.median(delays):.3f}, longest {delays[-1]:.3f}"
    )


if __name__ == "__main__":
    main()
