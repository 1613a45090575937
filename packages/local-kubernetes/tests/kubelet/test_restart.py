"""Pods after a restart of their node."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from local_kubernetes.api.kinds.kinds import PODS

from kubelet.conditions import wait_until
from kubelet.running_node import RunningNode, build_pod, build_shell

MARK = {"volumeMounts": [{"name": "s", "mountPath": "/s"}]}


@asynccontextmanager
async def restart(
    tmp_path: Path, before: dict[str, Any], until: Callable[[RunningNode], object]
) -> AsyncIterator[RunningNode]:
    """Restart a node while a pod runs."""
    async with RunningNode(tmp_path / "home") as first:
        first.create(before)
        await wait_until(lambda: until(first))
    async with RunningNode(tmp_path / "home", store=first.store) as second:
        yield second


def is_running(node: RunningNode) -> bool:
    return node.phase() == "Running"


async def test_pod_without_restart_fails_with_its_node(tmp_path: Path) -> None:
    two = build_pod(build_shell("echo up; sleep 600"), build_shell("sleep 600", name="other"))
    async with restart(tmp_path, two, is_running) as node:
        status = await node.wait_for_end()

        ended = [item["state"]["terminated"] for item in status["containerStatuses"]]
        assert status["phase"] == "Failed"
        assert [(each["exitCode"], each["reason"]) for each in ended] == [(255, "Unknown")] * 2


async def test_log_of_a_lost_pod_is_readable_after_restart(tmp_path: Path) -> None:
    async with RunningNode(tmp_path / "home") as first:
        first.create(build_pod(build_shell("echo up; sleep 600")))
        await first.wait_for_output("up")
    async with RunningNode(tmp_path / "home", store=first.store) as second:
        await second.wait_for_end()

        assert await second.output() == "up\n"


async def test_terminated_pod_is_unchanged_after_restart(tmp_path: Path) -> None:
    async with restart(tmp_path, build_pod(build_shell("echo done")), lambda node: node.phase() == "Succeeded") as node:
        await node.wait_for_output("done")
        assert node.state()["terminated"]["reason"] == "Completed"

        node.store.delete(PODS, "default", "it")

        await wait_until(lambda: not node.exists())


@pytest.mark.parametrize("policy", ["Always", "OnFailure"])
async def test_pods_with_restart_policy_are_restarted(tmp_path: Path, policy: str) -> None:
    async with restart(
        tmp_path, build_pod(build_shell("echo up; sleep 600"), restartPolicy=policy), is_running
    ) as node:
        await wait_until(lambda: node.state().get("running") and node.status()["containerStatuses"][0]["restartCount"])

        described = node.status()["containerStatuses"][0]
        assert described["restartCount"] == 1
        assert described["lastState"]["terminated"]["reason"] == "Unknown"


async def test_a_container_that_had_succeeded_is_not_repeated(tmp_path: Path) -> None:
    claim = [{"name": "s", "hostPath": {"path": str(tmp_path)}}]
    document = build_pod(
        build_shell("echo done >> /s/count", name="done", **MARK),
        build_shell("test -e /s/again || { touch /s/again; sleep 600; }", name="main", **MARK),
        restartPolicy="OnFailure",
        volumes=claim,
    )
    async with restart(
        tmp_path, document, lambda node: "terminated" in node.state(0) and (tmp_path / "again").exists()
    ) as node:
        status = await node.wait_for_end()

        assert status["phase"] == "Succeeded"
        assert (tmp_path / "count").read_text() == "done\n"


async def test_init_containers_are_run_again(tmp_path: Path) -> None:
    document = build_pod(
        build_shell("sleep 600"),
        restartPolicy="Always",
        initContainers=[build_shell("echo first >> /s/count", name="first", **MARK)],
        volumes=[{"name": "s", "hostPath": {"path": str(tmp_path)}}],
    )
    async with restart(tmp_path, document, is_running) as node:
        await wait_until(lambda: node.state().get("running") and node.status()["containerStatuses"][0]["restartCount"])

        assert (tmp_path / "count").read_text() == "first\nfirst\n"
        assert node.status()["initContainerStatuses"][0]["restartCount"] == 1


async def test_pending_pod_starts_after_restart(tmp_path: Path) -> None:
    volumes = [{"name": "files", "configMap": {"name": "later"}}]
    async with restart(
        tmp_path, build_pod(build_shell("true"), volumes=volumes), lambda node: node.status().get("startTime")
    ) as node:
        node.create_config_map("later", a="here")

        assert (await node.wait_for_end())["phase"] == "Succeeded"
