"""Objects of a cluster that verbs show: Events and metrics."""

import asyncio
from typing import Any

from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import EVENTS, ResourceType
from tests.cluster import NAMESPACE, Cluster

METRICS: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "pods.metrics.k8s.io"},
    "spec": {
        "group": "metrics.k8s.io",
        "names": {"plural": "pods", "singular": "pod", "kind": "PodMetrics", "listKind": "PodMetricsList"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1beta1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def record_event(cluster: Cluster, name: str, reason: str, *, time: str, about: dict[str, Any], **fields: Any) -> None:
    """Record an Event about an object, as a kubelet or an operator does."""
    metadata = about["metadata"]
    subject = {"kind": about["kind"], "name": metadata["name"], "uid": metadata["uid"], "namespace": NAMESPACE}
    document = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "involvedObject": subject,
        "reason": reason,
        "type": "Normal",
        "message": f"{reason} happened",
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
        **fields,
    }
    create_object(cluster, EVENTS, document)


def create_object(cluster: Cluster, kind: ResourceType, document: dict[str, Any]) -> None:
    """Create an object through the API, with its status if it has one."""

    async def create() -> None:
        async with await open_client(ClusterAccess(kubeconfig_document=cluster.kubeconfig)) as client:
            await client.create(kind, document, NAMESPACE)
            if "status" in document:
                name, patch = document["metadata"]["name"], {"status": document["status"]}
                await client.patch(kind, name, NAMESPACE, patch, subresource="status")

    asyncio.run(create())
