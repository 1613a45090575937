"""The network policy and the disruption budget of the workers."""

from airflow_provider_spark_operator.core.cluster_resources.frame import Frame
from airflow_provider_spark_operator.core.driver.pod import JsonObject
from airflow_provider_spark_operator.core.names import LABEL_ROLE, ROLE_DRIVER, ROLE_WORKER


def build_network_policy(frame: Frame) -> JsonObject:
    """Build the policy that allows access to the workers only from pods of the cluster and drivers in the namespace."""
    sources = (frame.build_member_labels(), {LABEL_ROLE: ROLE_DRIVER})
    spec = {
        "podSelector": {"matchLabels": frame.build_selector(ROLE_WORKER)},
        "policyTypes": ["Ingress"],
        "ingress": [{"from": [{"podSelector": {"matchLabels": labels}} for labels in sources]}],
    }
    return frame.build_document("networking.k8s.io/v1", "NetworkPolicy", ROLE_WORKER, spec)


def build_disruption_budget(frame: Frame) -> JsonObject | None:
    """Build the budget that keeps one worker during node drains, or return None if the minimum of workers is 0."""
    if frame.cluster.spec.cluster_tolerations.instance_config.min_workers < 1:
        return None
    spec = {"minAvailable": 1, "selector": {"matchLabels": frame.build_selector(ROLE_WORKER)}}
    return frame.build_document("policy/v1", "PodDisruptionBudget", "worker-pdb", spec)
