"""A cluster starts from a repaired journal, whichever record was damaged."""

import logging
from pathlib import Path

import pytest

from local_kubernetes.api.kinds import CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS, Kind
from local_kubernetes.cluster import JOURNAL, LocalCluster

from api.builders import build_definition, build_thing
from client import Client, open_client

THINGS = Kind("example.com", ("v1",), "things", "Thing")


def build_config_map(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


async def fill(client: Client) -> None:
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}, None)
    await client.create(CONFIG_MAPS, build_config_map("kept"), "team")
    await client.create(THINGS, build_thing("kept"), "team")


def open_cluster(home: Path, *, repair: bool = False) -> LocalCluster:
    return LocalCluster(home, [build_definition()], keep=True, repair=repair)


async def create_journal(home: Path) -> list[bytes]:
    """Return the lines of a journal with objects of a user."""
    async with open_cluster(home) as cluster, open_client(cluster.kubeconfig) as client:
        await fill(client)
    return (home / JOURNAL).read_bytes().splitlines(keepends=True)


def flip_bit(line: bytes) -> bytes:
    middle = len(line) // 2
    return line[:middle] + bytes([line[middle] ^ 1]) + line[middle + 1 :]


async def test_cluster_starts_and_is_usable_after_a_repair_of_any_record(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home = tmp_path / "home"
    lines = await create_journal(home)
    team = next(number for number, line in enumerate(lines) if b'["","namespaces"],["","team"]' in line)
    for number, line in enumerate(lines):
        caplog.clear()
        (home / JOURNAL).write_bytes(b"".join([*lines[:number], flip_bit(line), *lines[number + 1 :]]))
        with caplog.at_level(logging.WARNING):
            async with (
                open_cluster(home, repair=True) as cluster,
                open_client(cluster.kubeconfig) as client,
            ):
                names = {item["metadata"]["name"] for item in await client.list(NAMESPACES, None)}
                assert names == {"default", "kube-system", "team"}, number
                for name in names:
                    await client.get(SERVICE_ACCOUNTS, "default", name)
                    await client.create(CONFIG_MAPS, build_config_map("new"), name)
                await client.list(THINGS, None)
        assert f"dropped: record {number} at byte" in caplog.text
        assert ("namespace team did not exist, but contains objects (3)" in caplog.text) == (number == team)
