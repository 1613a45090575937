"""Builds all objects of a SparkCluster, in the order in which they are applied."""

from airflow_provider_spark_operator.core.cluster_resources.autoscaler import build_autoscaler
from airflow_provider_spark_operator.core.cluster_resources.frame import Frame
from airflow_provider_spark_operator.core.cluster_resources.protection import (
    build_disruption_budget,
    build_network_policy,
)
from airflow_provider_spark_operator.core.cluster_resources.services import build_master_service, build_worker_service
from airflow_provider_spark_operator.core.cluster_resources.shape import find_building_problems
from airflow_provider_spark_operator.core.cluster_resources.stateful_sets import (
    build_master_stateful_set,
    build_worker_stateful_set,
)
from airflow_provider_spark_operator.core.kubernetes.identity import CLUSTER_IDENTITY, find_name_problem
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource
from airflow_provider_spark_operator.core.models.cluster import SparkCluster


def build_cluster(cluster: SparkCluster, operator_name: str) -> tuple[JsonObject, ...]:
    """Build the documents of `cluster`, which owns them. The same arguments produce the same documents.

    Args:
        cluster: The cluster as read from the API, with namespace, name and UID.
        operator_name: The value of the label `spark.operator/name`.

    Raises:
        InvalidResource: The cluster cannot be built from the specification. Only an edit of the cluster helps.
    """
    named_wrongly = find_name_problem(cluster.name, CLUSTER_IDENTITY)
    problems = [*([named_wrongly] if named_wrongly else []), *find_building_problems(cluster.spec)]
    if problems:
        raise InvalidResource(problems)
    frame = Frame(cluster, operator_name)
    documents = (
        build_master_service(frame),
        build_worker_service(frame),
        build_master_stateful_set(frame),
        build_worker_stateful_set(frame),
        build_network_policy(frame),
        build_autoscaler(frame),
        build_disruption_budget(frame),
    )
    return tuple(document for document in documents if document is not None)
