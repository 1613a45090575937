"""Fixtures that several folders share. Importing this module imports no Airflow: pure tests stay fast."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
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

_AIRFLOW_HOME = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """Give each test process (each worker of pytest-xdist is one) an Airflow of its own, before any import."""
    home = Path(tempfile.mkdtemp(prefix="airflow-home-"))
    config.stash[_AIRFLOW_HOME] = home
    (home / "dags").mkdir()
    for name in [name for name in os.environ if name.startswith(("AIRFLOW_", "KUBECONFIG"))]:
        del os.environ[name]
    os.environ |= {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
    }


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave nothing behind."""
    shutil.rmtree(config.stash[_AIRFLOW_HOME], ignore_errors=True)


@pytest.fixture(scope="session")
def airflow_database() -> None:
    """Airflow's metadata database, made once per test process: what `dag.test()` needs."""
    from airflow.utils.db import initdb

    initdb()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> "Iterator[Cluster]":
    """A cluster whose applications do what a test tells them; Airflow's connection `spark` leads to it."""
    from tests.cluster import Cluster

    with Cluster().running() as cluster:
        document = {"conn_type": "kubernetes", "extra": {"kube_config": cluster.kubeconfig}}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps(document))
        yield cluster


@pytest.fixture
def dags_folder(request: pytest.FixtureRequest) -> Iterator[Path]:
    """The DAG folder of this process's Airflow; emptied after the test."""
    folder = request.config.stash[_AIRFLOW_HOME] / "dags"
    yield folder
    shutil.rmtree(folder)
    folder.mkdir()
