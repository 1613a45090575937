"""A pytest plugin: the fixture `local_kubernetes`, a cluster for one test.

Pytest loads this module wherever the package is installed, so it imports nothing that takes time.
"""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_kubernetes.cluster import LocalCluster


@pytest.fixture
def local_kubernetes() -> "Iterator[LocalCluster]":
    """A cluster that runs until the end of the test; `kubeconfig` is the file that clients need.

    The cluster runs on a thread of its own: tests can use blocking and asynchronous clients.
    """
    from local_kubernetes.home import temporary_home
    from local_kubernetes.thread import run_cluster

    with temporary_home() as home, run_cluster(home) as cluster:
        yield cluster
