"""A local cluster that is killed at any moment leaves no process, and no state that prevents the next start.

FAULT_ROUNDS is the number of rounds. A failed round prints its seed, and FAULT_SEED repeats the round.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROUNDS = int(os.environ.get("FAULT_ROUNDS", "3"))
SEED = int(os.environ.get("FAULT_SEED", "1"))
DEADLINE_SECONDS = 60
# This program starts a cluster, then pods of several kinds, until it is killed.
CLUSTER = """
import asyncio, sys
from pathlib import Path
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import PODS
from local_kubernetes.cluster import LocalCluster
from tests.faults.test_killed_cluster import build_pods

async def main():
    async with LocalCluster(Path(sys.argv[1]), keep=sys.argv[3] == "keep") as cluster:
        print("up", flush=True)
        async with await open_client(ClusterAccess(kubeconfig=cluster.kubeconfig)) as client:
            for kept in (await client.list(PODS, "default")).items:
                await client.delete(PODS, kept["metadata"]["name"], "default", grace_seconds=0)
            for number in range(3):
                for document in build_pods(sys.argv[2], number):
                    await client.create(PODS, document, "default")
                await asyncio.sleep(0.3)
        await asyncio.Event().wait()

asyncio.run(main())
"""
FAMILY = """
import os, sys, time
if os.fork() == 0:
    os.setpgid(0, 0)
    if os.fork() == 0:
        time.sleep(600)
time.sleep(600)
"""


def build_pods(mark: str, number: int) -> list[dict[str, object]]:
    """Build three pods: one with child processes, one that restarts repeatedly, and one that ends soon."""

    def build_pod(name: str, *command: str, policy: str = "Never") -> dict[str, object]:
        container = {"name": "main", "image": "local/process", "command": [*command, mark]}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-{number}"},
            "spec": {"restartPolicy": policy, "containers": [container]},
        }

    return [
        build_pod("family", sys.executable, "-c", FAMILY),
        build_pod("crashes", "sh", "-c", "sleep 0.1; exit 1", policy="Always"),
        build_pod("ends", "sh", "-c", "sleep 0.2"),
    ]


def list_processes(mark: str) -> list[str]:
    """Return the processes that have a word in their command line, with the whole command line."""
    listing = subprocess.run(["ps", "-axwwo", "pid=,command="], capture_output=True, check=True)
    return [line for line in listing.stdout.decode(errors="replace").splitlines() if mark in line]


def wait_until(holds: Callable[[], object], what: str) -> None:
    """Wait until a condition is true; fail after a deadline."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.mark.timeout(60 + 30 * ROUNDS)
@pytest.mark.parametrize(("memory", "rounds"), [("forget", ROUNDS), ("keep", (ROUNDS + 4) // 5)])
def test_cluster_killed_at_random_leaves_no_process(tmp_path: Path, memory: str, rounds: int) -> None:
    """In every second round, pods are running before the kill. In the others, the cluster may still be starting."""
    mark = f"pod-of-{tmp_path.name}-{os.getpid()}"
    for round_number in range(rounds):
        seed = SEED + round_number
        words = [sys.executable, "-c", CLUSTER, str(tmp_path / "home"), mark, memory]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as cluster:
            try:
                assert cluster.stdout is not None
                assert cluster.stdout.readline() == b"up\n", f"seed {seed}: the folder is of no use any more"
                if round_number % 2 == 0:
                    wait_until(lambda: len(list_processes(mark)) > 1, f"seed {seed}: no pod runs")
                time.sleep(random.Random(seed).uniform(0, 1.5))
            finally:
                cluster.send_signal(signal.SIGKILL)
        wait_until(lambda: not list_processes(mark), f"seed {seed}: a process goes on")
