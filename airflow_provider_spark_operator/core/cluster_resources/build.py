"""All objects of a SparkCluster, in the order in which they are applied."""

from airflow_provider_spark_operator.core.cluster_resources.frame import Frame
from airflow_provider_spark_operator.core.cluster_resources.protection import disruption_budget, network_policy
from airflow_provider_spark_operator.core.cluster_resources.scaling import autoscaler
from airflow_provider_spark_operator.core.cluster_resources.services import master_service, worker_service
from airflow_provider_spark_operator.core.cluster_resources.shape import building_problems
from airflow_provider_spark_operator.core.cluster_resources.stateful_sets import (
    master_stateful_set,
    worker_stateful_set,
)
from airflow_provider_spark_operator.core.driver.pod import JsonObject
from airflow_provider_spark_operator.core.identity import CLUSTER_IDENTITY, find_name_problem
from airflow_provider_spark_operator.core.models.cluster import SparkCluster
from airflow_provider_spark_operator.core.problems import InvalidResource


def build_cluster(cluster: SparkCluster, operator_name: str) -> tuple[JsonObject, ...]:
    """The documents that `cluster` consists of, owned by it; the same arguments give the same documents.

    Args:
        cluster: as read from the API, with namespace, name and uid.
        operator_name: value of the label `spark.operator/name`.

    Raises:
        InvalidResource: the specification cannot be built, in a way that only its edit mends.
    """
    named_wrongly = find_name_problem(cluster.name, CLUSTER_IDENTITY)
    problems = [*([named_wrongly] if named_wrongly else []), *building_problems(cluster.spec)]
    if problems:
        raise InvalidResource(problems)
    frame = Frame(cluster, operator_name)
    documents = (
        master_service(frame),
        worker_service(frame),
        master_stateful_set(frame),
        worker_stateful_set(frame),
        network_policy(frame),
        autoscaler(frame),
        disruption_budget(frame),
    )
    return tuple(document for document in documents if document is not None)
