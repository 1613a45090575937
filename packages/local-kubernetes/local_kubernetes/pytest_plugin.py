"""A pytest plugin with the fixture `local_kubernetes`: a cluster for one test.

Pytest loads this module wherever the package is installed, so it must not import slow modules.
"""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .cluster import LocalCluster


@pytest.fixture
def local_kubernetes() -> "Iterator[LocalCluster]":
    """A cluster that runs until the end of the test; clients need its `kubeconfig`.

    The cluster runs on its own thread, so tests can use blocking and asynchronous clients.
    """
    from .home import create_temporary_home
    from .thread import run_cluster

    with create_temporary_home() as home, run_cluster(home) as cluster:
        yield cluster
