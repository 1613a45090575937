import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import STATEFUL_SETS
from airflow_provider_spark_operator.testing.spark_clusters import be_refused, stay_without_workers
from tests.cli.applications.test_forward import fetch, find_address
from tests.cli.pods_with_ports import serve_ports
from tests.cli.process import read_line, start_command, wait_for_exit
from tests.cli.verbs import Verbs
from tests.cluster import NAMESPACE, Cluster

MANIFEST: dict[str, Any] = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkCluster",
    "metadata": {"name": "analytics"},
    "spec": {
        "runtimeVersions": {"sparkVersion": "4.3.0"},
        "clusterTolerations": {"instanceConfig": {"initWorkers": 2, "minWorkers": 2, "maxWorkers": 2}},
        "sparkConf": {"spark.kubernetes.container.image": "spark:4.3.0"},
    },
}
NAME = "sparkcluster.spark.apache.org/analytics"


def write(folder: Path, **instances: int) -> str:
    """Write the manifest of a SparkCluster, and return the name of the file."""
    spec = {**MANIFEST["spec"]}
    if instances:
        spec["clusterTolerations"] = {"instanceConfig": instances}
    path = folder / "analytics.yaml"
    path.write_text(yaml.safe_dump({**MANIFEST, "spec": spec}))
    return str(path)


def create_stateful_set(cluster: Cluster, replicas: int) -> None:
    """Create the StatefulSet of the workers, as an operator does."""
    labels = {"spark.operator/spark-cluster-name": "analytics", "spark-role": "worker"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "worker", "image": "spark"}]}}
    document = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "analytics-worker", "namespace": NAMESPACE, "labels": labels},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }

    async def create() -> None:
        async with await open_client(ClusterAccess(kubeconfig_document=cluster.kubeconfig)) as client:
            await client.create(STATEFUL_SETS, document, NAMESPACE)

    asyncio.run(create())


def read_replicas(cluster: Cluster) -> object:
    """Return the number of workers in their StatefulSet."""

    async def read() -> object:
        async with await open_client(ClusterAccess(kubeconfig_document=cluster.kubeconfig)) as client:
            return (await client.get(STATEFUL_SETS, "analytics-worker", NAMESPACE))["spec"]["replicas"]

    return asyncio.run(read())


def test_create_waits_until_the_workers_are_ready(scripted_cluster: Cluster, tmp_path: Path, run_verb: Verbs) -> None:
    captured = run_verb(["cluster", "create", write(tmp_path), "--wait"])
    assert captured.out == f"{NAME} created\n"
    assert "master 1/1, workers 2/2 ready" in captured.err
    assert captured.err.endswith("SparkCluster jobs/analytics is ready\n")
    assert [one["metadata"]["name"] for one in scripted_cluster.spark_clusters()] == ["analytics"]


def test_create_reports_a_refused_cluster(scripted_cluster: Cluster, tmp_path: Path, run_verb: Verbs) -> None:
    scripted_cluster.cluster_script = be_refused
    error = run_verb(["cluster", "create", write(tmp_path), "--wait"], ExitCode.INFRASTRUCTURE_FAILED).err
    assert "SparkCluster jobs/analytics failed: a quota is exceeded" in error


def test_create_stops_waiting_after_the_timeout(scripted_cluster: Cluster, tmp_path: Path, run_verb: Verbs) -> None:
    scripted_cluster.cluster_script = stay_without_workers
    error = run_verb(["cluster", "create", write(tmp_path), "--wait", "--timeout", "1s"], ExitCode.TIMED_OUT).err
    assert "was not ready within 1s. The SparkCluster was not deleted" in error


@pytest.mark.usefixtures("scripted_cluster")
def test_create_refuses_an_existing_name(tmp_path: Path, run_verb: Verbs) -> None:
    path = write(tmp_path)
    assert main(["cluster", "create", path]) == ExitCode.SUCCESS
    assert "already exists" in run_verb(["cluster", "create", path], ExitCode.API_FAILED).err


@pytest.mark.usefixtures("scripted_cluster")
def test_create_refuses_other_kinds_and_invalid_clusters(tmp_path: Path, run_verb: Verbs) -> None:
    other = tmp_path / "pi.yaml"
    other.write_text("{apiVersion: spark.apache.org/v1, kind: SparkApplication, metadata: {name: pi}, spec: {}}")
    assert "must contain one SparkCluster" in run_verb(f"cluster create {other}", ExitCode.INVALID).err
    assert (
        "initWorkers"
        in run_verb(
            ["cluster", "create", write(tmp_path, initWorkers=-1, minWorkers=0, maxWorkers=1)], ExitCode.INVALID
        ).err
    )


