"""A cluster starts from a repaired journal, whichever object was damaged."""

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from local_kubernetes.api.kinds.kinds import CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS, Kind
from local_kubernetes.cluster import JOURNAL, LocalCluster

from api.builders import build_definition, build_thing
from client import Client, open_client

THINGS = Kind("example.com", "things", "Thing")


def build_config_map(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


async def fill(client: Client) -> None:
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}, None)
    await client.create(CONFIG_MAPS, build_config_map("kept"), "team")
    await client.create(THINGS, build_thing("kept"), "team")


def open_cluster(home: Path, *, repair: bool = False) -> LocalCluster:
    return LocalCluster(home, [build_definition()], keep=True, repair=repair)


async def create_journal(home: Path) -> list[tuple[int, str]]:
    """Return the numbers and names of the rows of a journal with objects of a user."""
    async with open_cluster(home) as cluster, open_client(cluster.kubeconfig) as client:
        await fill(client)
    with closing(sqlite3.connect(home / JOURNAL)) as connection:
        return connection.execute("SELECT id, name FROM objects").fetchall()


async def test_cluster_starts_and_is_usable_after_a_repair_of_any_object(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home = tmp_path / "home"
    rows = await create_journal(home)
    content = (home / JOURNAL).read_bytes()
    for number, name in rows:
        caplog.clear()
        (home / JOURNAL).write_bytes(content)
        with closing(sqlite3.connect(home / JOURNAL)) as connection, connection:
            connection.execute("UPDATE objects SET document = replace(document, '}', ']') WHERE id = ?", (number,))
        with caplog.at_level(logging.WARNING):
            async with open_cluster(home, repair=True) as cluster, open_client(cluster.kubeconfig) as client:
                names = {item["metadata"]["name"] for item in await client.list(NAMESPACES, None)}
                assert names == {"default", "kube-system", "team"}, name
                for namespace in names:
                    await client.get(SERVICE_ACCOUNTS, "default", namespace)
                    await client.create(CONFIG_MAPS, build_config_map("new"), namespace)
                await client.list(THINGS, None)
        assert f"dropped: the record of {name!r} does not match its checksum" in caplog.text
        restored = "namespace team did not exist, but contains objects (3)" in caplog.text
        assert restored == (name == "namespaces team")
