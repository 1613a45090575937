"""Builds all objects of a SparkCluster, in the order in which they are applied; the small ones are here."""

from collections.abc import Mapping
from typing import Any, Final

from ..driver.pod.pod import merge
from ..kubernetes.json_object import InvalidResource, JsonObject
from ..kubernetes.names import (
    CLUSTER_IDENTITY,
    LABEL_ROLE,
    MASTER_SERVICE,
    ROLE_DRIVER,
    ROLE_MASTER,
    ROLE_WORKER,
    find_name_problem,
)
from ..models.cluster import SparkCluster, WorkerNetworkPolicySpec
from .daemon import with_ports
from .frame import Frame
from .shape import find_building_problems
from .stateful_sets import (
    MASTER_PORTS,
    WORKER_PORTS,
    WORKER_SERVICE,
    build_master_stateful_set,
    build_worker_stateful_set,
)

AUTOSCALER: Final = f"{ROLE_WORKER}-hpa"
_CPU_UTILIZATION_PERCENT = 30
_SECONDS_PER_ADDED_WORKER = 60
_SECONDS_PER_REMOVED_WORKER = 600


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


def build_master_service(frame: Frame) -> JsonObject:
    """Build the service of the master, for its web interface, applications and the REST interface."""
    part = frame.cluster.spec.master_spec
    spec = _build_spec(frame, ROLE_MASTER, MASTER_PORTS, part.service_spec or {})
    return frame.build_document("v1", "Service", MASTER_SERVICE, spec, role=ROLE_MASTER, metadata=part.service_metadata)


def build_worker_service(frame: Frame) -> JsonObject:
    """Build the service of the workers, for their web interfaces and DNS names."""
    part = frame.cluster.spec.worker_spec
    spec = _build_spec(frame, ROLE_WORKER, WORKER_PORTS, part.service_spec or {})
    return frame.build_document("v1", "Service", WORKER_SERVICE, spec, role=ROLE_WORKER, metadata=part.service_metadata)


def _build_spec(frame: Frame, role: str, ports: Mapping[str, int], given: JsonObject) -> JsonObject:
    needed = [{"name": name, "port": port, "targetPort": name} for name, port in ports.items()]
    spec = merge(given, {"clusterIP": "None", "selector": frame.build_selector(role)})
    spec["ports"] = with_ports(given.get("ports") or [], needed, number="port")
    return spec


DISRUPTION_BUDGET: Final = f"{ROLE_WORKER}-pdb"


def build_network_policy(frame: Frame) -> JsonObject:
    """Build the policy that allows access to the workers from pods of the cluster and drivers in the namespace.

    The peers of `networkPolicy.metricsIngress` also have access, to the port of the metrics alone.
    """
    sources = (frame.build_member_labels(), {LABEL_ROLE: ROLE_DRIVER})
    members = {"from": [{"podSelector": {"matchLabels": labels}} for labels in sources]}
    spec = {
        "podSelector": {"matchLabels": frame.build_selector(ROLE_WORKER)},
        "policyTypes": ["Ingress"],
        "ingress": [members, *_build_metrics_rules(frame.cluster.spec.worker_spec.network_policy)],
    }
    return frame.build_document("networking.k8s.io/v1", "NetworkPolicy", ROLE_WORKER, spec)


def build_disruption_budget(frame: Frame) -> JsonObject | None:
    """Build the budget that keeps one worker during node drains, or return None if the minimum of workers is 0."""
    if frame.cluster.spec.cluster_tolerations.instance_config.min_workers < 1:
        return None
    spec = {"minAvailable": 1, "selector": {"matchLabels": frame.build_selector(ROLE_WORKER)}}
    return frame.build_document("policy/v1", "PodDisruptionBudget", DISRUPTION_BUDGET, spec)


def _build_metrics_rules(policy: WorkerNetworkPolicySpec | None) -> list[JsonObject]:
    # A rule without peers would allow access from everywhere.
    if policy is None or not policy.metrics_ingress:
        return []
    return [{"from": policy.metrics_ingress, "ports": [{"protocol": "TCP", "port": policy.metrics_port}]}]


def build_autoscaler(frame: Frame) -> JsonObject | None:
    """Build the HorizontalPodAutoscaler of the workers, or return None if their number is fixed.

    The metrics and behavior come from the user. The limits and the target come from the cluster.
    """
    instances = frame.cluster.spec.cluster_tolerations.instance_config
    if instances.min_workers >= instances.max_workers:
        return None
    given = frame.cluster.spec.worker_spec.horizontal_pod_autoscaler_spec
    spec = {
        **(_build_default_rules() if given is None else given),
        "minReplicas": instances.min_workers,
        "maxReplicas": instances.max_workers,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": frame.build_name(ROLE_WORKER)},
    }
    return frame.build_document("autoscaling/v2", "HorizontalPodAutoscaler", AUTOSCALER, spec)


def _build_default_rules() -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": _CPU_UTILIZATION_PERCENT}
    return {
        "metrics": [
            {
                "type": "ContainerResource",
                "containerResource": {"name": "cpu", "container": ROLE_WORKER, "target": target},
            }
        ],
        "behavior": {
            "scaleUp": {"policies": [_build_policy(_SECONDS_PER_ADDED_WORKER)]},
            "scaleDown": {"policies": [_build_policy(_SECONDS_PER_REMOVED_WORKER)]},
        },
    }


def _build_policy(seconds: int) -> dict[str, Any]:
    return {"type": "Pods", "value": 1, "periodSeconds": seconds}
