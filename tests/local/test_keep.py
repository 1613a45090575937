"""A cluster with a journal restores every object whose write it confirmed, however the cluster ended."""

import asyncio
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

from kubernetes.aio import client, config

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import SERVICE_ACCOUNTS
from local_kubernetes.cluster import LocalCluster
from tests.cli.process import DEADLINE, read_line, start_command, wait_for_exit

ROUNDS = 2


async def open_api(home: Path) -> client.ApiClient:
    settings = client.Configuration()
    await config.load_kube_config(str(home / "kubeconfig"), client_configuration=settings)
    return client.ApiClient(settings)


async def write_until_cut_off(home: Path, start: int) -> list[str]:
    """Create config maps while the cluster answers. Return the names that it confirmed."""
    confirmed: list[str] = []

    async def write(core: client.CoreV1Api, worker: int) -> None:
        for number in range(10_000):
            name = f"c-{start}-{worker}-{number}"
            await core.create_namespaced_config_map("default", {"metadata": {"name": name}})
            confirmed.append(name)

    async with await open_api(home) as connection:
        core = client.CoreV1Api(connection)
        await asyncio.gather(*(write(core, worker) for worker in range(4)), return_exceptions=True)
    return confirmed


def measure_log(home: Path) -> int:
    """Return the size in bytes of the file that each change is appended to; the first change creates it."""
    log = home / "journal-wal"
    return log.stat().st_size if log.exists() else 0


async def test_confirmed_writes_survive_a_killed_cluster(tmp_path: Path) -> None:
    home = tmp_path / "home"
    expected: list[str] = []
    for number in range(ROUNDS + 1):
        async with start_command("local", "up", "--home", str(home), "--keep", home=tmp_path) as process:
            await read_line(process, "ready ")
            async with await open_api(home) as connection:
                found = await client.CoreV1Api(connection).list_namespaced_config_map("default")
            names = {item.metadata.name for item in found.items}
            assert set(expected) <= names
            if number == ROUNDS:
                return
            writing = asyncio.create_task(write_until_cut_off(home, number))
            before = measure_log(home)
            async with asyncio.timeout(DEADLINE):
                while measure_log(home) < before + 100_000:  # noqa: ASYNC110 (another process writes it)
                    await asyncio.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            expected += await writing
            await process.wait()
    assert len(expected) > ROUNDS


async def test_objects_are_not_kept_without_keep(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for _ in range(2):
        async with start_command("local", "up", "--home", str(home), home=tmp_path) as process:
            await read_line(process, "ready ")
            async with await open_api(home) as connection:
                core = client.CoreV1Api(connection)
                assert not (await core.list_namespaced_config_map("default")).items
                await core.create_namespaced_config_map("default", {"metadata": {"name": "a"}})
            process.terminate()
            assert await process.wait() == 0
    assert not (home / "journal").exists()


async def test_damaged_journal_refuses_to_start_until_it_is_repaired(tmp_path: Path) -> None:
    home = tmp_path / "home"
    words = ("local", "up", "--home", str(home), "--keep")
    async with start_command(*words, home=tmp_path) as process:
        await read_line(process, "ready ")
        async with await open_api(home) as connection:
            for name in ("first", "second", "third"):
                core = client.CoreV1Api(connection)
                await core.create_namespaced_config_map("default", {"metadata": {"name": name}})
        process.terminate()
        assert await process.wait() == 0
    journal = home / "journal"
    damaged = journal.read_bytes().replace(b'"name":"second"', b'"name":"sekond"')
    assert journal.read_bytes() != damaged
    journal.write_bytes(damaged)

    async with start_command(*words, home=tmp_path) as process:
        exit_code, out, err = await wait_for_exit(process)
    assert (exit_code, out) == (ExitCode.INFRASTRUCTURE_FAILED, "")
    assert f"journal {journal}: the record of 'configmaps default/second' does not match its checksum" in err
    assert "--repair" in err
    assert err.count("\n") == 1
    assert journal.read_bytes() == damaged

    async with start_command(*words, "--repair", home=tmp_path) as process:
        await read_line(process, "ready ")
        async with await open_api(home) as connection:
            found = await client.CoreV1Api(connection).list_namespaced_config_map("default")
        assert {item.metadata.name for item in found.items} >= {"first", "third"}
        process.terminate()
        _, _, err = await wait_for_exit(process)
    assert "dropped: the record of 'configmaps default/second'" in err
    assert (home / "journal.damaged-1").read_bytes() == damaged


async def test_foreign_journal_refuses_to_start_and_stays(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "lock").write_text("")
    (home / "journal").write_text("dear diary")
    for words in ((), ("--repair",)):
        async with start_command("local", "up", "--home", str(home), "--keep", *words, home=tmp_path) as process:
            exit_code, _, err = await wait_for_exit(process)
        assert exit_code == ExitCode.INFRASTRUCTURE_FAILED
        assert "contains no intact record" in err
        assert (home / "journal").read_text() == "dear diary"


async def test_start_restores_a_missing_service_account(tmp_path: Path) -> None:
    async with LocalCluster(tmp_path / "home", keep=True) as cluster:
        journal = cluster.home / "journal"
    with closing(sqlite3.connect(journal)) as database, database:
        database.execute("DELETE FROM objects WHERE name = 'serviceaccounts default/default'")
    async with (
        LocalCluster(tmp_path / "home", keep=True) as cluster,
        await open_client(ClusterAccess(kubeconfig=cluster.kubeconfig)) as connection,
    ):
        assert await connection.get(SERVICE_ACCOUNTS, "default", "default")
