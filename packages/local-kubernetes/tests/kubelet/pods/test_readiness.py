"""The readiness probes of containers."""

import socket
from typing import Any

from kubelet.conditions import wait_until
from kubelet.running_node import RunningNode, build_pod, build_shell


async def test_container_with_a_probe_is_ready_when_its_port_accepts_connections(node: RunningNode) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
        probe: dict[str, Any] = {"tcpSocket": {"port": port}, "periodSeconds": 1}
        node.create(build_pod(build_shell("exec sleep 600") | {"readinessProbe": probe}))
        await wait_until(lambda: "running" in node.state())
        assert node.condition("Ready")["status"] == "False"
        other.listen()
        await wait_until(lambda: node.condition("Ready")["status"] == "True")
    assert node.status()["containerStatuses"][0]["ready"] is True


async def test_container_that_ends_before_it_is_ready_ends_its_probe(node: RunningNode) -> None:
    probe = {"tcpSocket": {"port": 1}, "periodSeconds": 1}
    node.create(build_pod(build_shell("exit 3") | {"readinessProbe": probe}))
    assert (await node.wait_for_end())["phase"] == "Failed"


async def test_container_with_another_probe_is_ready_when_it_runs(node: RunningNode) -> None:
    probe = {"httpGet": {"port": 1}}
    node.create(build_pod(build_shell("exec sleep 600") | {"readinessProbe": probe}))
    await wait_until(lambda: node.condition("Ready").get("status") == "True")
