from pathlib import Path

from local_kubernetes.api.kinds.kinds import PODS

from kubelet.conditions import wait_until
from kubelet.running_node import RunningNode, build_pod, build_shell


async def test_pod_waits_for_a_place_on_a_full_node(tmp_path: Path) -> None:
    async with RunningNode(tmp_path / "home", max_pods=1) as node:
        node.create(build_pod(build_shell("sleep 600"), name="first"))
        await wait_until(lambda: node.phase("first") == "Running")
        node.create(build_pod(build_shell("true"), name="second"))
        node.create(build_pod(build_shell("true"), name="deleted"))
        await wait_until(lambda: node.condition("PodScheduled", "deleted").get("reason") == "Unschedulable")
        assert node.condition("PodScheduled", "second")["message"].endswith("Too many pods.")

        node.store.delete(PODS, "default", "deleted")
        node.store.delete(PODS, "default", "first", grace_seconds=0)

        assert (await node.wait_for_end("second"))["phase"] == "Succeeded"
        await wait_until(lambda: not node.exists("deleted"))


async def test_pod_of_another_scheduler_runs(node: RunningNode) -> None:
    node.create(build_pod(build_shell("true"), schedulerName="another"))

    assert (await node.wait_for_end())["phase"] == "Succeeded"
