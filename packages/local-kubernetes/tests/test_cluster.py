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

from airflow_provider_spark_operator.crds import custom_resource_definitions
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import KubeError
from airflow_provider_spark_operator.kube.resources import PODS, SPARK_APPLICATIONS
from local_kubernetes.cluster import LocalCluster, LocalClusterError

from kubelet.pods import eventually_async, pod, shell
from kubelet.waiting import eventually, is_alive

RUN_A_POD = """
import asyncio, sys
from pathlib import Path
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import PODS
from local_kubernetes.cluster import LocalCluster
from kubelet.pods import pod, shell

async def main():
    async with LocalCluster(Path(sys.argv[1])) as cluster:
        async with await open_client(ClusterAccess(kubeconfig=cluster.kubeconfig)) as client:
            script = "sh -c 'echo $$$$; exec sleep 600' & echo $$$$; wait"
            await client.create(PODS, pod(shell(script)), "default")
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[LocalCluster]:
    async with LocalCluster(tmp_path / "home", custom_resource_definitions()) as running:
        yield running


@pytest.fixture
async def client(cluster: LocalCluster) -> AsyncIterator[KubeClient]:
    async with await open_client(ClusterAccess(kubeconfig=cluster.kubeconfig)) as opened:
        yield opened


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_the_home_is_private(cluster: LocalCluster) -> None:
    assert permissions(cluster.home) == 0o700
    assert permissions(cluster.kubeconfig) == 0o600


async def test_pods_run_and_their_logs_are_served(client: KubeClient) -> None:
    await client.create(PODS, pod(shell("echo one; echo two")), "default")

    async def ended() -> bool:
        found = await client.get(PODS, "it", "default")
        return bool(found["status"]["phase"] == "Succeeded")

    await eventually_async(ended)

    assert [line async for line in client.logs("default", "it")] == ["one", "two"]
    assert [line async for line in client.logs("default", "it", tail_lines=1, follow=True)] == ["two"]


async def test_the_given_definitions_are_served(client: KubeClient) -> None:
    assert (await client.list(SPARK_APPLICATIONS, "default")).items == []


async def test_a_wrong_token_is_refused(cluster: LocalCluster) -> None:
    text = await asyncio.to_thread(cluster.kubeconfig.read_text)
    other = cluster.home.parent / "kubeconfig"
    await asyncio.to_thread(other.write_text, "".join(_without_token(text)))

    async with await open_client(ClusterAccess(kubeconfig=other)) as stranger:
        with pytest.raises(KubeError, match=r"(?i)unauthorized"):
            await stranger.list(PODS, "default")


def _without_token(text: str) -> list[str]:
    return [
        line.partition("token:")[0] + "token: wrong\n" if "token:" in line else line
        for line in text.splitlines(keepends=True)
    ]


async def test_at_the_end_only_logs_and_the_cache_are_left(tmp_path: Path) -> None:
    async with (
        LocalCluster(tmp_path / "home") as cluster,
        await open_client(ClusterAccess(kubeconfig=cluster.kubeconfig)) as client,
    ):
        await client.create(PODS, pod(shell("sleep 600")), "default")
        await eventually(lambda: list(cluster.home.glob("logs/*/main/0.log")))

    assert {path.name for path in cluster.home.iterdir()} <= {"lock", "logs", "cache"}
    async with LocalCluster(tmp_path / "home"):
        pass


async def test_a_second_cluster_in_the_same_home_is_refused(cluster: LocalCluster) -> None:
    with pytest.raises(LocalClusterError, match=rf"another local cluster runs in .* \(process {os.getpid()}\)"):
        async with LocalCluster(cluster.home):
            pass
    assert cluster.kubeconfig.exists()


async def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").write_text("mine")

    with pytest.raises(LocalClusterError, match="is not empty and was not made by a local cluster"):
        async with LocalCluster(tmp_path):
            pass

    assert (tmp_path / "kubeconfig").read_text() == "mine"


async def test_a_home_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(LocalClusterError, match=r"a part of its path is a file, not a directory\. Choose another"):
        async with LocalCluster(tmp_path / "file" / "home"):
            pass


async def test_without_the_extra_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "local_kubernetes.api.tls"
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(LocalClusterError, match=r"pip install 'airflow-provider-spark-operator\[local\]'"):
        async with LocalCluster(tmp_path / "home"):
            pass


async def test_a_port_that_is_taken_is_one_sentence(cluster: LocalCluster, client: KubeClient, tmp_path: Path) -> None:
    port = int(client.server.rsplit(":", 1)[1])

    with pytest.raises(LocalClusterError, match=f"cannot listen on port {port}"):
        async with LocalCluster(tmp_path / "other", port=port):
            pass


def test_nothing_survives_a_kill_of_the_cluster(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with subprocess.Popen([sys.executable, "-c", RUN_A_POD, str(home)], cwd=Path(__file__).parent) as process:
        found: list[int] = []

        def both() -> Any:
            files = list(home.glob("logs/*/main/0.log"))
            found[:] = [int(line.split()[-1]) for line in files[0].read_text().splitlines()] if files else []
            return len(found) == 2 and all(is_alive(pid) for pid in found)

        asyncio.run(eventually(both))
        process.send_signal(signal.SIGKILL)
        process.wait()

    asyncio.run(eventually(lambda: not any(is_alive(pid) for pid in found)))


async def test_a_home_whose_cluster_was_killed_can_be_used_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "lock").write_text("1\n")
    (home / "pods" / "uid").mkdir(parents=True)
    (home / "kubeconfig").write_text("stale")

    async with LocalCluster(home) as cluster:
        assert "stale" not in cluster.kubeconfig.read_text()
        assert not (home / "pods" / "uid").exists()