@pytest.mark.usefixtures("scripted_cluster")
def test_list_and_status_show_ready_pods(tmp_path: Path, capsys: pytest.CaptureFixture[str], run_verb: Verbs) -> None:
    run_verb(["cluster", "create", write(tmp_path), "--wait"])
    assert main(["cluster", "list", "-A"]) == ExitCode.SUCCESS
    titles, row = (line.split() for line in capsys.readouterr().out.splitlines())
    assert titles == ["NAMESPACE", "NAME", "STATE", "MASTER", "WORKERS", "AGE"]
    assert row[:5] == ["jobs", "analytics", "RunningHealthy", "1/1", "2/2"]

    state, url = run_verb("cluster status analytics").out.splitlines()
    assert state.startswith("analytics: RunningHealthy, master 1/1, workers 2/2 ready, age ")
    assert url == "spark://analytics-master-svc.jobs.svc:7077"

    assert run_verb("cluster list -o name").out == f"{NAME}\n"


@pytest.mark.usefixtures("scripted_cluster")
def test_status_of_a_missing_cluster_is_an_api_failure(run_verb: Verbs) -> None:
    assert "SparkCluster analytics not found in" in run_verb("cluster status analytics", ExitCode.API_FAILED).err


def test_scale_changes_the_stateful_set_of_the_workers(
    scripted_cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    main(["cluster", "create", write(tmp_path), "--wait"])
    create_stateful_set(scripted_cluster, 2)
    capsys.readouterr()
    assert run_verb("cluster scale analytics 5").out == f"{NAME} scaled to 5 workers\n"
    assert read_replicas(scripted_cluster) == 5
    assert run_verb("cluster list").out.splitlines()[1].split()[3] == "2/5"
    assert run_verb("cluster scale analytics 1").out == f"{NAME} scaled to 1 worker\n"


@pytest.mark.usefixtures("scripted_cluster")
def test_scale_refuses_a_cluster_that_scales_automatically(tmp_path: Path, run_verb: Verbs) -> None:
    main(["cluster", "create", write(tmp_path, initWorkers=1, minWorkers=1, maxWorkers=3)])
    assert (
        "it scales automatically between 1 and 3 workers" in run_verb("cluster scale analytics 5", ExitCode.INVALID).err
    )


@pytest.mark.usefixtures("scripted_cluster")
def test_scale_of_a_cluster_without_workers_advises_to_wait(tmp_path: Path, run_verb: Verbs) -> None:
    main(["cluster", "create", write(tmp_path)])
    error = run_verb("cluster scale analytics 5", ExitCode.API_FAILED).err
    assert "its StatefulSet analytics-worker does not exist" in error


def test_delete_waits_and_names_a_missing_cluster(
    scripted_cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    main(["cluster", "create", write(tmp_path)])
    capsys.readouterr()
    captured = run_verb("cluster delete analytics other --wait", ExitCode.API_FAILED)
    assert captured.out == f"{NAME} deleted\n"
    assert "SparkCluster other not found in" in captured.err
    assert scripted_cluster.spark_clusters() == []


@pytest.mark.usefixtures("scripted_cluster")
async def test_forward_serves_the_web_interface_of_the_master(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    serve_ports(monkeypatch)
    async with start_command("cluster", "create", write(tmp_path), "--wait", home=tmp_path) as process:
        assert (await wait_for_exit(process))[0] == ExitCode.SUCCESS
    async with start_command("cluster", "forward", "analytics", "--port", "0", home=tmp_path) as process:
        line = await read_line(process, "Forwarding ")
        assert line.endswith("to the web interface of SparkCluster jobs/analytics")
        assert await fetch(find_address(line)) == "analytics-master-0:8080"
        process.send_signal(signal.SIGINT)
        code, _, _ = await wait_for_exit(process)
    assert code == ExitCode.SUCCESS


def test_status_prints_the_resource(
    scripted_cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    assert scripted_cluster.spark_clusters() == []
    main(["cluster", "create", write(tmp_path)])
    capsys.readouterr()
    assert run_verb("cluster status analytics -o name").out == f"{NAME}\n"
    assert yaml.safe_load(run_verb("cluster status analytics -o yaml").out)["kind"] == "SparkCluster"
