"""The owner of a kubeconfig, which is checked before a cluster writes its own to the same path."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from local_kubernetes import kubeconfig
from local_kubernetes.api.server.tls import issue_identity
from local_kubernetes.kubeconfig import (
    UnusableKubeconfig,
    check_kubeconfig,
    find_home,
    publish_kubeconfig,
    render_kubeconfig,
)

COMMAND = "local-kubernetes up"


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A server that accepts connections and never answers, as a suspended cluster does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def write(folder: Path, server: str) -> Path:
    """Write a kubeconfig as a killed cluster leaves it."""
    source = folder / "source"
    source.write_text(render_kubeconfig(folder, server, issue_identity(folder).ca_file, "token"))
    copy = folder / "copy"
    with publish_kubeconfig(source, copy, COMMAND):
        text = copy.read_text()
    copy.write_text(text)
    return copy


def test_cluster_that_accepts_connections_without_an_answer_is_running(
    tmp_path: Path, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubeconfig, "ANSWER_SECONDS", 0.1)
    server = f"https://127.0.0.1:{listener.getsockname()[1]}"

    with pytest.raises(UnusableKubeconfig, match=f"belongs to the local cluster that runs at {server}"):
        check_kubeconfig(write(tmp_path, server), COMMAND)


def test_cluster_whose_port_is_closed_is_not_running(tmp_path: Path, listener: socket.socket) -> None:
    listener.close()

    check_kubeconfig(write(tmp_path, "https://127.0.0.1:1"), COMMAND)


@pytest.mark.parametrize(
    "document",
    [
        pytest.param("a: [", id="not YAML"),
        pytest.param("[]", id="not a mapping"),
        pytest.param("clusters: []", id="no cluster"),
        pytest.param("clusters: [{cluster: {server: 'https://127.0.0.1:x'}}]", id="invalid port"),
        pytest.param("clusters: [{cluster: {server: 5, certificate-authority-data: 5}}]", id="numbers"),
    ],
)
def test_damaged_kubeconfig_of_the_command_is_replaceable(tmp_path: Path, document: str) -> None:
    copy = tmp_path / "copy"
    copy.write_text(f"# Written by `{COMMAND}`\n{document}\n")

    check_kubeconfig(copy, COMMAND)


def test_copy_names_the_home_of_its_cluster(tmp_path: Path) -> None:
    copy = write(tmp_path, "https://127.0.0.1:1")
    assert find_home(copy) == find_home(copy, "https://127.0.0.1:1") == tmp_path
    assert find_home(copy, "https://127.0.0.1:2") is None


@pytest.mark.parametrize("text", ["", "a: [", "clusters: [{cluster: {}}]", "#" * 200_000])
def test_file_that_no_cluster_has_written_names_no_home(tmp_path: Path, text: str) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(text)

    assert find_home(file) is None
    assert find_home(tmp_path) is None


def test_another_machine_is_never_contacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = write(tmp_path, "https://192.0.2.1:6443")
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: pytest.fail("a connection was made"))

    check_kubeconfig(copy, COMMAND)


def test_publishing_refuses_the_file_of_a_cluster_that_started_meanwhile(
    tmp_path: Path, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubeconfig, "ANSWER_SECONDS", 0.1)
    copy = write(tmp_path, f"https://127.0.0.1:{listener.getsockname()[1]}")
    before = copy.read_text()

    with pytest.raises(UnusableKubeconfig, match="belongs to the local cluster"):
        publish_kubeconfig(tmp_path / "source", copy, COMMAND).__enter__()

    assert copy.read_text() == before
    assert yaml.safe_load(before)["current-context"] == "local"
