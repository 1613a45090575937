"""A pytest plugin: fixtures for tests of DAGs that run Spark applications.

`spark_cluster` is a cluster whose applications follow a script. Airflow's connection `kubernetes_default` connects to
it. `run_spark_dag` runs a whole DAG, which needs a database: `spark_own_airflow = true` in the configuration of pytest
creates a separate Airflow home with a database for the tests.

pytest loads this module wherever the package is installed. The module therefore imports nothing that loads slowly.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from datetime import datetime

    from airflow.models.dagrun import DagRun
    from airflow.sdk import DAG

    from .cluster import ScriptedCluster

__all__ = ["airflow_database", "dags_folder", "run_spark_dag", "spark_cluster"]

OPTION = "spark_own_airflow"
_HOME = pytest.StashKey[Path]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `spark_own_airflow`."""
    text = "create a separate Airflow for the tests: an empty AIRFLOW_HOME, a database, no example DAGs"
    parser.addini(OPTION, text, type="bool", default=False)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Create a separate Airflow home for each test process, or worker of pytest-xdist, before Airflow is imported."""
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
    """Delete the Airflow home of the tests."""
    if _HOME in config.stash:
        shutil.rmtree(config.stash[_HOME], ignore_errors=True)


@pytest.fixture(scope="session")
def airflow_database(pytestconfig: pytest.Config) -> None:
    """The database of the separate Airflow of the tests, created once per test process.

    The fixture needs the setting `spark_own_airflow = true` in pytest's configuration.
    """
    if _HOME not in pytestconfig.stash:
        pytest.fail(
            f"{OPTION} is off: the tests must not use the database of another Airflow. "
            f"Set {OPTION} = true in pytest's configuration"
        )
    from airflow.utils.db import initdb

    initdb()


@pytest.fixture
def dags_folder(pytestconfig: pytest.Config, airflow_database: None) -> Iterator[Path]:  # noqa: ARG001 - used by name
    """The DAG folder of the separate Airflow of the tests. It is emptied after each test."""
    folder = pytestconfig.stash[_HOME] / "dags"
    yield folder
    shutil.rmtree(folder)
    folder.mkdir()


@pytest.fixture
def spark_cluster(monkeypatch: pytest.MonkeyPatch) -> "Iterator[ScriptedCluster]":
    """A `ScriptedCluster`, to which the connection `kubernetes_default` connects."""
    try:
        from .cluster import ScriptedCluster
    except ModuleNotFoundError as error:
        if error.name != "local_kubernetes":
            raise
        from ..core.spark.installation import advise_installation

        pytest.fail(f"spark_cluster needs local-kubernetes: {advise_installation('testing')}")

    with ScriptedCluster().serve() as cluster:
        connect(monkeypatch, "kubernetes_default", cluster)
        yield cluster


class RunSparkDag(Protocol):
    """The function that the fixture `run_spark_dag` provides."""

    def __call__(
        self,
        file: "str | os.PathLike[str]",
        dag_id: str | None = None,
        *,
        logical_date: "datetime | None" = None,
        conf: dict[str, Any] | None = None,
    ) -> "DagRun":
        """Run one DAG of a file and return the DAG run."""
        ...


@pytest.fixture
def run_spark_dag(dags_folder: Path) -> RunSparkDag:
    """A function that runs one DAG of a file and returns the DAG run. Tasks and triggers run in this process.

    Airflow parses the file as it does in production: it finds DAGs of `with DAG(...)`, with or without `as dag`, and
    DAGs of `@dag`. The function copies the whole folder of the file into the DAG folder, so that the DAG finds the
    files next to it.

    The function takes the path of the file, and the `dag_id`, which is needed if the file has several DAGs. Its keyword
    arguments are the `logical_date` (now by default) and the `conf` of the run. It raises ValueError if the file cannot
    be imported or does not contain the DAG. It also raises ValueError if the file has several DAGs, and `dag_id` is not
    given.
    """

    def run(
        file: "str | os.PathLike[str]",
        dag_id: str | None = None,
        *,
        logical_date: "datetime | None" = None,
        conf: dict[str, Any] | None = None,
    ) -> Any:
        path = Path(file)
        shutil.copytree(path.parent, dags_folder, dirs_exist_ok=True)
        dag = _parse_dag(dags_folder / path.name, dags_folder, dag_id)
        if logical_date is None:
            return dag.test(run_conf=conf)
        return dag.test(logical_date=logical_date, run_conf=conf)

    return run


def _parse_dag(file: Path, folder: Path, dag_id: str | None) -> "DAG":
    from ..airflow_compat import load_dag_bag

    bag = load_dag_bag(file, folder)
    if bag.import_errors:
        raise ValueError(f"could not import {file.name}: {next(iter(bag.import_errors.values()))}")
    found = ", ".join(sorted(bag.dags)) or "none"
    if dag_id is None and len(bag.dags) != 1:
        raise ValueError(
            f"{file.name} does not contain exactly one DAG. Select a DAG: run_spark_dag(file, dag_id). "
            f"DAGs in the file: {found}"
        )
    dag = bag.dags.get(dag_id or found)
    if dag is None:
        raise ValueError(f"there is no DAG {dag_id!r} in {file.name}. DAGs in the file: {found}")
    return dag


def connect(monkeypatch: pytest.MonkeyPatch, conn_id: str, cluster: "ScriptedCluster") -> None:
    """Let an Airflow connection connect to the cluster until the end of the test.

    Args:
        monkeypatch: The fixture of pytest.
        conn_id: Id of the connection.
        cluster: The cluster.
    """
    document = {"conn_type": "kubernetes", "extra": {"kube_config": cluster.kubeconfig}}
    monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps(document))
