"""What a cluster with a journal has answered with success is there again, however it ended."""

import asyncio
import signal
from pathlib import Path

from kubernetes.aio import client, config

from tests.cli.process import DEADLINE, line_of, running

ROUNDS = 2


async def api_of(home: Path) -> client.ApiClient:
    settings = client.Configuration()
    await config.load_kube_config(str(home / "kubeconfig"), client_configuration=settings)
    return client.ApiClient(settings)


async def write_until_cut_off(home: Path, start: int) -> list[str]:
    """Create config maps for as long as the cluster answers; the names of those that it said it has."""
    said: list[str] = []

    async def write(core: client.CoreV1Api, worker: int) -> None:
        for number in range(10_000):
            name = f"c-{start}-{worker}-{number}"
            await core.create_namespaced_config_map("default", {"metadata": {"name": name}})
            said.append(name)

    async with await api_of(home) as connection:
        core = client.CoreV1Api(connection)
        await asyncio.gather(*(write(core, worker) for worker in range(4)), return_exceptions=True)
    return said


async def test_nothing_that_was_answered_is_lost_when_the_cluster_is_killed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    expected: list[str] = []
    for number in range(ROUNDS + 1):
        async with running("local", "up", "--home", str(home), "--keep", home=tmp_path) as process:
            await line_of(process, "ready ")
            async with await api_of(home) as connection:
                found = await client.CoreV1Api(connection).list_namespaced_config_map("default")
            names = {item.metadata.name for item in found.items}
            assert set(expected) <= names
            if number == ROUNDS:
                return
            writing = asyncio.create_task(write_until_cut_off(home, number))
            before = (home / "journal").stat().st_size
            async with asyncio.timeout(DEADLINE):
                while (home / "journal").stat().st_size < before + 20_000:  # noqa: ASYNC110 (another process writes it)
                    await asyncio.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            expected += await writing
            await process.wait()
    assert len(expected) > ROUNDS


async def test_without_the_option_nothing_is_kept(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for _ in range(2):
        async with running("local", "up", "--home", str(home), home=tmp_path) as process:
            await line_of(process, "ready ")
            async with await api_of(home) as connection:
                core = client.CoreV1Api(connection)
                assert not (await core.list_namespaced_config_map("default")).items
                await core.create_namespaced_config_map("default", {"metadata": {"name": "a"}})
            process.terminate()
            assert await process.wait() == 0
    assert not (home / "journal").exists()
