"""The definitions of Kueue, and a small Kueue that admits a Workload when a test calls it."""

from typing import Any

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    RESOURCE_FLAVORS,
    WORKLOAD_PRIORITY_CLASSES,
    WORKLOADS,
    ResourceType,
)
from tests.core.kueue.workloads import build_condition

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
FLAVOR = "spot"
KINDS = {WORKLOADS: "Namespaced", RESOURCE_FLAVORS: "Cluster", WORKLOAD_PRIORITY_CLASSES: "Cluster"}


def build_definition(kind: ResourceType, scope: str) -> JsonObject:
    version = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        **({"subresources": {"status": {}}} if kind is WORKLOADS else {}),
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": scope,
            "names": {"kind": kind.kind, "plural": kind.plural, "singular": kind.kind.lower()},
            "versions": [version],
        },
    }


async def install_kueue(client: KubeClient) -> None:
    """Install the definitions, and create a ResourceFlavor."""
    for kind, scope in KINDS.items():
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, build_definition(kind, scope), None)
    await create_flavor(client)


async def create_flavor(client: KubeClient) -> None:
    flavor = {"apiVersion": RESOURCE_FLAVORS.api_version, "kind": "ResourceFlavor", "metadata": {"name": FLAVOR}}
    spec = {"nodeLabels": {"pool": "spot"}, "tolerations": [{"key": "spot", "operator": "Exists"}]}
    await client.create(RESOURCE_FLAVORS, {**flavor, "spec": spec}, None)


async def get_workload(client: KubeClient, namespace: str, name: str = "sparkapplication-pi") -> JsonObject:
    return await client.get(WORKLOADS, name, namespace)


async def write_status(client: KubeClient, workload: JsonObject, *conditions: dict[str, str], **status: Any) -> None:
    metadata = workload["metadata"]
    patch = {"status": {"conditions": list(conditions), **status}}
    await client.patch(WORKLOADS, metadata["name"], metadata["namespace"], patch, subresource="status")


async def admit(client: KubeClient, workload: JsonObject) -> None:
    """Admit a Workload as Kueue does, with the flavor for all its pods."""
    assignments = [{"name": each["name"], "flavors": {"cpu": FLAVOR}} for each in workload["spec"]["podSets"]]
    admission = {"clusterQueue": "cluster-queue", "podSetAssignments": assignments}
    await write_status(
        client, workload, build_condition("QuotaReserved"), build_condition("Admitted"), admission=admission
    )


async def evict(client: KubeClient, workload: JsonObject, **status: Any) -> None:
    """Evict a Workload as Kueue does: the Workload keeps its quota."""
    evicted = build_condition("Evicted", reason="Preempted", message="Preempted by another workload")
    conditions = (build_condition("QuotaReserved"), build_condition("Admitted"), evicted)
    await write_status(client, workload, *conditions, **status)
