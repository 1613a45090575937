"""What protects the workers: from strangers on the network, and from losing too many at once."""

from airflow_provider_spark_operator.core.cluster_resources.frame import Frame
from airflow_provider_spark_operator.core.driver.pod import JsonObject
from airflow_provider_spark_operator.core.names import LABEL_ROLE, ROLE_DRIVER, ROLE_WORKER


def network_policy(frame: Frame) -> JsonObject:
    """The policy that lets only the cluster's own pods and the namespace's drivers reach the workers."""
    sources = (frame.members(), {LABEL_ROLE: ROLE_DRIVER})
    spec = {
        "podSelector": {"matchLabels": frame.selector(ROLE_WORKER)},
        "policyTypes": ["Ingress"],
        "ingress": [{"from": [{"podSelector": {"matchLabels": labels}} for labels in sources]}],
    }
    return frame.document("networking.k8s.io/v1", "NetworkPolicy", ROLE_WORKER, spec)


def disruption_budget(frame: Frame) -> JsonObject | None:
    """The budget that keeps one worker while nodes are drained; None for a cluster that may have no worker."""
    if frame.cluster.spec.cluster_tolerations.instance_config.min_workers < 1:
        return None
    spec = {"minAvailable": 1, "selector": {"matchLabels": frame.selector(ROLE_WORKER)}}
    return frame.document("policy/v1", "PodDisruptionBudget", "worker-pdb", spec)
