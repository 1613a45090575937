"""The pod sets of a SparkCluster: its master and its workers."""

from collections.abc import Mapping
from typing import Any, Final

from ..cluster_resources.build import build_cluster
from ..driver.configuration.configuration import parse_memory_mib
from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import LABEL_ROLE, ROLE_MASTER, ROLE_WORKER
from ..kubernetes.problems import InvalidResource, Problem
from ..models.cluster import SparkCluster
from .workload import PodSet, build_template, set_requests

_DAEMON_MEMORY: Final = "SPARK_DAEMON_MEMORY"
_WORKER_MEMORY: Final = "SPARK_WORKER_MEMORY"
_WORKER_CORES: Final = "SPARK_WORKER_CORES"
_DEFAULT_MEMORY: Final = "1g"
_OVERHEAD_FACTOR: Final = 0.1
_MINIMUM_OVERHEAD_MIB: Final = 384


def build_cluster_pod_sets(cluster: SparkCluster, operator_name: str) -> tuple[PodSet, ...]:
    """Build the pod sets of `cluster` from its StatefulSets.

    Args:
        cluster: The cluster as read from the API.
        operator_name: The value of the label `spark.operator/name`.

    Raises:
        InvalidResource: No cluster can be built from the specification, or its number of workers is not fixed.
    """
    instances = cluster.spec.cluster_tolerations.instance_config
    if instances.min_workers < instances.max_workers:
        message = (
            "is not supported with a Kueue queue, because the number of workers is not fixed. Set minWorkers and "
            "maxWorkers to the same number"
        )
        raise InvalidResource([Problem("spec.clusterTolerations.instanceConfig.minWorkers", message)])
    documents = build_cluster(cluster, operator_name)
    sets = {each["metadata"]["labels"][LABEL_ROLE]: each for each in documents if each["kind"] == "StatefulSet"}
    return tuple(_build_pod_set(role, sets[role]["spec"]) for role in (ROLE_MASTER, ROLE_WORKER))


def _build_pod_set(role: str, stateful_set: Mapping[str, Any]) -> PodSet:
    template = stateful_set["template"]
    containers = [
        _complete_requests(each, role) if each.get("name") == role else each for each in template["spec"]["containers"]
    ]
    spec = {**template["spec"], "containers": containers}
    return PodSet(role, stateful_set["replicas"], build_template(template["metadata"], spec))


def _complete_requests(container: JsonObject, role: str) -> JsonObject:
    """Return the container with the requests that it lacks: its limits, or else what its daemon needs."""
    resources = container.get("resources") or {}
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    variables = _read_variables(container)
    known = {**limits, **requests}
    cpu = known.get("cpu") or (variables.get(_WORKER_CORES) if role == ROLE_WORKER else None) or "1"
    memory = known.get("memory") or f"{_compute_memory(variables, role)}Mi"
    return set_requests(container, {"requests": {**known, "cpu": cpu, "memory": memory}})


def _compute_memory(variables: Mapping[str, str], role: str) -> int:
    names = (_DAEMON_MEMORY, _WORKER_MEMORY) if role == ROLE_WORKER else (_DAEMON_MEMORY,)
    memory = sum(parse_memory_mib(name, variables.get(name) or _DEFAULT_MEMORY) for name in names)
    return memory + max(int(memory * _OVERHEAD_FACTOR), _MINIMUM_OVERHEAD_MIB)


def _read_variables(container: JsonObject) -> dict[str, str]:
    """Return the environment variables with a literal value."""
    return {entry["name"]: entry["value"] for entry in container.get("env") or () if entry.get("value")}
