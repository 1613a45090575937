"""Fixtures that several folders share. This module does not import Airflow, so that pure tests start fast."""

import gc
import logging
import os
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from airflow_provider_spark_operator.airflow_version import INSTALLED, parse_version
from airflow_provider_spark_operator.testing.plugin import connect

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from tests.cluster import Cluster

# The duration of an example depends on the machine, so there is no deadline. A failure prints how to repeat it.
# Local runs draw new examples each time. Continuous integration draws the same examples each time, so that a rare
# failure does not stop an unrelated change.
settings.register_profile(
    "project",
    derandomize=os.environ.get("CI") == "true",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("project")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that needs a newer Airflow than the installed one: see `make airflow-versions`."""
    for marker in item.iter_markers("needs_airflow"):
        (required,) = marker.args
        if parse_version(INSTALLED) < parse_version(required):
            pytest.skip(f"needs Airflow {required}, but found {INSTALLED}")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> "Generator[None, object, object]":
    """Hide the imported modules and the tests from the garbage collector, which would search them again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> "Generator[None, object, object]":
    """Remove the log handlers and the secrets that a test leaves behind.

    A verb of the command line replaces all handlers. Airflow masks the values of each connection that it reads, and
    compiles one pattern of all values each time.
    """
    root = logging.getLogger()
    handlers = root.handlers[:]
    try:
        return (yield)
    finally:
        root.handlers[:] = handlers
        for name in ("airflow.sdk._shared.secrets_masker", "airflow._shared.secrets_masker"):
            if name in sys.modules:
                sys.modules[name].reset_secrets_masker()


@pytest.fixture(scope="session")
def airflow_database(airflow_database: None) -> None:
    """The database of the separate Airflow of the tests. Tasks of `dag.test()` share one execution API."""
    from tests.execution_api import share_execution_api

    share_execution_api()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> "Iterator[Cluster]":
    """A scripted cluster, to which the Airflow connection `spark` connects."""
    from tests.cluster import Cluster

    with Cluster().serve() as cluster:
        connect(monkeypatch, "spark", cluster)
        yield cluster
