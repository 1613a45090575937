"""Fixtures that several folders share. Importing this module imports no Airflow: pure tests stay fast."""

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from airflow_provider_spark_operator.testing.plugin import connect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster import Cluster

# How long an example takes says more about the machine than about the code; a failure tells how to repeat it.
# Whoever works on the code draws anew each time; a gate draws the same each time, so that a rare find stops no
# unrelated change.
settings.register_profile(
    "project",
    derandomize=os.environ.get("CI") == "true",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("project")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> "Iterator[Cluster]":
    """A cluster whose applications do what a test tells them; Airflow's connection `spark` leads to it."""
    from tests.cluster import Cluster

    with Cluster().serve() as cluster:
        connect(monkeypatch, "spark", cluster)
        yield cluster
