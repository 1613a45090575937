"""The output of the commands for a resource that is suspended or waits for Kueue."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.kube.resources import WORKLOADS
from airflow_provider_spark_operator.testing.applications import Application, Script
from airflow_provider_spark_operator.testing.spark_clusters import ScriptedSparkCluster
from local_kubernetes.api.kinds.kinds import CUSTOM_RESOURCE_DEFINITIONS
from tests.cli.cluster_objects import create_object
from tests.cli.clusters.test_cluster import MANIFEST
from tests.cli.verbs import Verbs
from tests.cluster import Cluster, stay_submitted

FULL = "couldn't assign flavors to pod set driver: insufficient unused quota for cpu in flavor default, 1 more needed"
PREEMPTED = "Preempted to accommodate a workload of higher priority"
QUEUE = {"kueue.x-k8s.io/queue-name": "team-a"}
KUEUE: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": WORKLOADS.qualified_name},
    "spec": {
        "group": WORKLOADS.group,
        "names": {"plural": "workloads", "singular": "workload", "kind": "Workload", "listKind": "WorkloadList"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": WORKLOADS.version,
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


async def queue(application: Application) -> None:
    application.report("KueueAdmissionPending", FULL)


async def be_evicted(application: Application) -> None:
    application.start()
    application.suspend("KueueEviction", PREEMPTED)


def create(cluster: Cluster, script: Script) -> dict[str, Any]:
    cluster.script = stay_submitted
    application = cluster.create("pi", labels=QUEUE)
    cluster.play(script)
    return application


def create_workload(cluster: Cluster, resource: dict[str, Any], label: str) -> None:
    """Create the Workload of a resource, which waits for quota."""
    kind, name = resource["kind"], resource["metadata"]["name"]
    owner = {"apiVersion": resource["apiVersion"], "kind": kind, "name": name, "controller": True}
    workload = {
        "apiVersion": WORKLOADS.api_version,
        "kind": "Workload",
        "metadata": {
            "name": f"{kind.lower()}-{name}",
            "labels": {label: name},
            "ownerReferences": [{**owner, "uid": resource["metadata"]["uid"]}],
        },
        "spec": {"active": True, "queueName": "team-a"},
        "status": {"conditions": [{"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": FULL}]},
    }
    create_object(cluster, WORKLOADS, workload)


def read(run_verb: Verbs, *words: str) -> str:
    return run_verb([*words]).out


def test_verbs_show_what_a_queued_application_waits_for(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    create(scripted_cluster, queue)
    wait = "it waits for Kueue admission in queue team-a"
    first, second, *_ = read(run_verb, "status", "pi").splitlines()
    assert first.startswith("pi: Submitted (queued), 0 of 2 executors running")
    assert second.startswith(f"Waiting: {wait}")
    assert second.endswith(FULL)
    described = read(run_verb, "describe", "pi")
    assert wait in described
    assert "Queue:" in described
    assert "Submitted (queued)" in read(run_verb, "list")
    assert "team-a" in read(run_verb, "list", "-o", "wide")


def test_verbs_show_that_kueue_has_evicted_an_application(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    create(scripted_cluster, be_evicted)
    status = read(run_verb, "status", "pi")
    assert status.startswith("pi: Suspended, attempt 1")
    assert "Waiting: Kueue has evicted it; it waits for another admission in queue team-a" in status
    assert PREEMPTED in status
    assert "attempt 1 suspended" in read(run_verb, "timeline", "pi")


def test_cause_comes_from_the_workload_if_it_may_be_read(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    application = create(scripted_cluster, stay_submitted)
    scripted_cluster.do(lambda: scripted_cluster.store.create(CUSTOM_RESOURCE_DEFINITIONS, None, KUEUE))
    create_workload(scripted_cluster, application, "spark.operator/spark-app-name")
    (line,) = [line for line in read(run_verb, "status", "pi").splitlines() if line.startswith("Waiting: ")]
    assert line.endswith(FULL)


async def stay_new(cluster: ScriptedSparkCluster) -> None:
    """Get no status."""


def create_cluster(cluster: Cluster, folder: Path, **spec: object) -> dict[str, Any]:
    """Create a SparkCluster in a queue without a status; return it."""
    cluster.cluster_script = stay_new
    path = folder / "cluster.yaml"
    metadata = {**MANIFEST["metadata"], "labels": QUEUE}
    path.write_text(yaml.safe_dump({**MANIFEST, "metadata": metadata, "spec": {**MANIFEST["spec"], **spec}}))
    assert main(["cluster", "create", str(path)]) == ExitCode.SUCCESS
    (created,) = cluster.spark_clusters()
    return created


def test_status_of_a_cluster_shows_what_it_waits_for(
    scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str], tmp_path: Path, run_verb: Verbs
) -> None:
    scripted_cluster.do(lambda: scripted_cluster.store.create(CUSTOM_RESOURCE_DEFINITIONS, None, KUEUE))
    create_workload(scripted_cluster, create_cluster(scripted_cluster, tmp_path), "spark.operator/spark-cluster-name")
    capsys.readouterr()
    (line,) = [line for line in read(run_verb, "cluster", "status", "analytics").splitlines() if "Waiting: " in line]
    assert line.startswith("Waiting: it waits for Kueue admission in queue team-a")
    assert line.endswith(FULL)


def test_status_of_a_held_cluster_explains_how_to_start_it(
    scripted_cluster: Cluster, run_verb: Verbs, tmp_path: Path
) -> None:
    create_cluster(scripted_cluster, tmp_path, suspend=True)
    expected = "Waiting: spec.suspend is true; set spec.suspend to false to start it"
    assert expected in read(run_verb, "cluster", "status", "analytics").splitlines()


def test_suspended_application_names_the_command_that_starts_it(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.script = stay_submitted
    scripted_cluster.create("pi")
    run_verb("suspend pi")
    advice = "Waiting: spec.suspend is true; run `spark-operator resume pi -n jobs` to start it"
    assert advice in read(run_verb, "status", "pi").splitlines()
    described = " ".join(read(run_verb, "describe", "pi").split())
    assert advice in described
    assert "Attempts: 0" in described
