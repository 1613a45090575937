"""A pytest plugin: fixtures for tests of DAGs that run Spark applications.

`spark_cluster` is a cluster whose applications do as a script says; Airflow's connection `kubernetes_default` leads
to it. `run_spark_dag` runs a whole DAG. It needs a database, and so an Airflow of its own for the tests:
`spark_own_airflow = true` in pytest's configuration makes one for the time of the tests.

Whoever has the package installed has this module loaded by pytest: it imports nothing that takes time.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from airflow.models.dagrun import DagRun

    from airflow_provider_spark_operator.testing.cluster import ScriptedCluster

OPTION = "spark_own_airflow"
_HOME = pytest.StashKey[Path]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the option."""
    text = "give the tests an Airflow of their own: an empty AIRFLOW_HOME, a database, no example DAGs"
    parser.addini(OPTION, text, type="bool", default=False)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give each test process (each worker of pytest-xdist is one) an Airflow of its own, before any import."""
    if not config.getini(OPTION):
        return
    home = Path(tempfile.mkdtemp(prefix="airflow-home-"))
    config.stash[_HOME] = home
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
    if _HOME in config.stash:
        shutil.rmtree(config.stash[_HOME], ignore_errors=True)


@pytest.fixture(scope="session")
def airflow_database(pytestconfig: pytest.Config) -> None:
    """The database of the tests' own Airflow, made once per test process."""
    if _HOME not in pytestconfig.stash:
        pytest.fail(f"set {OPTION} = true in pytest's configuration: the database of another Airflow is left alone")
    from airflow.utils.db import initdb

    initdb()


@pytest.fixture
def dags_folder(pytestconfig: pytest.Config, airflow_database: None) -> Iterator[Path]:  # noqa: ARG001 - used by name
    """The DAG folder of the tests' own Airflow; emptied after the test."""
    folder = pytestconfig.stash[_HOME] / "dags"
    yield folder
    shutil.rmtree(folder)
    folder.mkdir()


@pytest.fixture
def spark_cluster(monkeypatch: pytest.MonkeyPatch) -> "Iterator[ScriptedCluster]":
    """A cluster whose applications do what a test tells them; `kubernetes_default` leads to it."""
    from airflow_provider_spark_operator.testing.cluster import ScriptedCluster

    with ScriptedCluster().running() as cluster:
        connect(monkeypatch, "kubernetes_default", cluster)
        yield cluster


@pytest.fixture
def run_spark_dag(dags_folder: Path) -> "Callable[[Path], DagRun]":
    """A function that runs the DAG of a file, tasks and triggers in this process, and gives back the DAG run.

    The whole folder of the file is copied into the DAG folder: the DAG finds what lies beside it.
    """

    def run(file: Path) -> Any:
        from runpy import run_path

        from airflow.sdk import DAG

        shutil.copytree(file.parent, dags_folder, dirs_exist_ok=True)
        names = run_path(str(dags_folder / file.name))
        (dag,) = {id(value): value for value in names.values() if isinstance(value, DAG)}.values()
        return dag.test()

    return run


def connect(monkeypatch: pytest.MonkeyPatch, conn_id: str, cluster: "ScriptedCluster") -> None:
    """Have Airflow's connection `conn_id` lead to the cluster, until the end of the test."""
    document = {"conn_type": "kubernetes", "extra": {"kube_config": cluster.kubeconfig}}
    monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps(document))
