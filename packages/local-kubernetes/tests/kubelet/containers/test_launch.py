"""The working directory of a container, as its runtime receives it."""

from pathlib import Path

import pytest

from local_kubernetes.kubelet.node.images import ImageRule
from local_kubernetes.kubelet.node.runtime import ContainerCommand, ContainerSetup, HostRuntime

from kubelet.running_node import RunningNode, build_pod, build_shell

MOUNTS = [{"name": "empty", "mountPath": "/empty"}, {"name": "host", "mountPath": "/host"}]


class RecordingRuntime(HostRuntime):
    """Records the containers that it starts, and starts them in their scratch directories."""

    def __init__(self) -> None:
        self.setups: list[ContainerSetup] = []

    async def prepare(self, container: ContainerSetup) -> ContainerCommand:
        self.setups.append(container)
        command = await super().prepare(container)
        return ContainerCommand(command.words, command.environment, container.folders.scratch)


@pytest.mark.parametrize(
    ("directory", "is_owned"),
    [(None, True), ("/empty", True), ("/absent", True), ("/host", False), ("/host/below", False)],
)
async def test_runtime_learns_whether_the_working_directory_belongs_to_the_pod(
    tmp_path: Path, directory: str | None, is_owned: bool
) -> None:
    theirs = tmp_path / "theirs"
    (theirs / "below").mkdir(parents=True)
    volumes = [{"name": "empty", "emptyDir": {}}, {"name": "host", "hostPath": {"path": str(theirs)}}]
    container = build_shell("pwd", volumeMounts=MOUNTS, **({"workingDir": directory} if directory else {}))
    runtime = RecordingRuntime()
    async with RunningNode(tmp_path / "home", images=[ImageRule("*", runtime)]) as node:
        node.create(build_pod(container, volumes=volumes))
        await node.wait_for_end()
        (setup,) = runtime.setups
        output = await node.output()
    assert setup.owns_directory == is_owned
    assert setup.directory.is_relative_to(theirs) != is_owned
    assert output.strip().endswith(str(setup.folders.scratch.relative_to(tmp_path)))
