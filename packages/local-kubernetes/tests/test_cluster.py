import asyncio
import os
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from local_kubernetes.api.kinds.kinds import PODS, Kind
from local_kubernetes.cluster import LocalCluster, LocalClusterError

from api.builders import build_definition
from client import ApiError, Client, open_client
from kubelet.conditions import is_alive, wait_until
from kubelet.running_node import build_pod, build_shell, wait_until_async

RUN_A_POD = """
import asyncio, sys
from pathlib import Path
from client import open_client
from kubelet.running_node import build_pod, build_shell
from local_kubernetes.api.kinds.kinds import PODS
from local_kubernetes.cluster import LocalCluster

async def main():
    async with LocalCluster(Path(sys.argv[1])) as cluster:
        async with open_client(cluster.kubeconfig) as client:
            script = "sh -c 'echo $$$$; exec sleep 600' & echo $$$$; wait"
            await client.create(PODS, build_pod(build_shell(script)), "default")
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[LocalCluster]:
    async with LocalCluster(tmp_path / "home", [build_definition()]) as running:
        yield running


@pytest.fixture
async def client(cluster: LocalCluster) -> AsyncIterator[Client]:
    async with open_client(cluster.kubeconfig) as opened:
        yield opened


def read_permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_home_is_accessible_to_its_owner_only(cluster: LocalCluster) -> None:
    assert read_permissions(cluster.home) == 0o700
    assert read_permissions(cluster.kubeconfig) == 0o600


async def test_pods_run_and_their_logs_are_served(client: Client) -> None:
    await client.create(PODS, build_pod(build_shell("echo one; echo two")), "default")

    async def has_ended() -> bool:
        found = await client.get(PODS, "it", "default")
        return bool(found["status"]["phase"] == "Succeeded")

    await wait_until_async(has_ended)

    assert await client.logs("default", "it") == ["one", "two"]
    assert await client.logs("default", "it", tailLines="1", follow="true") == ["two"]


async def test_the_given_definitions_are_served(client: Client) -> None:
    assert await client.list(Kind("example.com", "things", "Thing"), "default") == []


async def test_a_wrong_token_is_refused(cluster: LocalCluster) -> None:
    text = await asyncio.to_thread(cluster.kubeconfig.read_text)
    other = cluster.home.parent / "kubeconfig"
    await asyncio.to_thread(other.write_text, "".join(_remove_token(text)))

    async with open_client(other) as stranger:
        with pytest.raises(ApiError, match=r"(?i)unauthorized"):
            await stranger.list(PODS, "default")


def _remove_token(text: str) -> list[str]:
    return [
        line.partition("token:")[0] + "token: wrong\n" if "token:" in line else line
        for line in text.splitlines(keepends=True)
    ]


async def test_only_logs_and_cache_are_kept_at_the_end(tmp_path: Path) -> None:
    async with LocalCluster(tmp_path / "home") as cluster, open_client(cluster.kubeconfig) as client:
        await client.create(PODS, build_pod(build_shell("sleep 600")), "default")
        await wait_until(lambda: list(cluster.home.glob("logs/*/main/0.log")))

    assert {path.name for path in cluster.home.iterdir()} <= {"lock", "logs", "cache"}
    async with LocalCluster(tmp_path / "home"):
        pass


async def test_a_second_cluster_in_the_same_home_is_refused(cluster: LocalCluster) -> None:
    with pytest.raises(LocalClusterError, match=rf"another local cluster runs in .* \(process {os.getpid()}\)"):
        async with LocalCluster(cluster.home):
            pass
    assert cluster.kubeconfig.exists()


async def test_directory_with_other_files_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").write_text("mine")

    with pytest.raises(LocalClusterError, match="is not empty and was not created by a local cluster"):
        async with LocalCluster(tmp_path):
            pass

    assert (tmp_path / "kubeconfig").read_text() == "mine"


async def test_unusable_home_is_reported_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(LocalClusterError, match=r"a part of its path is a file, not a folder\. Choose another"):
        async with LocalCluster(tmp_path / "file" / "home"):
            pass


async def test_port_in_use_is_reported_in_one_sentence(cluster: LocalCluster, client: Client, tmp_path: Path) -> None:
    port = int(client.url.rsplit(":", 1)[1])

    with pytest.raises(LocalClusterError, match=f"could not listen on port {port}"):
        async with LocalCluster(tmp_path / "other", port=port):
            pass


def test_no_process_survives_a_kill_of_the_cluster(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with subprocess.Popen([sys.executable, "-c", RUN_A_POD, str(home)], cwd=Path(__file__).parent) as process:
        found: list[int] = []

        def both() -> Any:
            files = list(home.glob("logs/*/main/0.log"))
            found[:] = [int(line.split()[-1]) for line in files[0].read_text().splitlines()] if files else []
            return len(found) == 2 and all(is_alive(pid) for pid in found)

        asyncio.run(wait_until(both))
        process.send_signal(signal.SIGKILL)
        process.wait()

    asyncio.run(wait_until(lambda: not any(is_alive(pid) for pid in found)))


async def test_a_home_whose_cluster_was_killed_can_be_used_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "lock").write_text("1\n")
    (home / "pods" / "uid").mkdir(parents=True)
    (home / "kubeconfig").write_text("stale")

    async with LocalCluster(home) as cluster:
        assert "stale" not in cluster.kubeconfig.read_text()
        assert not (home / "pods" / "uid").exists()
