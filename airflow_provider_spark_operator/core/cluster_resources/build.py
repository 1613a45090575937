"""All objects of a SparkCluster, in the order in which they are applied."""

import re
from typing import Final

from airflow_provider_spark_operator.core.cluster_resources.frame import Frame
from airflow_provider_spark_operator.core.cluster_resources.protection import disruption_budget, network_policy
from airflow_provider_spark_operator.core.cluster_resources.scaling import autoscaler
from airflow_provider_spark_operator.core.cluster_resources.services import master_service, worker_service
from airflow_provider_spark_operator.core.cluster_resources.shape import shape_problems
from airflow_provider_spark_operator.core.cluster_resources.stateful_sets import (
    master_stateful_set,
    worker_stateful_set,
)
from airflow_provider_spark_operator.core.driver.pod import JsonObject
from airflow_provider_spark_operator.core.models.cluster import SparkCluster
from airflow_provider_spark_operator.core.models.cluster_parse import CLUSTER_IDENTITY
from airflow_provider_spark_operator.core.models.reading import name_problem
from airflow_provider_spark_operator.core.problems import InvalidResource, Problem

_LABEL_VALUE: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def build_cluster(cluster: SparkCluster, operator_name: str) -> tuple[JsonObject, ...]:
    """The documents that `cluster` consists of, owned by it; the same arguments give the same documents.

    Args:
        cluster: as read from the API, with namespace, name and uid.
        operator_name: value of the label `spark.operator/name`.

    Raises:
        InvalidResource: the specification cannot be built, in a way that only its edit mends.
    """
    problems = _problems(cluster)
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


def _problems(cluster: SparkCluster) -> list[Problem]:
    named_wrongly = name_problem(cluster.name, CLUSTER_IDENTITY)
    problems = [named_wrongly] if named_wrongly else []
    if not _LABEL_VALUE.fullmatch(cluster.spec.runtime_versions.spark_version):
        message = "is put into a label: use at most 63 letters, digits, '-', '_' and '.', such as \"4.3.0\""
        problems.append(Problem("spec.runtimeVersions.sparkVersion", message))
    return problems + shape_problems(cluster.spec)
