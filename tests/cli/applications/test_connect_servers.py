"""Spark Connect servers of Kubeflow's operator in `list` and `describe`."""

import asyncio
import os
from typing import Any

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, ResourceType
from tests.cli.verbs import Verbs
from tests.cluster import NAMESPACE, Cluster

KIND = ResourceType("sparkoperator.k8s.io", "v1alpha1", "sparkconnects", "SparkConnect")
SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "sparkconnects.sparkoperator.k8s.io"},
    "spec": {
        "group": KIND.group,
        "names": {"plural": KIND.plural, "kind": KIND.kind, "singular": "sparkconnect", "listKind": "SparkConnectList"},
        "scope": "Namespaced",
        "versions": [{"name": KIND.version, "served": True, "storage": True, "schema": SCHEMA}],
    },
}
SERVER: dict[str, Any] = {
    "apiVersion": KIND.api_version,
    "kind": KIND.kind,
    "metadata": {"name": "analytics", "labels": {"team": "a"}},
    "status": {
        "state": "Ready",
        "server": {"podName": "analytics-server"},
        "conditions": [{"type": "ServerPodReady", "message": "Server is ready"}],
    },
}


@pytest.fixture
def served(kubeflow_cluster: Cluster) -> Cluster:
    async def create() -> None:
        async with await open_client(ClusterAccess(kubeconfig=os.environ["KUBECONFIG"])) as client:
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, DEFINITION, None)
            await client.create(KIND, SERVER, NAMESPACE)

    asyncio.run(create())
    return kubeflow_cluster


def test_list_shows_servers_below_the_applications(served: Cluster, run_verb: Verbs) -> None:
    served.create("pi")
    out, err = run_verb("list")
    before, _, after = out.partition("Spark Connect servers of Kubeflow's operator:\n")
    assert "pi" in before
    assert [line.split()[:3] for line in after.splitlines()] == [
        ["NAME", "STATE", "SERVER"],
        ["analytics", "Ready", "analytics-server"],
    ]
    assert err == ""


@pytest.mark.usefixtures("served")
def test_list_selects_servers_by_labels_and_namespace(run_verb: Verbs) -> None:
    assert run_verb("list -A -l team=a").out.splitlines()[-1].split()[:2] == [NAMESPACE, "analytics"]
    assert "analytics" not in run_verb("list -l team=b").out
    assert "analytics" not in run_verb("list --state running").out


@pytest.mark.usefixtures("served")
def test_describe_shows_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "analytics"]) == ExitCode.SUCCESS
    pairs = dict(line.split(":", 1) for line in capsys.readouterr().out.splitlines())
    shown = {name: pairs[name].strip() for name in ("Name", "State", "Server", "Kind", "Message")}
    assert shown == {
        "Name": "analytics",
        "State": "Ready",
        "Server": "analytics-server",
        "Kind": "SparkConnect",
        "Message": "Server is ready",
    }


@pytest.mark.usefixtures("served")
def test_missing_name_is_still_an_error(run_verb: Verbs) -> None:
    assert "new not found" in run_verb("describe new", ExitCode.API_FAILED).err
