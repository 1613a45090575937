"""Every verb in pipes whose reader leaves, with an ASCII locale, NO_COLOR and a narrow terminal."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli.program.catalogue import VERBS
from tests.cli.forks import Forks
from tests.cluster import Cluster

MANIFEST = """\
apiVersion: spark.apache.org/v1
kind: SparkApplication
metadata: {name: new, annotations: {note: "é"}}
spec:
  pyFiles: local:///é.py
  runtimeVersions: {sparkVersion: "4.3.0"}
  sparkConf: {spark.kubernetes.container.image: spark:4.3.0}
"""
# The words of each verb that prints something and ends by itself; `pi` has ended, `new.yaml` is valid.
COMMANDS = {
    "list": "list -o wide",
    "status": "status pi",
    "describe": "describe pi",
    "compare": "compare pi pi",
    "roles": "roles",
    "events": "events pi",
    "timeline": "timeline pi",
    "top": "top",
    "report": "report",
    "wait": "wait pi",
    "logs": "logs pi",
    "submit": "submit new.yaml",
    "delete": "delete pi",
    "stop": "stop pi",
    "suspend": "suspend pi",
    "resume": "resume pi",
    "restart": "restart pi",
    "cleanup": "cleanup --older-than 0s --dry-run",
    "cluster create": "cluster create new.yaml",
    "cluster list": "cluster list",
    "cluster status": "cluster status x",
    "cluster scale": "cluster scale x 1",
    "cluster delete": "cluster delete x",
    "init": "init",
    "validate": "validate new.yaml",
    "render": "render new.yaml",
    "diff": "diff new.yaml",
    "explain": "explain sparkapplication.spec",
    "convert": "convert new.yaml",
    "local status": "local status --home home",
    "local down": "local down --home home",
    "local reset": "local reset --home home",
    "local images": "local images",
    "crds": "crds",
    "doctor": "doctor",
    "help": "help submit",
    "completion": "completion bash",
    "complete": "complete",
    "version": "version",
}
# These run until they are interrupted, start Spark, or need Airflow. Their help is piped instead.
LASTING = {"advise", "connect", "forward", "cluster forward", "local up", "local run", "local prepare", "reconcile"}


def test_every_verb_has_a_command() -> None:
    assert {verb.name for verb in VERBS} == COMMANDS.keys() | LASTING


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    forks = Forks({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
    yield forks
    forks.close()


@pytest.mark.parametrize("verb", [verb.name for verb in VERBS])
def test_verb_is_clean_if_the_reader_of_its_pipe_leaves(
    scripted_cluster: Cluster, forks: Forks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    scripted_cluster.create("pi")
    scripted_cluster.wait_for_end()
    (tmp_path / "new.yaml").write_text(MANIFEST, encoding="utf-8")
    words = COMMANDS.get(verb, f"{verb} --help").split()
    monkeypatch.chdir(tmp_path)
    home = str(tmp_path)
    environment = {**os.environ, "HOME": home, "TMPDIR": home, "LC_ALL": "C", "NO_COLOR": "1", "COLUMNS": "20"}
    _, _, error = forks.run(*words, environment=environment, is_read=False)
    assert error.isascii()
    assert not any(word in error for word in ("Traceback", "could not write", "Broken pipe", "internal error", "\x1b"))
