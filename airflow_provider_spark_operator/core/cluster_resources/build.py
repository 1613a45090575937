"""Builds all objects of a SparkCluster, in the order in which they are applied."""

from ..kubernetes.identity import CLUSTER_IDENTITY, find_name_problem
from ..kubernetes.json_object import JsonObject
from ..kubernetes.problems import InvalidResource
from ..models.cluster import SparkCluster
from .autoscaler import build_autoscaler
from .frame import Frame
from .protection import build_disruption_budget, build_network_policy
from .services import build_master_service, build_worker_service
from .shape import find_building_problems
from .stateful_sets import build_master_stateful_set, build_worker_stateful_set


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
