"""Clusters for the verbs: the variable KUBECONFIG selects them."""

import importlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli.program.catalogue import VERBS
from airflow_provider_spark_operator.core.dialects.dialect import KUBEFLOW
from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from airflow_provider_spark_operator.testing.dialect_states import build_kubeflow_definition
from tests.cli.verbs import Verbs
from tests.cluster import Cluster

# pytest parses each module of the package when it is imported. If two threads parse at the same time, Python 3.11
# raises SystemError. The thread of a cluster may import modules while `main` imports the module of a verb.
for verb in VERBS:
    importlib.import_module(verb.module)


@pytest.fixture
def run_verb(capsys: pytest.CaptureFixture[str]) -> Verbs:
    return Verbs(capsys)


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


@pytest.fixture
def kubeflow_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A cluster that serves both API groups. Its scripts play Kubeflow's operator."""
    definitions = [*build_custom_resource_definitions(), build_kubeflow_definition()]
    with Cluster(definitions, dialect=KUBEFLOW).serve() as cluster:
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps(cluster.kubeconfig))
        monkeypatch.setenv("KUBECONFIG", str(path))
        yield cluster
