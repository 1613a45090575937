"""Clusters for the verbs: the variable KUBECONFIG selects them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import Cluster


@pytest.fixture
def scripted_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """The embedded API server with the CRDs. Its applications follow a script; its default namespace is `jobs`.

    It runs on its own thread, so that a test can call `main`, which runs its own event loop, or start a process.
    """
    with Cluster().serve() as cluster:
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps(cluster.kubeconfig))
        monkeypatch.setenv("KUBECONFIG", str(path))
        yield cluster
