"""A local cluster that is killed at any moment leaves no process, and no state that is in the way of the next one.

FAULT_ROUNDS says how often; a failed round names its seed, which FAULT_SEED repeats.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROUNDS = int(os.environ.get("FAULT_ROUNDS", "3"))
SEED = int(os.environ.get("FAULT_SEED", "1"))
DEADLINE_SECONDS = 60
# Starts a cluster and pods of several kinds, tells of each step, and goes on until it is killed.
CLUSTER = """
import asyncio, sys
from pathlib import Path
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import PODS
from airflow_provider_spark_operator.local.cluster import LocalCluster
from tests.faults.test_killed_cluster import pods

async def main():
    async with LocalCluster(Path(sys.argv[1])) as cluster:
        print("up", flush=True)
        async with await open_client(ClusterAccess(kubeconfig=cluster.kubeconfig)) as client:
            for number in range(1000):
                for document in pods(sys.argv[2], number):
                    await client.create(PODS, document, "default")
                await asyncio.sleep(0.3)

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


def pods(mark: str, number: int) -> list[dict[str, object]]:
    """A pod with a family of processes, one that is started again and again, and one that is about to end."""

    def document(name: str, *command: str, policy: str = "Never") -> dict[str, object]:
        container = {"name": "main", "image": "local/process", "command": [*command, mark]}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-{number}"},
            "spec": {"restartPolicy": policy, "containers": [container]},
        }

    return [
        document("family", sys.executable, "-c", FAMILY),
        document("crashes", "sh", "-c", "sleep 0.1; exit 1", policy="Always"),
        document("ends", "sh", "-c", "sleep 0.2"),
    ]


def processes_with(mark: str) -> list[str]:
    """The processes that have a word in their command line, by the whole of it."""
    listing = subprocess.run(["ps", "-axo", "pid=,command="], capture_output=True, text=True, check=True)
    return [line for line in listing.stdout.splitlines() if mark in line]


@pytest.mark.timeout(60 + 30 * ROUNDS)
def test_a_cluster_that_is_killed_at_random_leaves_nothing_behind(tmp_path: Path) -> None:
    home, running = tmp_path / "home", 0
    for round_number in range(ROUNDS):
        seed = SEED + round_number
        mark = f"pod-of-{tmp_path.name}-{seed}"
        with subprocess.Popen([sys.executable, "-c", CLUSTER, home, mark], stdout=subprocess.PIPE) as cluster:
            assert cluster.stdout is not None
            assert cluster.stdout.readline() == b"up\n", f"seed {seed}: the folder is of no use any more"
            time.sleep(random.Random(seed).uniform(0, 1.5))
            running += len(processes_with(mark)) - 1
            cluster.send_signal(signal.SIGKILL)
        deadline = time.monotonic() + DEADLINE_SECONDS
        while left := processes_with(mark):
            assert time.monotonic() < deadline, f"seed {seed}: {left}"
            time.sleep(0.05)
    assert running, "nothing ran when the clusters were killed"
