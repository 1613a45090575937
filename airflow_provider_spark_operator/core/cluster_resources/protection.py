"""The network policy and the disruption budget of the workers."""

from typing import Final

from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import LABEL_ROLE, ROLE_DRIVER, ROLE_WORKER
from ..models.cluster import WorkerNetworkPolicySpec
from .frame import Frame

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
