"""Builders of clusters from their differences to a minimal cluster."""

from collections.abc import Mapping
from typing import Any

from airflow_provider_spark_operator.core.cluster_resources.build import build_cluster
from airflow_provider_spark_operator.core.models.cluster import SparkCluster, parse_cluster

OPERATOR = "spark-kubernetes-operator"


def build_cluster_document(
    *,
    name: str = "cl",
    namespace: str = "jobs",
    init: int = 1,
    minimum: int = 1,
    maximum: int = 1,
    conf: Mapping[str, str] | None = None,
    version: str = "4.3.0",
    master: Mapping[str, Any] | None = None,
    worker: Mapping[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """Build a SparkCluster as the API returns it. `spec` adds and replaces fields by their camelCase names."""
    parts = {"masterSpec": master, "workerSpec": worker}
    return {
        "apiVersion": "spark.apache.org/v1",
        "kind": "SparkCluster",
        "metadata": {"name": name, "namespace": namespace, "uid": "00000000-0000-4000-8000-000000000002"},
        "spec": {
            "runtimeVersions": {"sparkVersion": version},
            "sparkConf": dict(conf or {}),
            "clusterTolerations": {
                "instanceConfig": {"initWorkers": init, "minWorkers": minimum, "maxWorkers": maximum}
            },
            **{key: dict(value) for key, value in parts.items() if value is not None},
            **spec,
        },
    }


def build_model(**modifiers: Any) -> SparkCluster:
    """Build the model of a SparkCluster from the same arguments."""
    return parse_cluster(build_cluster_document(**modifiers))


def build_documents(**modifiers: Any) -> dict[str, dict[str, Any]]:
    """Build the resources of a cluster, by kind and name (`StatefulSet/cl-master`), in the order of application."""
    documents = build_cluster(build_model(**modifiers), OPERATOR)
    return {f"{each['kind']}/{each['metadata']['name']}": each for each in documents}
