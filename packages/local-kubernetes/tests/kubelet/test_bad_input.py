"""Pods with paths out of the home directory, or with files that block: they are rejected, and the node continues."""

from pathlib import Path
from typing import Any

import pytest

from kubelet.conditions import wait_until
from kubelet.running_node import RunningNode, build_pod, build_shell

SCRATCH = {"name": "s", "emptyDir": {}}


def outside(tmp_path: Path) -> set[str]:
    """A directory next to the home directory."""
    return {path.name for path in tmp_path.iterdir()} - {"home"}


async def check_still_works(node: RunningNode) -> bool:
    node.create(build_pod(build_shell("true"), name="next"))
    return bool((await node.wait_for_end("next"))["phase"] == "Succeeded")


async def test_a_link_in_a_volume_is_not_mounted_from(node: RunningNode, tmp_path: Path) -> None:
    mount = {"name": "s", "mountPath": "/s"}
    first = build_shell(f"ln -s {tmp_path} /s/link", name="first", volumeMounts=[mount])
    second = build_shell("touch /t/x", volumeMounts=[{"name": "s", "mountPath": "/t", "subPath": "link/made"}])
    node.create(build_pod(second, initContainers=[first], volumes=[SCRATCH]))

    message = await node.wait_for_waiting_reason("CreateContainerConfigError")

    assert "subPath link/made of volume s leads out of the volume" in message
    assert outside(tmp_path) == set()


@pytest.mark.parametrize("path", ["../out", "a/../../out", "/out", "a\0b"])
async def test_a_file_of_a_volume_stays_in_the_volume(node: RunningNode, tmp_path: Path, path: str) -> None:
    node.create_config_map("files", a="x")
    volume = {"name": "files", "configMap": {"name": "files", "items": [{"key": "a", "path": path}]}}
    node.create(build_pod(build_shell("true"), volumes=[volume]))

    await wait_until(lambda: "FailedMount" in node.events())

    assert node.state()["waiting"]["reason"] == "ContainerCreating"
    assert outside(tmp_path) == set()
    assert await check_still_works(node)


@pytest.mark.parametrize("paths", [("a", "a/b"), ("a/b", "a"), ("x" * 300, "y")])
async def test_conflicting_files_of_a_volume_delay_the_pod(node: RunningNode, paths: tuple[str, str]) -> None:
    node.create_config_map("files", one="1", two="2")
    items = [{"key": key, "path": path} for key, path in zip(("one", "two"), paths, strict=True)]
    node.create(
        build_pod(build_shell("true"), volumes=[{"name": "files", "configMap": {"name": "files", "items": items}}])
    )

    await wait_until(lambda: "FailedMount" in node.events())

    assert node.phase() == "Pending"


async def test_a_sub_path_through_a_file_is_a_configuration_error(node: RunningNode) -> None:
    node.create_config_map("files", a="x")
    volume = {"name": "s", "configMap": {"name": "files"}}
    mount = {"name": "s", "mountPath": "/s", "subPath": "a/b"}
    node.create(build_pod(build_shell("true", volumeMounts=[mount]), volumes=[volume]))

    assert "subPath a/b of volume s cannot be a folder" in await node.wait_for_waiting_reason(
        "CreateContainerConfigError"
    )


@pytest.mark.parametrize("directory", ["/../../../../../../escaped", "a/../../../../../escaped"])
async def test_a_working_directory_stays_in_the_container(node: RunningNode, tmp_path: Path, directory: str) -> None:
    node.create(build_pod(build_shell("true", workingDir=directory)))

    terminated = (await node.wait_for_end())["containerStatuses"][0]["state"]["terminated"]

    assert terminated["reason"] == "StartError"
    assert "must not lead out of the container" in terminated["message"]
    assert outside(tmp_path) == set()


@pytest.mark.parametrize(
    "trick", ["mkfifo /dev/termination-log", "ln -s /etc/passwd /dev/termination-log", "mkdir /dev/termination-log"]
)
async def test_a_termination_message_is_read_from_a_file_only(node: RunningNode, trick: str) -> None:
    node.create(build_pod(build_shell(f"rm -f /dev/termination-log; {trick}; exit 3")))

    terminated = (await node.wait_for_end())["containerStatuses"][0]["state"]["terminated"]

    assert terminated["exitCode"] == 3
    assert "message" not in terminated
    assert await check_still_works(node)


async def test_a_long_termination_message_is_cut(node: RunningNode) -> None:
    node.create(build_pod(build_shell("head -c 100000 /dev/zero | tr '\\0' x > /dev/termination-log")))

    terminated = (await node.wait_for_end())["containerStatuses"][0]["state"]["terminated"]

    assert terminated["message"] == "x" * 4096


@pytest.mark.parametrize(
    "fields",
    [
        {"env": [{"name": "A=B", "value": "x"}]},
        {"env": [{"name": "A", "value": "x\0y"}]},
        {"env": [{"name": "A", "value": "x" * 1_200_000}]},
        {"command": []},
        {"command": ["sh", "-c", "x\0y"]},
    ],
    ids=["equals-sign", "nul", "too-long", "no-command", "nul-in-command"],
)
async def test_invalid_process_arguments_are_a_start_error(node: RunningNode, fields: dict[str, Any]) -> None:
    node.create(build_pod(build_shell("true", **fields)))

    terminated = (await node.wait_for_end())["containerStatuses"][0]["state"]["terminated"]

    assert terminated["reason"] == "StartError"
    assert terminated["message"]
    assert await check_still_works(node)


async def test_only_the_last_two_logs_of_a_container_are_kept(node: RunningNode) -> None:
    mounts = [{"name": "s", "mountPath": "/s"}]
    count = "echo x >> /s/count; [ $(wc -l < /s/count) -ge 3 ]"
    node.create(
        build_pod(build_shell(f"echo run; {count}", volumeMounts=mounts), restartPolicy="OnFailure", volumes=[SCRATCH])
    )

    status = await node.wait_for_end()

    assert status["containerStatuses"][0]["restartCount"] == 2
    assert {path.name for path in (node.home / "logs").rglob("*.log")} == {"1.log", "2.log"}
