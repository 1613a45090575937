"""Record what a release stores: `python -m tests.releases.record tests/releases/VERSION`.

It uses public classes and the command line, so that it also runs with the sources of another release: set PYTHONPATH.
"""

import gzip
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.airflow_compat import serialize
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from airflow_provider_spark_operator.operators.spark_cluster import SparkClusterOperator
from airflow_provider_spark_operator.sensors.spark_application import SparkApplicationSensor
from airflow_provider_spark_operator.sensors.spark_cluster import SparkClusterSensor
from airflow_provider_spark_operator.testing.cluster import ScriptedCluster
from airflow_provider_spark_operator.testing.plugin import connect
from airflow_provider_spark_operator.testing.tasks import TaskInstance, defer, fire, reload
from airflow_provider_spark_operator.triggers.spark_application_event import SparkApplicationEventTrigger

SPARK_CLUSTER: dict[str, Any] = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkCluster",
    "metadata": {"namespace": "jobs"},
    "spec": {
        "runtimeVersions": {"sparkVersion": "4.3.0"},
        "clusterTolerations": {"instanceConfig": {"initWorkers": 2, "minWorkers": 2, "maxWorkers": 2}},
        "sparkConf": {"spark.kubernetes.container.image": "apache/spark:4.3.0"},
    },
}


def build_operators() -> dict[str, Any]:
    """Return one task of each kind that defers."""
    own: dict[str, Any] = {"kubernetes_conn_id": "spark", "deferrable": True}
    return {
        "application": SparkApplicationOperator(
            task_id="application",
            name="pi",
            py_file="local:///pi.py",
            image="spark:4.3.0",
            spark_version="4.3.0",
            **own,
        ),
        "cluster": SparkClusterOperator(task_id="cluster", name="shared", cluster=SPARK_CLUSTER, **own),
        "application_sensor": SparkApplicationSensor(task_id="application_sensor", name="pi", **own),
        "cluster_sensor": SparkClusterSensor(task_id="cluster_sensor", name="shared", **own),
    }


def record() -> dict[str, Any]:
    """Return the deferred tasks with their triggers, XComs and events, and the resources in the cluster."""
    deferred: dict[str, Any] = {}
    with ScriptedCluster().serve() as cluster, pytest.MonkeyPatch.context() as patch:
        connect(patch, "spark", cluster)
        for name, operator in build_operators().items():
            task_instance = TaskInstance(name)
            deferral = defer(operator, task_instance)
            path, arguments = deferral.trigger.serialize()
            deferred[name] = {
                "trigger": {"path": path, "arguments": serialize(arguments)},
                "event": fire(reload(deferral.trigger)),
                "method": deferral.method_name,
                "xcoms": task_instance.xcoms,
            }
        path, arguments = SparkApplicationEventTrigger("jobs", kubernetes_conn_id="spark").serialize()
        deferred["watcher"] = {"trigger": {"path": path, "arguments": serialize(arguments)}}
        resources = [*cluster.applications(), *cluster.spark_clusters()]
    return {"deferred": deferred, "resources": resources}


PROGRAM = "from pyspark.sql import SparkSession\nprint(SparkSession.builder.getOrCreate().range(7).count())\n"
COMMAND = "import sys; from airflow_provider_spark_operator.cli import main; sys.argv[0] = 'spark-operator'; main()"
IMAGE = ("--image", "apache/spark:4.3.0", "--spark-version", "4.3.0")


def record_journal() -> bytes:
    """Return the journal of a local cluster with an ended application, a held one, and a held SparkCluster."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "count.py").write_text(PROGRAM, encoding="utf-8")
        held = {**SPARK_CLUSTER, "metadata": {"name": "shared"}, "spec": {**SPARK_CLUSTER["spec"], "suspend": True}}
        (folder / "shared.json").write_text(json.dumps(held), encoding="utf-8")
        environment = os.environ | {"KUBECONFIG": str(folder / "kubeconfig")}

        def run(*words: str) -> None:
            subprocess.run([sys.executable, "-c", COMMAND, *words], cwd=folder, env=environment, check=True)

        up = ("local", "up", "--keep", "--home", "home", "--kubeconfig", "kubeconfig")
        with subprocess.Popen([sys.executable, "-c", COMMAND, *up], cwd=folder, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            run("submit", "count.py", "--name", "ended", *IMAGE, "--ttl", "36500d", "--follow")
            run("submit", "count.py", "--name", "held", *IMAGE, "--set", "spec.suspend=true")
            run("cluster", "create", "shared.json")
            process.send_signal(signal.SIGTERM)
        return (folder / "home" / "journal").read_bytes()


def main(folder: Path) -> None:
    """Write the files of a release."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "airflow.json").write_text(json.dumps(record(), indent=1, default=str) + "\n", encoding="utf-8")
    (folder / "journal.gz").write_bytes(gzip.compress(record_journal(), mtime=0))
    with tarfile.open(folder / "chart.tgz", "w:gz") as archive:
        archive.add(Path("charts") / "spark-operator", "spark-operator")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
