"""`spark-operator cluster` on a real API server and on the local one. No controller runs."""

import json
from pathlib import Path

import pytest
import yaml

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from tests.cli.clusters.test_cluster import MANIFEST
from tests.cli.process import run_command
from tests.contract.test_crds import server_with_definitions

from contract.conversation import Conversation
from control_plane import Server, build_kubeconfig

__all__ = ["server_with_definitions"]

NAME = "sparkcluster.spark.apache.org/analytics"


async def run(server: Server, namespace: str, folder: Path, *words: str) -> tuple[int | None, str, str]:
    """Run a verb of the group. Return its exit code, stdout and stderr."""
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(json.dumps(build_kubeconfig(server)))
    options = ("--kubeconfig", str(kubeconfig), "-n", namespace)
    return await run_command("cluster", *words, *options, home=folder)


async def test_spark_cluster_is_created_scaled_and_deleted(
    server: Server, server_with_definitions: Conversation, tmp_path: Path
) -> None:
    if server.token is None:
        pytest.skip("the server of CONTRACT_KUBECONFIG has no token")
    conversation = server_with_definitions
    manifest = tmp_path / "analytics.yaml"
    manifest.write_text(yaml.safe_dump(MANIFEST))
    place = (server, conversation.namespace, tmp_path)
    assert await run(*place, "create", str(manifest)) == (ExitCode.SUCCESS, f"{NAME} created\n", "")
    code, _, err = await run(*place, "scale", "analytics", "3")
    assert (code, "its StatefulSet analytics-worker does not exist" in err) == (ExitCode.API_FAILED, True)
    labels = {"spark.operator/spark-cluster-name": "analytics"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "worker", "image": "spark"}]}}
    workers = {
        "metadata": {"name": "analytics-worker", "labels": labels},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": pod},
    }
    await conversation.create(conversation.path("statefulsets", "apps/v1"), workers)
    code, out, err = await run(*place, "scale", "analytics", "3")
    assert (code, out) == (ExitCode.SUCCESS, f"{NAME} scaled to 3 workers\n"), err
    code, out, err = await run(*place, "list")
    assert (code, out.splitlines()[1].split()[:4]) == (ExitCode.SUCCESS, ["analytics", "New", "0/1", "0/3"]), err
    code, out, err = await run(*place, "delete", "analytics", "--wait")
    assert (code, out) == (ExitCode.SUCCESS, f"{NAME} deleted\n"), err
