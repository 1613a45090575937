import itertools
import sys
from typing import Any

from local_kubernetes.api.kinds.kinds import PODS
from local_kubernetes.api.kinds.status import ApiStatusError

from kubelet.conditions import is_alive, wait_until
from kubelet.running_node import RunningNode, build_container, build_pod, build_shell, wait_until_async


async def test_changes_of_a_deleted_pod_do_not_prolong_its_grace_period(node: RunningNode) -> None:
    node.create(
        build_pod(build_shell("trap '' TERM; echo up; while :; do sleep 0.05; done"), terminationGracePeriodSeconds=1)
    )
    await node.wait_for_output("up")
    changes = itertools.count()

    def annotate(document: dict[str, Any]) -> dict[str, Any]:
        return document | {"metadata": document["metadata"] | {"annotations": {"change": str(next(changes))}}}

    def is_gone_after_another_change() -> bool:
        try:
            node.store.update(PODS, "default", "it", annotate)
        except ApiStatusError:
            return True
        return False

    node.store.delete(PODS, "default", "it")

    await wait_until(is_gone_after_another_change)
    assert next(changes) > 2


async def test_forced_deletion_shortens_the_grace_period(node: RunningNode) -> None:
    node.create(
        build_pod(
            build_shell("trap '' TERM; echo $$$$; while :; do sleep 0.05; done"), terminationGracePeriodSeconds=600
        )
    )
    await node.wait_for_output("\n")
    pid = int(await node.output())

    node.store.delete(PODS, "default", "it")
    node.store.delete(PODS, "default", "it", grace_seconds=0)

    await wait_until(lambda: not node.exists() and not is_alive(pid))


async def test_stopped_node_leaves_no_process(node: RunningNode) -> None:
    script = "import os, time; pid = os.fork(); print(os.getpid(), flush=True); time.sleep(600)"
    node.create(build_pod(build_container(sys.executable, "-c", script)))
    await wait_until(lambda: node.phase() == "Running")

    await wait_until_async(lambda: _are_both_running(node))
    pids = [int(word) for word in (await node.output()).split()]
    await node.stop()

    assert not [pid for pid in pids if is_alive(pid)]


async def _are_both_running(node: RunningNode) -> bool:
    return len((await node.output()).split()) == 2
