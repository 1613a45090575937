import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local_kubernetes.kubelet.node import memory
from local_kubernetes.kubelet.node.memory import MemoryLimits

from kubelet.conditions import wait_until
from kubelet.running_node import RunningNode, build_container, build_pod, build_shell

MEBIBYTE = 1 << 20
NOBODY = 1 << 30
# Writes 64 MiB, then shares them with three child processes.
FORKING = """
import os, time
held = b"x" * (64 << 20)
for _ in range(3):
    if os.fork() == 0:
        break
else:
    print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def family() -> Iterator[int]:
    """Run a process of 64 MiB with three children that share them; yield the id of their session."""
    command = [sys.executable, "-c", FORKING]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as leader:
        assert leader.stdout is not None
        assert leader.stdout.readline() == b"ready\n"
        yield leader.pid
        os.killpg(leader.pid, 9)


def build_memory_holder(mebibytes: int, **fields: Any) -> dict[str, object]:
    """Return a container that writes an amount of memory and keeps running."""
    script = f"import time; held = b'x' * ({mebibytes} << 20); print('holds', flush=True); time.sleep(600)"
    return build_container(sys.executable, "-c", script, resources={"limits": {"memory": "64Mi"}}, **fields)


async def test_container_over_its_memory_limit_is_killed(node: RunningNode) -> None:
    node.create(build_pod(build_memory_holder(128)))

    status = await node.wait_for_end()

    terminated = status["containerStatuses"][0]["state"]["terminated"]
    assert (terminated["reason"], terminated["exitCode"]) == ("OOMKilled", 137)


async def test_container_within_its_memory_limit_runs(node: RunningNode) -> None:
    node.create(build_pod(build_memory_holder(8)))
    node.create(build_pod(build_memory_holder(128), name="other"))
    await node.wait_for_output("holds")

    await node.wait_for_end("other")

    assert node.phase() == "Running"


async def test_out_of_memory_container_is_restarted_by_its_restart_policy(node: RunningNode) -> None:
    script = f'test -e /s/x && exit 0; touch /s/x; exec {sys.executable} -c "{{}}"'
    hold = "import time; held = b'x' * (128 << 20); time.sleep(600)"
    it = build_shell(
        script.format(hold), volumeMounts=[{"name": "s", "mountPath": "/s"}], resources={"limits": {"memory": "64Mi"}}
    )
    node.create(build_pod(it, restartPolicy="OnFailure", volumes=[{"name": "s", "emptyDir": {}}]))

    described = (await node.wait_for_end())["containerStatuses"][0]

    assert (described["restartCount"], described["lastState"]["terminated"]["reason"]) == (1, "OOMKilled")
    assert described["state"]["terminated"]["reason"] == "Completed"


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="this system does not tell what is shared")
async def test_shared_memory_counts_once(family: int) -> None:
    exceeded: list[str] = []
    limits = MemoryLimits()
    with (
        limits.enforce(family, family, 160 * MEBIBYTE, lambda: exceeded.append("roomy")),
        limits.enforce(NOBODY, NOBODY, 1, lambda: exceeded.append("nobody")),
    ):
        assert memory._find_exceeded(list(limits._watched.values())) == []


@pytest.mark.parametrize("table", ["proc", "ps"])
def test_the_memory_of_all_processes_of_a_container_counts(
    family: int, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if table == "ps":
        monkeypatch.setattr(memory, "_PROC", Path("/nowhere"))
    watched = memory._Watched(guard=NOBODY, leader=family, limit=48 * MEBIBYTE, exceeded=lambda: None)

    assert memory._find_exceeded([watched]) == [watched]


async def test_invalid_memory_limit_is_a_start_error(node: RunningNode) -> None:
    node.create(build_pod(build_shell("true", resources={"limits": {"memory": "much"}})))

    terminated = (await node.wait_for_end())["containerStatuses"][0]["state"]["terminated"]

    assert terminated["reason"] == "StartError"
    assert terminated["message"] == "resources.limits.memory: 'much' is not a quantity"


async def test_container_without_memory_limit_is_not_measured(node: RunningNode) -> None:
    node.create(build_pod(build_memory_holder(128) | {"resources": {}}))
    node.create(build_pod(build_memory_holder(128), name="other"))

    await node.wait_for_end("other")

    await wait_until(lambda: node.phase() == "Running")
